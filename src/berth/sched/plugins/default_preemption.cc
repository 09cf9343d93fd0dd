#include "berth/sched/plugins/default_preemption.h"

#include <algorithm>

#include "berth/api/strict.h"
#include "berth/sched/preemption_search.h"

namespace berth::sched {
namespace {

/// Where the search starts: differs from pod to pod so that not always the same nodes pay, and is a
/// function of the pod.
std::size_t start_offset(const PodInfo& pod, std::size_t nodes) {
  std::uint64_t hash = 14695981039346656037ULL; // FNV-1a
  for (const char c : pod.uid) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  return static_cast<std::size_t>(hash % nodes);
}

class DefaultPreemption final : public Plugin {
 public:
  explicit DefaultPreemption(DefaultPreemptionArgs args) : args_(args) {}

  std::string_view name() const override { return kDefaultPreemption; }
  Points points() const override { return static_cast<Points>(Point::PostFilter); }

  PostFilterResult post_filter(FilterSession& session) const override {
    return preempt(session, LowerPriority(*session.pod()), [&](std::size_t nodes) {
      return SearchBreadth{.first = start_offset(*session.pod(), nodes),
                           .enough = wanted_candidates(nodes)};
    });
  }

 private:
  std::size_t wanted_candidates(std::size_t nodes) const {
    const auto n = static_cast<std::int64_t>(nodes);
    const std::int64_t wanted = std::max(n * args_.min_candidate_nodes_percentage / 100,
                                         args_.min_candidate_nodes_absolute);
    return static_cast<std::size_t>(std::min(wanted, n));
  }

  DefaultPreemptionArgs args_;
};

} // namespace

void decode(const api::Field& in, DefaultPreemptionArgs& out) {
  constexpr std::string_view kPercentage = "minCandidateNodesPercentage";
  constexpr std::string_view kAbsolute = "minCandidateNodesAbsolute";
  api::refuse_unknown(in, {kPercentage, kAbsolute});
  in.within(kPercentage, [&](const api::Field& field) {
    decode(field, out.min_candidate_nodes_percentage);
    api::check_range(field, out.min_candidate_nodes_percentage, 0, 100);
  });
  in.within(kAbsolute, [&](const api::Field& field) {
    int nodes = 0;
    decode(field, nodes);
    if (nodes < 0) {
      api::refuse_value(field, "not in valid range [0, inf)");
    }
    out.min_candidate_nodes_absolute = nodes;
  });
  if (out.min_candidate_nodes_percentage == 0 && out.min_candidate_nodes_absolute == 0) {
    in.fail_member(
        kPercentage,
        "Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute");
  }
}

Result<DefaultPreemptionArgs> parse_default_preemption_args(const boost::json::value& args) {
  return api::decode_document<DefaultPreemptionArgs>(args);
}

std::unique_ptr<Plugin> make_default_preemption(DefaultPreemptionArgs args) {
  return std::make_unique<DefaultPreemption>(args);
}

} // namespace berth::sched
