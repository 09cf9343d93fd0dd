#include "berth/sim/scenario.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/model/hami.h"
#include "berth/model/pod.h"
#include "berth/sched/plugins/gpu_share.h"
#include "berth/sched/plugins/gpu_slices.h"
#include "berth/sched/plugins/gpu_topology.h"
#include "berth/sched/plugins/hami.h"
#include "berth/scheduler/scheduler.h"
#include "berth/sim/workloads.h"

namespace berth::sim {
namespace {

constexpr Duration kBusyTime = Duration::minutes(20);

/// Random instant within the busy part, in milliseconds so that events interleave.
Duration random_time(Rng& rng) {
  return Duration::millis(rng.between(0, kBusyTime.count_millis()));
}

/// Some nodes give replicas of their GPUs under another name, some cut them, some give vGPUs.
void share_gpus(Rng& rng, cluster::NodeGroup& group) {
  if (rng.chance(1, 5)) {
    deviceplugin::SharedResources shared;
    shared.rename_by_default = true;
    shared.resources.push_back({.name = std::string(model::kGpuResource),
                                .rename = std::string(kSharedResource),
                                .devices = {},
                                .replicas = static_cast<int>(rng.between(2, 4))});
    group.device_plugin.sharing.time_slicing = shared;
  } else if (rng.chance(1, 4)) {
    group.hami = node::HamiSettings{.split_count = static_cast<int>(rng.between(2, 5)),
                                    .memory_permille = rng.chance(1, 4) ? 1500 : 1000};
  } else if (group.platform == "hgx-a100-4" && rng.chance(1, 2)) {
    group.device_plugin.flags.mig_strategy = inventory::MigStrategy::Mixed;
    group.mig = "1g.10gb=2,3g.40gb=1";
  }
}

std::vector<cluster::NodeGroup> random_groups(Rng& rng) {
  static constexpr std::array<std::string_view, 5> kPlatforms = {
      "dgx-h100", "l40s-pcie-8", "a10g-pcie-4", "t4-pcie-1", "hgx-a100-4"};
  std::vector<cluster::NodeGroup> groups;
  const std::size_t first = rng.below(kPlatforms.size());
  const std::uint64_t kinds = 1 + rng.below(3);
  for (std::uint64_t i = 0; i < kinds; ++i) {
    cluster::NodeGroup group;
    group.platform = kPlatforms[(first + i) % kPlatforms.size()];
    group.count = static_cast<int>(rng.between(1, 2));
    share_gpus(rng, group);
    groups.push_back(std::move(group));
  }
  return groups;
}

/// As docs/hami.md has it.
sched::Profile vgpu_profile() {
  sched::Profile profile = scheduler::berth_profile();
  profile.scheduler_name = kVgpuScheduler;
  profile.other_names.clear();
  std::erase_if(profile.plugins, [](const sched::ProfilePlugin& plugin) {
    return plugin.name == sched::kGpuTopology || plugin.name == sched::kGpuShare ||
           plugin.name == sched::kGpuSlices;
  });
  for (sched::ProfilePlugin& plugin : profile.plugins) {
    if (plugin.name == "NodeResourcesFit") {
      plugin.args = api::json::object{
          {"ignoredResources",
           api::json::array{model::kGpuResource, model::hami::kMemory,
                            model::hami::kMemoryPercentage, model::hami::kCores}}};
    }
  }
  profile.plugins.push_back({.name = std::string(sched::kHami), .weight = 1, .args = nullptr});
  return profile;
}

client::Faults random_line(Rng& rng) {
  if (rng.chance(1, 3)) {
    return {};
  }
  const auto permille = [&rng](unsigned most) {
    return static_cast<unsigned>(rng.below(most + 1));
  };
  return {.longest_delay = Duration::millis(rng.between(0, 800)),
          .conflict_permille = permille(40),
          .lost_permille = permille(20),
          .unanswered_permille = permille(20),
          .failed_read_permille = permille(40),
          .duplicate_permille = permille(60),
          .reorder_permille = permille(60),
          .lose_permille = permille(20),
          .expire_permille = permille(10)};
}

cluster::Fault random_fault(Rng& rng, const std::vector<std::string>& nodes) {
  using Kind = cluster::Fault::Kind;
  static constexpr std::array<Kind, 6> kKinds = {Kind::Xid,         Kind::Xid, Kind::AgentCrash,
                                                 Kind::PluginCrash, Kind::Cut, Kind::NodeDown};
  static constexpr std::array<int, 4> kXids = {79, 48, 31, 74};
  cluster::Fault fault;
  fault.kind = kKinds[rng.below(kKinds.size())];
  fault.node = nodes[rng.below(nodes.size())];
  fault.gpu = static_cast<int>(rng.below(8));
  fault.code = kXids[rng.below(kXids.size())];
  fault.pause = Duration::seconds(rng.between(0, 90));
  return fault;
}

class Builder {
 public:
  explicit Builder(std::uint64_t seed) : rng_(seed) { scenario_.seed = seed; }

