// Reads NodeResourcesFitArgs and applies kube-scheduler's validation.
#include <fmt/format.h>

#include "berth/api/strict.h"
#include "berth/sched/plugins/node_resources_fit.h"

namespace berth::sched {
namespace {

constexpr std::string_view kByRatio = "RequestedToCapacityRatio";
constexpr std::int64_t kMostWeight = 100;
constexpr std::int64_t kMostUtilization = 100;
constexpr std::int64_t kMostPoints = 10; // MaxCustomPriorityScore

ResourceWeight read_resource(const api::Field& in) {
  ResourceWeight out;
  api::refuse_unknown(in, {"name", "weight"});
  in.read("name", out.name);
  if (out.name.empty()) {
    api::require(in, "name");
  }
  in.within("weight", [&](const api::Field& weight) {
    decode(weight, out.weight);
    out.weight = out.weight == 0 ? 1 : out.weight;
    if (!weight.failed() && (out.weight < 1 || out.weight > kMostWeight)) {
      api::refuse_value(weight,
                        fmt::format("resource weight of {} not in valid range (0, 100]", out.name));
    }
  });
  return out;
}

void read_point(const api::Field& in, std::vector<UtilizationPoint>& shape) {
  UtilizationPoint point;
  api::refuse_unknown(in, {"utilization", "score"});
  in.within("utilization", [&](const api::Field& utilization) {
    decode(utilization, point.utilization);
    api::check_range(utilization, point.utilization, 0, kMostUtilization);
    if (!shape.empty() && point.utilization <= shape.back().utilization) {
      api::refuse_value(utilization, "values must be sorted in increasing order");
    }
  });
  in.within("score", [&](const api::Field& score) {
    decode(score, point.score);
    api::check_range(score, point.score, 0, kMostPoints);
  });
  shape.push_back(point);
}

void read_ratio(const api::Field& in, FitArgs& out) {
  api::refuse_unknown(in, {"shape"});
  in.within("shape", [&](const api::Field& shape) {
    shape.each([&](const api::Field& point) { read_point(point, out.shape); });
  });
  if (out.shape.empty()) {
    api::require(in, "shape", "at least one point must be specified");
  }
}

void read_strategy(const api::Field& in, FitArgs& out) {
  std::string type;
  api::refuse_unknown(in, {"type", "resources", "requestedToCapacityRatio"});
  in.read("type", type);
  in.within("type", [&](const api::Field& field) {
    api::check_choice(field, type, {"LeastAllocated", "MostAllocated", kByRatio});
  });
  if (type.empty()) {
    api::require(in, "type", "LeastAllocated, MostAllocated or RequestedToCapacityRatio");
  }
  out.strategy = type == kByRatio          ? ScoringStrategy::RequestedToCapacityRatio
                 : type == "MostAllocated" ? ScoringStrategy::MostAllocated
                                           : ScoringStrategy::LeastAllocated;
  in.within("resources", [&](const api::Field& list) {
    std::vector<ResourceWeight> resources;
    list.each([&](const api::Field& item) { resources.push_back(read_resource(item)); });
    if (!resources.empty()) {
      out.resources = std::move(resources);
    }
  });
  bool has_ratio = false;
  in.within("requestedToCapacityRatio", [&](const api::Field& ratio) {
    has_ratio = true;
    if (type != kByRatio) {
      ratio.fail("Forbidden: must be nil when type is not RequestedToCapacityRatio");
    }
    read_ratio(ratio, out);
  });
  if (type == kByRatio && !has_ratio) {
    api::require(in, "requestedToCapacityRatio",
                 "must be specified when type is RequestedToCapacityRatio");
  }
}

void read_names(const api::Field& in, std::string_view member,
                std::set<std::string, std::less<>>& out) {
  std::vector<std::string> names;
  in.read(member, names);
  out.insert(names.begin(), names.end());
}

} // namespace

void decode(const api::Field& in, FitArgs& out) {
  api::refuse_unknown(in, {"ignoredResources", "ignoredResourceGroups", "scoringStrategy"});
  read_names(in, "ignoredResources", out.ignored_resources);
  read_names(in, "ignoredResourceGroups", out.ignored_resource_groups);
  in.within("ignoredResourceGroups", [](const api::Field& groups) {
    groups.each([](const api::Field& group) {
      const boost::json::string* name = group.value().if_string();
      if (name != nullptr && name->find('/') != boost::json::string::npos) {
        api::refuse_value(group, "resource group name can't contain '/'");
      }
    });
  });
  in.within("scoringStrategy", [&](const api::Field& strategy) { read_strategy(strategy, out); });
}

Result<FitArgs> parse_fit_args(const boost::json::value& args) {
  return api::decode_document<FitArgs>(args);
}

} // namespace berth::sched
