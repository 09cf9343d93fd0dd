// A cluster as its users meet it, over HTTPS, in a process of its own: writes a second, long lists,
// many watches, pods from their creation until they run. The process that asks takes part of the
// machine too.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "berth/cli/up/served_fixture.h"
#include "berth/net/http_client.h"

namespace berth::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kPodsOfAll = "/api/v1/pods";
constexpr const char* kPods = "/api/v1/namespaces/default/pods";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

enum class Kept { OnDisk, InMemory };

struct Wanted {
  Kept kept = Kept::OnDisk;
  int nodes = 0; ///< of eight GPUs, with controllers and scheduler; 0: the API alone
};

/// A cluster of its own, in a folder that is thrown away.
class Loaded {
 public:
  explicit Loaded(const Wanted& wanted) {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("berth-bench-{}", ::getpid());
    std::filesystem::remove_all(folder_);
    UpOptions options{.home = {.folder = folder_},
                      .in_memory = wanted.kept == Kept::InMemory,
                      .api_alone = wanted.nodes == 0};
    if (wanted.nodes > 0) {
      options.spec.groups.push_back(
          *cluster::parse_node_group(fmt::format("dgx-h100:{}", wanted.nodes)));
    }
    process_ = std::make_unique<test::ServedProcess>(std::move(options));
    ready_ = process_->start();
    if (ready_) {
      client = std::make_unique<net::HttpClient>(loop, process_->client_options(kWriters));
    }
  }
  ~Loaded() {
    client.reset();
    process_.reset();
    std::filesystem::remove_all(folder_);
  }

  bool ready(benchmark::State& bench) const {
    if (!ready_) {
      bench.SkipWithError("the cluster does not come up");
    }
    return ready_;
  }

  /// Creates pods `from` to `to`, 64 requests at a time; how many were refused.
  int create_pods(int from, int to) {
    int next = from;
    int answered = 0;
    int refused = 0;
    std::function<void()> write = [&] {
      if (next == to) {
        return;
      }
      client->send(process_->url(),
                   {.method = "POST",
                    .target = kPods,
                    .headers = {{"Content-Type", "application/json"}},
                    .body = pod_text(next++)},
                   [&](const Result<net::HttpResponse>& answer) {
                     refused += answer && answer->status == 201 ? 0 : 1;
                     if (++answered == to - from) {
                       loop.stop();
                     }
                     write();
                   });
    };
    for (std::size_t i = 0; i < kWriters; ++i) {
      write();
    }
    loop.run();
    return refused;
  }

  Result<net::HttpResponse> get(std::string target) {
    std::optional<Result<net::HttpResponse>> got;
    client->send(process_->url(), {.target = std::move(target)},
                 [&](Result<net::HttpResponse> answer) {
                   got = std::move(answer);
                   loop.stop();
                 });
    loop.run();
    return *std::move(got);
  }

  const net::HttpUrl& url() const { return process_->url(); }
  net::HttpClientOptions client_options() const { return process_->client_options(kWriters); }
  /// Of the serving process, resident.
  double mebibytes() const {
    std::ifstream statm(fmt::format("/proc/{}/statm", process_->pid()));
    double size = 0;
    double resident = 0;
    statm >> size >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
  }

  /// That the serving process has computed, in all its threads.
  double cpu_seconds() const {
    clockid_t clock{};
    timespec used{};
    if (::clock_getcpuclockid(process_->pid(), &clock) != 0 || ::clock_gettime(clock, &used) != 0) {
      return 0;
    }
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
  }

  net::AsioLoop loop;
  std::unique_ptr<net::HttpClient> client;

 private:
  static constexpr std::size_t kWriters = 64;

  static std::string pod_text(int i) {
    return fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"worker-{}",)"
        R"("labels":{{"job-name":"llm","role":"worker"}}}},"spec":{{"restartPolicy":"Never",)"
        R"("containers":[{{"name":"main","image":"registry.example/train:1",)"
        R"("command":["python","train.py"],"env":[{{"name":"RANK","value":"{}"}}],)"
        R"("resources":{{"limits":{{"nvidia.com/gpu":"1","cpu":"4","memory":"32Gi"}}}}}}]}}}})",
        i, i);
  }

  std::filesystem::path folder_;
  std::unique_ptr<test::ServedProcess> process_;
  bool ready_ = false;
};