  Scenario build() {
    scenario_.cluster.groups = random_groups(rng_);
    scenario_.profiles = {scheduler::berth_profile(), vgpu_profile()};
    scenario_.line_faults = random_line(rng_);
    scenario_.length = kBusyTime;
    for (const cluster::NodeGroup& group : scenario_.cluster.groups) {
      for (int i = 1; i <= group.count; ++i) {
        nodes_.push_back(fmt::format("{}-{}", group.platform, i));
      }
    }
    at(Duration(), Create{priority_classes()});
    add_workloads();
    add_faults();
    std::ranges::stable_sort(scenario_.actions, {}, &TimedAction::at);
    return std::move(scenario_);
  }

 private:
  void at(Duration time, Action action) {
    scenario_.actions.push_back({.at = time, .action = std::move(action)});
  }

  void add_workloads() {
    const std::int64_t count = rng_.between(3, 14);
    const bool any = std::ranges::any_of(scenario_.cluster.groups,
                                         [](const auto& group) { return group.hami.has_value(); });
    const Vgpus vgpus = any ? Vgpus::Some : Vgpus::None;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t sort = rng_.below(3);
      const std::string name =
          fmt::format("{}-{}", std::array<std::string_view, 3>{"pod", "job", "gang"}[sort], i);
      Create create{sort == 0   ? random_pod(rng_, name, vgpus)
                    : sort == 1 ? random_job(rng_, name, vgpus)
                                : random_gang(rng_, name)};
      const Duration when = random_time(rng_);
      if (rng_.chance(1, 4)) {
        const api::Object& victim = create.objects[rng_.below(create.objects.size())];
        at(when + Duration::millis(rng_.between(0, 200'000)),
           Delete{{.group = victim.gvk().group,
                   .kind = victim.gvk().kind,
                   .key = {.ns = "default", .name = victim.meta().name}}});
      }
      at(when, std::move(create));
    }
  }

  void add_faults() {
    const std::int64_t count = rng_.between(0, 16);
    for (std::int64_t i = 0; i < count; ++i) {
      const Duration when = random_time(rng_);
      if (rng_.chance(1, 10)) {
        at(when, Stall{Duration::seconds(rng_.between(1, 120))});
        continue;
      }
      cluster::Fault fault = random_fault(rng_, nodes_);
      if (fault.kind == cluster::Fault::Kind::NodeDown) {
        cluster::Fault back = fault;
        back.kind = cluster::Fault::Kind::NodeUp;
        at(when + Duration::seconds(rng_.between(1, 900)), back);
      } else if (fault.kind == cluster::Fault::Kind::Xid && rng_.chance(1, 2)) {
        cluster::Fault repair = fault;
        repair.kind = cluster::Fault::Kind::Repair;
        at(when + Duration::seconds(rng_.between(1, 600)), repair);
      }
      at(when, std::move(fault));
    }
  }

  Rng rng_;
  Scenario scenario_;
  std::vector<std::string> nodes_;
};

struct Describe {
  std::string operator()(const Create& create) const {
    std::string text = "create";
    for (const api::Object& object : create.objects) {
      text += fmt::format(" {}/{}", object.gvk().kind, object.meta().name);
    }
    return text;
  }
  std::string operator()(const Delete& gone) const {
    return fmt::format("delete {}/{}", gone.what.kind, gone.what.key.name);
  }
  std::string operator()(const cluster::Fault& fault) const {
    return "fault " + cluster::to_string(fault);
  }
  std::string operator()(const Stall& stall) const {
    return "stall " + berth::to_string(stall.length);
  }
};

} // namespace

std::string to_string(const TimedAction& action) {
  return fmt::format("{} {}", berth::to_string(action.at), std::visit(Describe(), action.action));
}

Scenario random_scenario(std::uint64_t seed) {
  return Builder(seed).build();
}

} // namespace berth::sim
