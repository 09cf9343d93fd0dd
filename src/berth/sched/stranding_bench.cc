// GPUs that nobody can use: 5,000 nodes of 8 GPUs are filled with pods of 1, 2, 4 and 8 until as
// many GPUs as there are have been asked for, then pods come and go. The stock profile against
// Berth's plugin that chooses GPUs, in one run. Counters: GPUs held, and GPUs that are free on
// nodes in use, in percent of all; 8-GPU pods turned away, in percent of those that came.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "berth/base/rng.h"
#include "berth/sched/decider.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::SchedulingWorld;

constexpr int kNodes = 5000;
constexpr int kGpusPerNode = 8;
constexpr std::int64_t kAllGpus = std::int64_t{kNodes} * kGpusPerNode;
constexpr int kCpuPerGpu = 20;

/// Half of the pods want one GPU, which are a fifth of the GPUs.
int random_size(Rng& rng) {
  constexpr int kSizes[] = {1, 1, 1, 1, 1, 2, 2, 4, 8, 8};
  return kSizes[rng.below(std::size(kSizes))];
}

class Filling {
 public:
  explicit Filling(const Profile& profile)
      : world_(profile), decider_(world_.framework(), world_.state()) {
    for (int i = 0; i < kNodes; ++i) {
      auto node = test::node(fmt::format("n{}", i));
      node.cpu("192").memory("2Ti").gpus(kGpusPerNode).platform("dgx-h100");
      world_.with(node);
    }
    for (const int size : {1, 2, 4, 8}) {
      auto pod = test::pod(fmt::format("size-{}", size));
      pod.cpu(fmt::to_string(kCpuPerGpu * size)).memory(fmt::format("{}Gi", 64 * size)).gpus(size);
      examples_[static_cast<std::size_t>(size)] = world_.describe(pod);
    }
  }

  std::int64_t arrive(int size) {
    auto pod = std::make_shared<PodInfo>(*examples_[static_cast<std::size_t>(size)]);
    pod->uid = fmt::format("uid-{}", next_++);
    const Decision decision = decider_.decide(pod, {.post_filter = PostFilters::Skip});
    eights_ += size == kGpusPerNode ? 1 : 0;
    if (decision.placed()) {
      running_.push_back({pod->uid, size});
      held_ += size;
    } else if (size == kGpusPerNode) {
      ++eights_away_;
    }
    return size;
  }
  void leave(std::uint64_t which) {
    std::swap(running_[which % running_.size()], running_.back());
    world_.state().remove_pod(running_.back().first);
    held_ -= running_.back().second;
    running_.pop_back();
  }

  void run() {
    Rng rng(1);
    for (std::int64_t asked = 0; asked < kAllGpus;) {
      asked += arrive(random_size(rng));
    }
    for (int i = 0; i < 4 * kNodes; ++i) {
      leave(rng.next());
      arrive(random_size(rng));
    }
  }

  double held_percent() const { return 100.0 * static_cast<double>(held_) / kAllGpus; }
  double eights_away_percent() const {
    return 100.0 * static_cast<double>(eights_away_) / static_cast<double>(eights_);
  }
  double stranded_percent() {
    std::int64_t stranded = 0;
    for (const NodeId id : world_.state().nodes()) {
      const std::int64_t free = kGpusPerNode - world_.state().node(id).requested.get(kGpu);
      stranded += free < kGpusPerNode ? free : 0;
    }
    return 100.0 * static_cast<double>(stranded) / kAllGpus;
  }

 private:
  SchedulingWorld world_;
  Decider decider_;
  std::array<PodPtr, kGpusPerNode + 1> examples_;
  std::vector<std::pair<std::string, int>> running_;
  std::int64_t next_ = 0;
  std::int64_t held_ = 0;
  std::int64_t eights_ = 0;
  std::int64_t eights_away_ = 0;
};

void fill(benchmark::State& bench, const Profile& profile) {
  for (auto _ : bench) {
    Filling filling(profile);
    filling.run();
    bench.counters["held_percent"] = filling.held_percent();
    bench.counters["stranded_percent"] = filling.stranded_percent();
    bench.counters["eights_away_percent"] = filling.eights_away_percent();
  }
}

Profile gpu_profile(std::string_view policy) {
  Profile profile = default_profile();
  profile.plugins.push_back(
      {.name = "GpuTopology", .weight = 1, .args = boost::json::object{{"policy", policy}}});
  return profile;
}

void stock(benchmark::State& bench) {
  fill(bench, default_profile());
}
void topology(benchmark::State& bench) {
  fill(bench, gpu_profile("topology"));
}
void binpack(benchmark::State& bench) {
  fill(bench, gpu_profile("binpack"));
}
BENCHMARK(stock)->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK(topology)->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK(binpack)->Iterations(1)->Unit(benchmark::kSecond);

} // namespace
} // namespace berth::sched
