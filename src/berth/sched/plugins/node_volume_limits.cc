#include "berth/sched/plugins/node_volume_limits.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "berth/sched/storage_event.h"

namespace berth::sched {
namespace {

enum Detail : std::uint64_t { kTooMany, kMissingClaim, kForeignClaim };

/// A volume as its driver knows it: driver, handle.
using CsiVolume = std::pair<std::string, std::string>;
using CsiVolumes = std::set<CsiVolume>;

bool counts(const model::PodVolume& volume) {
  return volume.is_claim() ||
         !model::csi_driver_of(model::in_tree_plugin(volume.disk->kind)).empty();
}

bool has_volumes_that_count(const PodInfo& pod) {
  return std::ranges::any_of(pod.pod->spec.volumes, &counts);
}

std::string_view zones_of(const api::Labels& labels) {
  for (const std::string_view key :
       {"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"}) {
    if (const auto it = labels.find(key); it != labels.end()) {
      return it->second;
    }
  }
  return {};
}

/// What volumes are at the CSI drivers of one node.
class Resolver {
 public:
  Resolver(const StorageState& storage, const model::CsiNode* node)
      : storage_(&storage), node_(node) {}

  std::optional<CsiVolume> disk(const model::InTreeDisk& disk, std::string_view zones) const {
    const std::string_view plugin = model::in_tree_plugin(disk.kind);
    if (node_ == nullptr || !node_->migrates(plugin)) {
      return std::nullopt;
    }
    return CsiVolume(model::csi_driver_of(plugin), model::csi_volume_handle(disk, zones));
  }

  std::optional<CsiVolume> volume(const model::PersistentVolume& volume) const {
    if (volume.csi) {
      return CsiVolume(volume.csi->driver, volume.csi->handle);
    }
    return volume.disk ? disk(*volume.disk, zones_of(volume.meta.labels)) : std::nullopt;
  }

  std::optional<CsiVolume> claim(const model::PersistentVolumeClaim& claim) const {
    if (const VolumePtr& bound = storage_->stored_volume(claim.volume_name)) {
      return volume(*bound);
    }
    // Not there yet: it will be of its class's driver. Without a class it binds at once or never.
    const StorageClassPtr& of = storage_->storage_class(claim.class_name());
    if (!of) {
      return std::nullopt;
    }
    std::string_view driver = of->provisioner;
    if (const std::string_view migrated = model::csi_driver_of(driver); !migrated.empty()) {
      if (node_ == nullptr || !node_->migrates(driver)) {
        return std::nullopt;
      }
      driver = migrated;
    }
    return driver.empty() ? std::nullopt
                          : std::optional<CsiVolume>(
                                std::in_place, driver,
                                fmt::format("not-provisioned-{}", claim.key().to_string()));
  }

 private:
  const StorageState* storage_;
  const model::CsiNode* node_;
};

class LimitsRun final : public Run {
 public:
  LimitsRun(PodPtr pod, const ClusterState& state) : pod_(std::move(pod)), state_(&state) {
    missing_ = find_fault(*pod_->pod, [&](const api::Key& key, const ClaimPtr& claim) {
      return claim
                 ? std::string()
                 : fmt::format("looking up PVC {}: {}", key.to_string(), claim_not_found(key.name));
    });
    foreign_ = foreign_of(*pod_->pod);
  }

  Verdict filter(NodeId node) const override {
    if (!missing_.empty()) {
      return Verdict::unresolvable(kMissingClaim);
    }
    if (!foreign_.empty()) {
      return {StatusCode::Error, kForeignClaim};
    }
    const StorageState& storage = state_->storage();
    const CsiNodePtr& csi_node = storage.csi_node(state_->node_name(node));
    const Resolver resolver(storage, csi_node.get());
    CsiVolumes wanted;
    collect(resolver, *pod_->pod, wanted);
    if (wanted.empty() || !csi_node ||
        std::ranges::none_of(csi_node->drivers,
                             [](const auto& driver) { return driver.allocatable.has_value(); })) {
      return Verdict::feasible();
    }
    CsiVolumes attached;
    for (const PodSlot slot : state_->node(node).pods) {
      const model::Pod& pod = *state_->placed(slot).pod->pod;
      if (!pod.spec.volumes.empty() && !foreign_of(pod).empty()) {
        return {StatusCode::Error, kForeignClaim};
      }
      collect(resolver, pod, attached);
    }
    collect_attachments(resolver, node, attached);
    return fits(*csi_node, wanted, attached) ? Verdict::feasible()
                                             : Verdict::unschedulable(kTooMany);
  }

  std::vector<std::string> reasons(NodeId node, Verdict verdict) const override {
    if (verdict.detail == kTooMany) {
      return {std::string(kReasonMaxVolumes)};
    }
    return {verdict.detail == kMissingClaim ? missing_ : first_foreign(node)};
  }

