#include "berth/sched/plugin_points.h"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

namespace berth::sched {
namespace {

using P = ConfigPoint;

constexpr std::array<ConfigPointName, kConfigPoints> kNames{{
    {P::PreEnqueue, "preEnqueue", "PreEnqueuePlugin"},
    {P::QueueSort, "queueSort", "QueueSortPlugin"},
    {P::PreFilter, "preFilter", "PreFilterPlugin"},
    {P::Filter, "filter", "FilterPlugin"},
    {P::PostFilter, "postFilter", "PostFilterPlugin"},
    {P::PreScore, "preScore", "PreScorePlugin"},
    {P::Score, "score", "ScorePlugin"},
    {P::Reserve, "reserve", "ReservePlugin"},
    {P::Permit, "permit", "PermitPlugin"},
    {P::PreBind, "preBind", "PreBindPlugin"},
    {P::Bind, "bind", "BindPlugin"},
    {P::PostBind, "postBind", "PostBindPlugin"},
}};

struct StockPlugin {
  std::string_view name;
  ConfigPointSet points;
};

constexpr ConfigPointSet kFilterAndScore{P::PreFilter, P::Filter, P::PreScore, P::Score};

constexpr StockPlugin kStock[] = {
    {"SchedulingGates", {P::PreEnqueue}},
    {"PrioritySort", {P::QueueSort}},
    {"NodeUnschedulable", {P::Filter}},
    {"NodeName", {P::Filter}},
    {"TaintToleration", {P::Filter, P::PreScore, P::Score}},
    {"NodeAffinity", kFilterAndScore},
    {"NodePorts", {P::PreFilter, P::Filter}},
    {"NodeResourcesFit", kFilterAndScore},
    {"VolumeRestrictions", {P::PreFilter, P::Filter}},
    {"NodeVolumeLimits", {P::PreFilter, P::Filter}},
    {"VolumeBinding", {P::PreFilter, P::Filter, P::PreScore, P::Score, P::Reserve, P::PreBind}},
    {"VolumeZone", {P::PreFilter, P::Filter}},
    {"PodTopologySpread", kFilterAndScore},
    {"InterPodAffinity", kFilterAndScore},
    {"DynamicResources",
     {P::PreEnqueue, P::PreFilter, P::Filter, P::PostFilter, P::Score, P::Reserve, P::PreBind}},
    {"DefaultPreemption", {P::PreEnqueue, P::PostFilter}},
    {"NodeResourcesBalancedAllocation", {P::PreScore, P::Score}},
    {"ImageLocality", {P::Score}},
    {"DefaultBinder", {P::Bind}},
    {"NodeDeclaredFeatures", {P::PreFilter, P::Filter}},
    {"GangScheduling", {P::PreEnqueue, P::Reserve, P::Permit}},
    // Of scheduler-plugins: files enable it at these, and not at filter.
    {"CapacityScheduling", {P::PreFilter, P::PostFilter, P::Reserve}},
};

/// Points that a plugin's part stands for; the first that it extends decides.
constexpr std::pair<Point, std::array<ConfigPoint, 2>> kDeciding[] = {
    {Point::PreEnqueue, {P::PreEnqueue, P::PreEnqueue}},
    {Point::QueueSort, {P::QueueSort, P::QueueSort}},
    {Point::Filter, {P::Filter, P::PreFilter}},
    {Point::PostFilter, {P::PostFilter, P::PostFilter}},
    {Point::Score, {P::Score, P::PreScore}},
    {Point::Reserve, {P::Reserve, P::Reserve}},
    {Point::Permit, {P::Permit, P::Permit}},
    {Point::PreBind, {P::PreBind, P::PreBind}},
    {Point::Bind, {P::Bind, P::Bind}},
    {Point::PostBind, {P::PostBind, P::PostBind}},
};

} // namespace

std::span<const ConfigPointName> config_points() {
  return kNames;
}

ConfigPointSet stock_points(std::string_view plugin) {
  const auto* it = std::ranges::find(kStock, plugin, &StockPlugin::name);
  return it == std::end(kStock) ? ConfigPointSet() : it->points;
}

ConfigPointSet config_points_of(Points points) {
  ConfigPointSet out;
  for (const auto& [part, deciding] : kDeciding) {
    if ((points & static_cast<Points>(part)) != 0) {
      out.add(deciding[0]);
      out.add(deciding[1]);
    }
  }
  return out;
}

Points points_of(ConfigPointSet extends, ConfigPointSet enabled) {
  Points points = 0;
  for (const auto& [part, deciding] : kDeciding) {
    const ConfigPoint decides = extends.has(deciding[0]) ? deciding[0] : deciding[1];
    if (extends.has(decides) && enabled.has(decides)) {
      points |= static_cast<Points>(part);
    }
  }
  return points;
}

} // namespace berth::sched
