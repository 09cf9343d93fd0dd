#include "berth/sched/plugins/random_score.h"

#include <bit>
#include <limits>

#include "berth/api/strict.h"
#include "berth/base/rng.h"
#include "berth/sched/plugins/gpu_share.h"

namespace berth::sched {
namespace {

/// FNV-1a: the same on every platform, as std::hash need not be.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  return hash;
}

class RandomRun final : public Run {
 public:
  RandomRun(const PodPtr& pod, std::uint64_t seed) : share_(pod->share), seed_(seed) {}

  Status pre_score(std::span<const NodeId> nodes) override {
    chosen_ = nodes[Rng(seed_).below(nodes.size())];
    return Status::success();
  }
  std::int64_t score(NodeId node) const override { return node == chosen_ ? kMaxNodeScore : 0; }

  Status reserve(const PodInfo&, const ClusterState& state, Reservation& reservation) override {
    if (share_ == nullptr || share_->gpus != 1) {
      return Status::success();
    }
    const NodeInfo& node = state.node(reservation.node);
    hardware::GpuMask open =
        gpus_with_room(gpu_room(state, node, reservation.slot), node.parts, *share_);
    if (open != 0) { // else GpuShare has refused
      Rng rng = Rng(seed_).fork(1);
      for (auto skip = rng.below(static_cast<std::uint64_t>(std::popcount(open))); skip > 0;
           --skip) {
        open &= open - 1;
      }
      reserve_parts(reservation, open & ~(open - 1));
    }
    return Status::success();
  }

 private:
  std::shared_ptr<const model::GpuShare> share_;
  std::uint64_t seed_;
  NodeId chosen_;
};

class RandomScore final : public Plugin {
 public:
  explicit RandomScore(RandomScoreArgs args) : args_(args) {}

  std::string_view name() const override { return kRandomScore; }
  Points points() const override { return Point::Score | Point::Reserve; }
  bool looks_beyond_shape() const override { return true; }

  Prepared prepare(const PodPtr& pod, const ClusterState&) const override {
    const std::uint64_t seed = hash_of(pod->uid) ^ static_cast<std::uint64_t>(args_.seed);
    return {.status = {}, .run = std::make_unique<RandomRun>(pod, seed), .nodes = {}};
  }

 private:
  RandomScoreArgs args_;
};

} // namespace

void decode(const api::Field& in, RandomScoreArgs& out) {
  api::refuse_unknown(in, {"seed"});
  in.within("seed", [&](const api::Field& field) {
    decode(field, out.seed);
    api::check_range(field, out.seed, 0, std::numeric_limits<std::int64_t>::max());
  });
}

Result<RandomScoreArgs> parse_random_score_args(const boost::json::value& args) {
  return api::decode_document<RandomScoreArgs>(args);
}

std::unique_ptr<Plugin> make_random_score(RandomScoreArgs args) {
  return std::make_unique<RandomScore>(args);
}

} // namespace berth::sched