 private:
  /// The first text `fault` gives for a claim of the pod; "" if none.
  template <class Fault> std::string find_fault(const model::Pod& pod, Fault fault) const {
    for (const model::PodVolume& volume : pod.spec.volumes) {
      if (volume.is_claim()) {
        const api::Key key{pod.meta.ns, volume.claim};
        if (std::string text = fault(key, state_->storage().claim(key)); !text.empty()) {
          return text;
        }
      }
    }
    return {};
  }

  std::string foreign_of(const model::Pod& pod) const {
    for (const model::PodVolume& volume : pod.spec.volumes) {
      const ClaimPtr& claim = state_->storage().claim({pod.meta.ns, volume.claim});
      if (volume.ephemeral && claim) {
        if (auto why = foreign_claim(pod, *claim)) {
          return *std::move(why);
        }
      }
    }
    return {};
  }

  std::string first_foreign(NodeId node) const {
    if (!foreign_.empty()) {
      return foreign_;
    }
    for (const PodSlot slot : state_->node(node).pods) {
      if (std::string why = foreign_of(*state_->placed(slot).pod->pod); !why.empty()) {
        return why;
      }
    }
    return {};
  }

  void collect(const Resolver& resolver, const model::Pod& pod, CsiVolumes& out) const {
    for (const model::PodVolume& volume : pod.spec.volumes) {
      std::optional<CsiVolume> found;
      if (volume.disk) {
        found = resolver.disk(*volume.disk, "");
      } else if (const ClaimPtr& claim =
                     state_->storage().stored_claim({pod.meta.ns, volume.claim})) {
        found = resolver.claim(*claim);
      }
      if (found) {
        out.insert(*std::move(found));
      }
    }
  }

  void collect_attachments(const Resolver& resolver, NodeId node, CsiVolumes& out) const {
    for (const AttachmentPtr& attachment : state_->storage().attached_to(state_->node_name(node))) {
      const VolumePtr& volume = state_->storage().stored_volume(attachment->volume);
      if (auto found = volume ? resolver.volume(*volume) : std::nullopt) {
        found->first = attachment->attacher;
        out.insert(*std::move(found));
      }
    }
  }

  static bool fits(const model::CsiNode& node, const CsiVolumes& wanted,
                   const CsiVolumes& attached) {
    std::map<std::string, std::int64_t> fresh;
    for (const CsiVolume& volume : wanted) {
      fresh[volume.first] += attached.contains(volume) ? 0 : 1;
    }
    return std::ranges::all_of(node.drivers, [&](const model::CsiNode::Driver& driver) {
      const auto more = fresh.find(driver.name);
      if (!driver.allocatable || more == fresh.end() || more->second == 0) {
        return true;
      }
      const std::int64_t now = std::ranges::count(attached, driver.name, &CsiVolume::first);
      return now + more->second <= *driver.allocatable;
    });
  }

  PodPtr pod_;
  const ClusterState* state_;
  std::string missing_; ///< the pod's own faults; "" if none
  std::string foreign_;
};

/// Did any driver's count grow? A driver without one counts as 0, as kube-scheduler has it.
bool limit_raised(const model::CsiNode& before, const model::CsiNode& after) {
  return std::ranges::any_of(after.drivers, [&](const model::CsiNode::Driver& driver) {
    const auto old = std::ranges::find(before.drivers, driver.name, &model::CsiNode::Driver::name);
    const std::int64_t was = old == before.drivers.end() ? 0 : old->allocatable.value_or(0);
    return driver.allocatable.value_or(0) > was;
  });
}

class NodeVolumeLimits final : public Plugin {
 public:
  std::string_view name() const override { return kNodeVolumeLimits; }
  Points points() const override { return static_cast<Points>(Point::Filter); }

  std::vector<EventInterest> events() const override {
    return {{.resource = EventResource::CsiNode, .action = actions::kAdd | actions::kUpdate},
            {.resource = EventResource::AssignedPod, .action = actions::kDelete},
            {.resource = EventResource::PersistentVolumeClaim, .action = actions::kAdd},
            {.resource = EventResource::VolumeAttachment, .action = actions::kDelete}};
  }

  Hint hint(const PodInfo& pod, const ClusterEvent& event) const override {
    bool helps = true;
    if (event.resource == EventResource::AssignedPod && event.old_pod) {
      helps = has_volumes_that_count(*event.old_pod);
    } else if (event.storage && event.storage->claim.now) {
      const auto& claim = *event.storage->claim.now;
      helps = pod.pod->uses_claim(claim.meta.ns, claim.meta.name);
    } else if (event.storage && event.storage->csi_node.old && event.storage->csi_node.now) {
      helps = limit_raised(*event.storage->csi_node.old, *event.storage->csi_node.now);
    }
    return helps ? Hint::Queue : Hint::Skip;
  }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    if (!has_volumes_that_count(*pod)) {
      return {.status = Status::skip(), .run = nullptr, .nodes = {}};
    }
    return {.status = {}, .run = std::make_unique<LimitsRun>(pod, state), .nodes = {}};
  }
};

} // namespace

std::unique_ptr<Plugin> make_node_volume_limits() {
  return std::make_unique<NodeVolumeLimits>();
}

} // namespace berth::sched
