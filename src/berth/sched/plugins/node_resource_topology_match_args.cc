// Reads NodeResourceTopologyMatchArgs and applies scheduler-plugins' validation.
#include <fmt/format.h>

#include "berth/api/strict.h"
#include "berth/sched/plugins/node_resource_topology_match.h"

namespace berth::sched {
namespace {

constexpr std::int64_t kMostWeight = 100;

void read_resource(const api::Field& in, NumaScoring& out) {
  api::refuse_unknown(in, {"name", "weight"});
  std::string name;
  std::int64_t weight = 1;
  in.read("name", name);
  if (name.empty()) {
    api::require(in, "name");
  }
  in.within("weight", [&](const api::Field& field) {
    decode(field, weight);
    if (!field.failed() && (weight < 1 || weight > kMostWeight)) {
      api::refuse_value(field,
                        fmt::format("resource weight of {} not in valid range [1, 100]", name));
    }
  });
  out.weights.insert_or_assign(std::move(name), weight);
}

void read_strategy(const api::Field& in, NumaScoring& out) {
  api::refuse_unknown(in, {"type", "resources"});
  in.within("type", [&](const api::Field& field) {
    std::string type;
    decode(field, type);
    api::check_choice(field, type,
                      {"LeastAllocated", "MostAllocated", "BalancedAllocation", "LeastNUMANodes"});
    out.strategy = type == "MostAllocated"        ? NumaStrategy::MostAllocated
                   : type == "BalancedAllocation" ? NumaStrategy::BalancedAllocation
                   : type == "LeastNUMANodes"     ? NumaStrategy::LeastNumaNodes
                                                  : NumaStrategy::LeastAllocated;
  });
  in.within("resources", [&](const api::Field& list) {
    if (const auto* array = list.as_array(); array != nullptr && !array->empty()) {
      out.weights.clear();
    }
    list.each([&](const api::Field& item) { read_resource(item, out); });
  });
}

void check_cache(const api::Field& in) {
  api::refuse_unknown(in, {"foreignPodsDetect", "resyncMethod", "informerMode", "resyncScope"});
  const auto check = [&](std::string_view name, std::initializer_list<std::string_view> allowed) {
    in.within(name, [&](const api::Field& field) {
      std::string value;
      decode(field, value);
      api::check_choice(field, value, allowed);
    });
  };
  check("foreignPodsDetect", {"None", "All", "OnlyExclusiveResources"});
  check("resyncMethod", {"Autodetect", "All", "OnlyExclusiveResources"});
  check("informerMode", {"Shared", "Dedicated"});
  check("resyncScope", {"All", "OnlyResources"});
}

} // namespace

void decode(const api::Field& in, NumaMatchArgs& out) {
  api::refuse_unknown(
      in, {"scoringStrategy", "cacheResyncPeriodSeconds", "discardReservedNodes", "cache"});
  in.within("scoringStrategy", [&](const api::Field& field) { read_strategy(field, out.scoring); });
  in.within("cacheResyncPeriodSeconds", [&](const api::Field& field) {
    std::int64_t seconds = 0;
    decode(field, seconds);
    if (!field.failed() && seconds < 0) {
      api::refuse_value(field, "must be greater than or equal to 0");
    }
    out.over_reserve = seconds > 0;
  });
  in.read("discardReservedNodes", out.discard_reserved_nodes);
  in.within("cache", &check_cache);
  out.over_reserve = out.over_reserve && !out.discard_reserved_nodes;
}

Result<NumaMatchArgs> parse_numa_match_args(const boost::json::value& args) {
  return api::decode_document<NumaMatchArgs>(args);
}

} // namespace berth::sched
