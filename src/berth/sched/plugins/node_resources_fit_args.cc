// Reads NodeResourcesFitArgs and applies kube-scheduler's validation.
#include <array>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/sched/plugins/node_resources_fit.h"

namespace berth::sched {
namespace {

using boost::json::value;

tl::unexpected<Error> bad(std::string_view field, std::string_view why) {
  return fail(Code::Invalid, fmt::format("NodeResourcesFitArgs.{}: {}", field, why));
}

Result<std::int64_t> integer(const value* v, std::string_view field, std::int64_t absent) {
  if (v == nullptr) {
    return absent;
  }
  if (!v->is_int64() && !v->is_uint64()) {
    return bad(field, "expected an integer: " + api::to_json(*v));
  }
  return v->to_number<std::int64_t>();
}

Result<const boost::json::array*> list(const value& args, std::string_view path) {
  const value* v = api::find_path(args, path);
  if (v != nullptr && !v->is_array()) {
    return bad(path, "expected a list: " + api::to_json(*v));
  }
  return v == nullptr ? nullptr : &v->get_array();
}

Result<void> read_names(const value& args, std::string_view path,
                        std::set<std::string, std::less<>>& names) {
  BERTH_TRY(const auto* items, list(args, path));
  for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
    if (!(*items)[i].is_string()) {
      return bad(path, "expected strings: " + api::to_json((*items)[i]));
    }
    names.emplace((*items)[i].get_string());
  }
  return {};
}

Result<void> read_resources(const value& args, FitArgs& out) {
  constexpr std::string_view kPath = "scoringStrategy.resources";
  BERTH_TRY(const auto* items, list(args, kPath));
  if (items == nullptr || items->empty()) {
    return {};
  }
  out.resources.clear();
  for (std::size_t i = 0; i < items->size(); ++i) {
    const std::string field = fmt::format("{}[{}]", kPath, i);
    ResourceWeight weight;
    weight.name = api::string_at((*items)[i], "name");
    if (weight.name.empty()) {
      return bad(field + ".name", "required");
    }
    BERTH_TRY(weight.weight, integer(api::find((*items)[i], "weight"), field + ".weight", 1));
    weight.weight = weight.weight == 0 ? 1 : weight.weight;
    if (weight.weight < 1 || weight.weight > 100) {
      return bad(field + ".weight", fmt::format("must be between 1 and 100: {}", weight.weight));
    }
    out.resources.push_back(std::move(weight));
  }
  return {};
}

Result<void> read_shape(const value& args, FitArgs& out) {
  constexpr std::string_view kPath = "scoringStrategy.requestedToCapacityRatio.shape";
  BERTH_TRY(const auto* items, list(args, kPath));
  if (items == nullptr || items->empty()) {
    return bad(kPath, "at least one point must be specified");
  }
  for (std::size_t i = 0; i < items->size(); ++i) {
    const std::string field = fmt::format("{}[{}]", kPath, i);
    UtilizationPoint point;
    BERTH_TRY(point.utilization,
              integer(api::find((*items)[i], "utilization"), field + ".utilization", 0));
    BERTH_TRY(point.score, integer(api::find((*items)[i], "score"), field + ".score", 0));
    if (point.utilization < 0 || point.utilization > 100) {
      return bad(field + ".utilization",
                 fmt::format("must be between 0 and 100: {}", point.utilization));
    }
    if (point.score < 0 || point.score > 10) {
      return bad(field + ".score", fmt::format("must be between 0 and 10: {}", point.score));
    }
    if (!out.shape.empty() && point.utilization <= out.shape.back().utilization) {
      return bad(field + ".utilization",
                 fmt::format("must rise from point to point: {}", point.utilization));
    }
    out.shape.push_back(point);
  }
  return {};
}

} // namespace

Result<FitArgs> parse_fit_args(const value& args) {
  FitArgs out;
  BERTH_CHECK(read_names(args, "ignoredResources", out.ignored_resources));
  BERTH_CHECK(read_names(args, "ignoredResourceGroups", out.ignored_resource_groups));
  BERTH_CHECK(read_resources(args, out));
  const std::string_view type = api::string_at(args, "scoringStrategy.type");
  if (type == "RequestedToCapacityRatio") {
    out.strategy = ScoringStrategy::RequestedToCapacityRatio;
    BERTH_CHECK(read_shape(args, out));
  } else if (type == "MostAllocated") {
    out.strategy = ScoringStrategy::MostAllocated;
  } else if (!type.empty() && type != "LeastAllocated") {
    return bad(
        "scoringStrategy.type",
        fmt::format("must be LeastAllocated, MostAllocated or RequestedToCapacityRatio: {}", type));
  }
  return out;
}

} // namespace berth::sched
