#include "berth/sched/plugins/volume_zone.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "berth/sched/storage_event.h"

namespace berth::sched {
namespace {

struct TopologyLabel {
  std::string_view key;
  std::string_view stable; ///< the same label's later name
};

constexpr std::array<TopologyLabel, 4> kTopologyLabels{{
    {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
    {"topology.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"topology.kubernetes.io/region", "topology.kubernetes.io/region"},
}};

/// One label of a volume and the values it allows.
struct Topology {
  TopologyLabel label;
  std::vector<std::string> values; ///< sorted

  bool matches(const api::Labels& labels) const {
    auto it = labels.find(label.key);
    it = it == labels.end() ? labels.find(label.stable) : it;
    return it != labels.end() && std::ranges::binary_search(values, it->second);
  }
  bool operator==(const Topology& other) const {
    return label.key == other.label.key && values == other.values;
  }
};

/// The parts between "__", trimmed and sorted; none if one of them is empty.
std::vector<std::string> zones_in(std::string_view text) {
  constexpr std::string_view kSeparator = "__";
  constexpr std::string_view kBlanks = " \t\n\r\v\f";
  std::vector<std::string> zones;
  for (bool more = true; more;) {
    const auto end = text.find(kSeparator);
    more = end != std::string_view::npos;
    std::string_view part = text.substr(0, end);
    text = more ? text.substr(end + kSeparator.size()) : std::string_view();
    part.remove_prefix(std::min(part.find_first_not_of(kBlanks), part.size()));
    part = part.substr(0, part.find_last_not_of(kBlanks) + 1);
    if (part.empty()) {
      return {};
    }
    zones.emplace_back(part);
  }
  std::ranges::sort(zones);
  return zones;
}

std::vector<Topology> topologies_of(const model::PersistentVolume& volume) {
  std::vector<Topology> found;
  for (const TopologyLabel& label : kTopologyLabels) {
    if (const auto it = volume.meta.labels.find(label.key); it != volume.meta.labels.end()) {
      if (std::vector<std::string> zones = zones_in(it->second); !zones.empty()) {
        found.push_back({.label = label, .values = std::move(zones)});
      }
    }
  }
  return found;
}

bool in_some_zone(const api::Labels& labels) {
  return std::ranges::any_of(kTopologyLabels, [&](const TopologyLabel& label) {
    return labels.find(label.key) != labels.end();
  });
}

/// Depends on claims and volumes, so it holds for one pod at a time: reach stays Cluster.
class ZoneRun final : public Run {
 public:
  explicit ZoneRun(const ClusterState& state) : state_(&state) {}

  void add(std::vector<Topology> more) {
    topologies_.insert(topologies_.end(), more.begin(), more.end());
  }
  bool restricts() const { return !topologies_.empty(); }

  Verdict filter(NodeId node) const override {
    const api::Labels& labels = state_->node(node).labels();
    const bool fits =
        !in_some_zone(labels) || std::ranges::all_of(topologies_, [&](const Topology& topology) {
          return topology.matches(labels);
        });
    return fits ? Verdict::feasible() : Verdict::unresolvable();
  }
  std::vector<std::string> reasons(NodeId, Verdict) const override {
    return {std::string(kReasonVolumeZone)};
  }

 private:
  const ClusterState* state_;
  std::vector<Topology> topologies_;
};

/// The pod's claims by name; claims made for one pod are not looked at.
bool names_claim(const PodInfo& pod, const model::PersistentVolumeClaim& claim) {
  return pod.ns() == claim.meta.ns &&
         std::ranges::any_of(pod.pod->spec.volumes, [&](const model::PodVolume& volume) {
           return volume.is_claim() && !volume.ephemeral && volume.claim == claim.meta.name;
         });
}

class VolumeZone final : public Plugin {
 public:
  std::string_view name() const override { return kVolumeZone; }
  Points points() const override { return static_cast<Points>(Point::Filter); }

  std::vector<EventInterest> events() const override {
    constexpr EventActions kAddOrUpdate = actions::kAdd | actions::kUpdate;
    return {{.resource = EventResource::StorageClass, .action = actions::kAdd},
            {.resource = EventResource::Node, .action = actions::kAdd | actions::kNodeLabel},
            {.resource = EventResource::PersistentVolumeClaim, .action = kAddOrUpdate},
            {.resource = EventResource::PersistentVolume, .action = kAddOrUpdate}};
  }

  Hint hint(const PodInfo& pod, const ClusterEvent& event) const override {
    bool helps = true;
    if (event.storage && event.storage->storage_class.now) {
      helps = event.storage->storage_class.now->waits_for_consumer();
    } else if (event.storage && event.storage->claim.now) {
      helps = names_claim(pod, *event.storage->claim.now);
    } else if (event.storage && event.storage->volume.old && event.storage->volume.now) {
      helps =
          topologies_of(*event.storage->volume.old) != topologies_of(*event.storage->volume.now);
    }
    return helps ? Hint::Queue : Hint::Skip;
  }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    std::unique_ptr<ZoneRun> run;
    for (const model::PodVolume& volume : pod->pod->spec.volumes) {
      if (!volume.is_claim() || volume.ephemeral) {
        continue;
      }
      run = run ? std::move(run) : std::make_unique<ZoneRun>(state);
      if (Status status = look_at(*pod, volume.claim, state.storage(), *run); !status.ok()) {
        return {.status = std::move(status), .run = std::move(run), .nodes = {}};
      }
    }
    Status status = run && run->restricts() ? Status::success() : Status::skip();
    return {.status = std::move(status), .run = std::move(run), .nodes = {}};
  }

 private:
  static Status look_at(const PodInfo& pod, const std::string& name, const StorageState& storage,
                        ZoneRun& run) {
    const auto reject = [](std::string reason) {
      return Status::of(StatusCode::Unresolvable, std::move(reason));
    };
    if (name.empty()) {
      return reject("PersistentVolumeClaim had no name");
    }
    const ClaimPtr& claim = storage.claim({pod.ns(), name});
    if (!claim) {
      return reject(claim_not_found(name));
    }
    if (!claim->volume_name.empty()) {
      const VolumePtr& volume = storage.volume(claim->volume_name);
      if (!volume) {
        return reject(fmt::format("persistentvolume \"{}\" not found", claim->volume_name));
      }
      run.add(topologies_of(*volume));
      return Status::success();
    }
    const std::string_view class_name = claim->class_name();
    if (class_name.empty()) {
      return reject("PersistentVolumeClaim had no pv name and storageClass name");
    }
    const StorageClassPtr& of = storage.storage_class(class_name);
    if (!of) {
      return reject(fmt::format("storageclass.storage.k8s.io \"{}\" not found", class_name));
    }
    return of->waits_for_consumer() ? Status::success() : reject("PersistentVolume had no name");
  }
};

} // namespace

std::unique_ptr<Plugin> make_volume_zone() {
  return std::make_unique<VolumeZone>();
}

} // namespace berth::sched