/// Pods created a second; with `kept` on disk each is synced before it is answered.
void create_pods(benchmark::State& bench, Kept kept) {
  constexpr int kPodsMade = 10'000;
  Loaded cluster({.kept = kept});
  if (!cluster.ready(bench)) {
    return;
  }
  int made = 0;
  for (auto _ : bench) {
    const auto start = Clock::now();
    const double before = cluster.cpu_seconds();
    if (cluster.create_pods(made, made + kPodsMade) > 0) {
      bench.SkipWithError("a pod was refused");
      return;
    }
    bench.SetIterationTime(seconds_since(start));
    bench.counters["cpu_us_per_pod"] = (cluster.cpu_seconds() - before) * 1e6 / kPodsMade;
    made += kPodsMade;
  }
  bench.SetItemsProcessed(made);
}
BENCHMARK_CAPTURE(create_pods, sqlite, Kept::OnDisk)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(create_pods, memory, Kept::InMemory)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

/// One pod, and all of 10,000, as JSON.
void read_pods(benchmark::State& bench, const std::string& target) {
  Loaded cluster({.kept = Kept::InMemory});
  if (!cluster.ready(bench) || cluster.create_pods(0, 10'000) > 0) {
    return;
  }
  std::size_t bytes = 0;
  for (auto _ : bench) {
    const auto start = Clock::now();
    const auto answer = cluster.get(target);
    bench.SetIterationTime(seconds_since(start));
    if (!answer || answer->status != 200) {
      bench.SkipWithError("no answer");
      return;
    }
    bytes = answer->body.size();
  }
  bench.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK_CAPTURE(read_pods, one, std::string(kPods) + "/worker-77")
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read_pods, list_of_10000, std::string(kPodsOfAll))
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

/// Watches that are open at once, and what they are told.
struct Watchers {
  Watchers(Loaded& cluster, int count, const std::string& target = kPodsOfAll)
      : client(cluster.loop, options(cluster)) {
    int open = 0;
    for (int i = 0; i < count; ++i) {
      calls.push_back(client.stream(
          cluster.url(), {.target = target + watch_of(target)},
          {.head =
               [&, count](const net::HttpResponse& head) {
                 healthy = healthy && head.status == 200;
                 if (++open == count) {
                   cluster.loop.stop();
                 }
               },
           .piece =
               [this, &cluster, line = std::string()](std::string_view piece) mutable {
                 read(piece, line);
                 if (awaited > 0 && added >= awaited) {
                   cluster.loop.stop();
                 }
               },
           .end = [this](const Result<void>&) { healthy = false; }}));
    }
    cluster.loop.run();
  }
  static std::string watch_of(const std::string& target) {
    return target.find('?') == std::string::npos ? "?watch=1" : "&watch=1";
  }
  static net::HttpClientOptions options(const Loaded& cluster) {
    net::HttpClientOptions with = cluster.client_options();
    with.timeout = Duration::minutes(5);
    return with;
  }
  /// `line` is the beginning of one that has not ended.
  void read(std::string_view piece, std::string& line) {
    for (const char c : piece) {
      if (c == '\n') {
        added += line.starts_with(R"({"type":"ADDED")") ? 1 : 0;
        line.clear();
      } else if (line.size() < 16) {
        line.push_back(c);
      }
    }
  }
  /// Until so many objects were told as new, of all watches.
  void wait_for(Loaded& cluster, std::int64_t count) {
    awaited = count;
    if (added < awaited) {
      cluster.loop.run();
    }
    awaited = 0;
  }

  net::HttpClient client;
  std::vector<std::unique_ptr<net::HttpStreamCall>> calls;
  std::int64_t added = 0;
  std::int64_t awaited = 0;
  bool healthy = true;
};

/// 1,000 pods are created while 100 watch them; until the last of them has been told of the last.
void watch_fan_out(benchmark::State& bench) {
  constexpr int kMade = 1'000;
  constexpr int kWatches = 100;
  Loaded cluster({.kept = Kept::InMemory});
  if (!cluster.ready(bench)) {
    return;
  }
  Watchers watchers(cluster, kWatches);
  int made = 0;
  for (auto _ : bench) {
    const auto start = Clock::now();
    (void)cluster.create_pods(made, made + kMade);
    made += kMade;
    watchers.wait_for(cluster, std::int64_t{made} * kWatches);
    bench.SetIterationTime(seconds_since(start));
  }
  bench.SetItemsProcessed(watchers.added);
}
BENCHMARK(watch_fan_out)->UseManualTime()->Iterations(3)->Unit(benchmark::kMillisecond);

/// What idle watches cost; items a second are watches opened.
void idle_watches(benchmark::State& bench) {
  Loaded cluster({.kept = Kept::InMemory});
  if (!cluster.ready(bench)) {
    return;
  }
  (void)cluster.get(kPodsOfAll);
  const double before = cluster.mebibytes();
  for (auto _ : bench) {
    const auto start = Clock::now();
    const Watchers watchers(cluster, static_cast<int>(bench.range(0)));
    bench.SetIterationTime(seconds_since(start));
    if (!watchers.healthy) {
      bench.SkipWithError("a watch ended");
      return;
    }
    bench.counters["MiB"] = cluster.mebibytes() - before;
  }
  bench.SetItemsProcessed(bench.range(0));
}
BENCHMARK(idle_watches)
    ->Arg(1'000)
    ->Arg(10'000)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

/// How many times the text stands in the answer; none: no answer.
std::optional<int> count(Loaded& cluster, const std::string& target, std::string_view text) {
  const auto answer = cluster.get(target);
  if (!answer || answer->status != 200) {
    return std::nullopt;
  }
  int found = 0;
  for (auto at = answer->body.find(text); at != std::string::npos;
       at = answer->body.find(text, at + 1)) {
    ++found;
  }
  return found;
}

/// Until the text stands so many times in the answer; false: not within two minutes.
bool wait_for(Loaded& cluster, const std::string& target, std::string_view text, int times) {
  const auto start = Clock::now();
  while (count(cluster, target, text) != times) {
    if (seconds_since(start) > 120) {
      return false;
    }
    ::poll(nullptr, 0, 20); // looking takes the machine from what is looked for
  }
  return true;
}

/// As many pods of one GPU as 1,000 nodes that are ready have GPUs: from the first create until the
/// last one runs, as a watch tells. The simulated runtime lets a pod wait for 0.6 s (sandbox,
/// container, start), which is part of it.
void created_to_running(benchmark::State& bench, Kept kept) {
  constexpr int kNodes = 1'000;
  constexpr int kMade = kNodes * 8;
  Loaded cluster({.kept = kept, .nodes = kNodes});
  if (!cluster.ready(bench)) {
    return;
  }
  if (!wait_for(cluster, "/api/v1/nodes", R"("reason":"KubeletReady")", kNodes) ||
      !wait_for(cluster, "/api/v1/nodes", "node.kubernetes.io/not-ready", 0)) {
    bench.SkipWithError("the nodes do not become ready");
    return;
  }
  Watchers watcher(cluster, 1, fmt::format("{}?fieldSelector=status.phase%3DRunning", kPods));
  for (auto _ : bench) {
    const auto start = Clock::now();
    const double before = cluster.cpu_seconds();
    if (cluster.create_pods(0, kMade) > 0) {
      bench.SkipWithError("a pod was refused");
      return;
    }
    bench.counters["created_s"] = seconds_since(start);
    watcher.wait_for(cluster, kMade);
    bench.SetIterationTime(seconds_since(start));
    bench.counters["cpu_us_per_pod"] = (cluster.cpu_seconds() - before) * 1e6 / kMade;
  }
  bench.SetItemsProcessed(kMade);
}
BENCHMARK_CAPTURE(created_to_running, sqlite, Kept::OnDisk)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(created_to_running, memory, Kept::InMemory)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

} // namespace
} // namespace berth::cli
