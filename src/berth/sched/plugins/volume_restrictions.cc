#include "berth/sched/plugins/volume_restrictions.h"

#include <algorithm>

#include "berth/sched/storage_event.h"

namespace berth::sched {
namespace {

enum Detail : std::uint64_t { kDisk, kOncePod };

bool restricted(const model::InTreeDisk& disk) {
  switch (disk.kind) {
  case model::DiskKind::GcePersistentDisk:
  case model::DiskKind::AwsElasticBlockStore:
  case model::DiskKind::Iscsi:
  case model::DiskKind::Rbd:
    return true;
  case model::DiskKind::AzureDisk:
  case model::DiskKind::AzureFile:
  case model::DiskKind::Cinder:
  case model::DiskKind::Vsphere:
  case model::DiskKind::Portworx:
    return false;
  }
  return false;
}

/// May two pods not mount these on one node?
bool conflict(const model::InTreeDisk& a, const model::InTreeDisk& b) {
  if (a.kind != b.kind || !restricted(a) || a.id != b.id) {
    return false;
  }
  if (a.kind == model::DiskKind::AwsElasticBlockStore) {
    return true; // read-only or not
  }
  const bool same = a.kind != model::DiskKind::Rbd ||
                    (a.pool == b.pool && std::ranges::any_of(a.monitors, [&](const auto& monitor) {
                       return std::ranges::find(b.monitors, monitor) != b.monitors.end();
                     }));
  return same && !(a.read_only && b.read_only);
}

bool disks_conflict(const model::PodSpec& a, const model::PodSpec& b) {
  return std::ranges::any_of(a.volumes, [&](const model::PodVolume& mine) {
    return mine.disk && std::ranges::any_of(b.volumes, [&](const model::PodVolume& theirs) {
             return theirs.disk && conflict(*mine.disk, *theirs.disk);
           });
  });
}

/// A claim by name; claims made for one pod are nobody else's.
bool names_claim(const model::PodVolume& volume) {
  return volume.is_claim() && !volume.ephemeral;
}

class RestrictionsRun final : public Run {
 public:
  RestrictionsRun(PodPtr pod, const ClusterState& state) : pod_(std::move(pod)), state_(&state) {
    for (const model::PodVolume& volume : pod_->pod->spec.volumes) {
      has_claims_ = has_claims_ || names_claim(volume);
      has_disks_ = has_disks_ || (volume.disk && restricted(*volume.disk));
    }
  }

  /// A claim of the pod that only one pod may use.
  void add_once_pod_claim(const std::string& claim) {
    if (std::ranges::find(once_pod_, claim) == once_pod_.end()) {
      once_pod_.push_back(claim);
      users_ += state_->storage().in_use({pod_->ns(), claim}) ? 1 : 0;
    }
  }
  bool restricts() const { return has_disks_ || users_ != 0; }

  Reach reach() const override { return has_claims_ ? Reach::Cluster : Reach::Node; }

  Verdict filter(NodeId node) const override {
    if (has_disks_) {
      for (const PodSlot slot : state_->node(node).pods) {
        if (disks_conflict(pod_->pod->spec, state_->placed(slot).pod->pod->spec)) {
          return Verdict::unschedulable(kDisk);
        }
      }
    }
    return users_ > 0 ? Verdict::unschedulable(kOncePod) : Verdict::feasible();
  }
  std::vector<std::string> reasons(NodeId, Verdict verdict) const override {
    return {std::string(verdict.detail == kDisk ? kReasonDiskConflict : kReasonReadWriteOncePod)};
  }
  void add_pod(const PodInfo& pod, NodeId) override { users_ += uses_of(pod); }
  void remove_pod(const PodInfo& pod, NodeId) override { users_ -= uses_of(pod); }

 private:
  std::int64_t uses_of(const PodInfo& pod) const {
    return pod.ns() != pod_->ns()
               ? 0
               : std::ranges::count_if(pod.pod->spec.volumes, [&](const auto& volume) {
                   return names_claim(volume) &&
                          std::ranges::find(once_pod_, volume.claim) != once_pod_.end();
                 });
  }

  PodPtr pod_;
  const ClusterState* state_;
  bool has_claims_ = false;
  bool has_disks_ = false;
  std::vector<std::string> once_pod_; ///< claims of mode ReadWriteOncePod
  std::int64_t users_ = 0;            ///< of them
};

class VolumeRestrictions final : public Plugin {
 public:
  std::string_view name() const override { return kVolumeRestrictions; }
  Points points() const override { return static_cast<Points>(Point::Filter); }

  std::vector<EventInterest> events() const override {
    return {{.resource = EventResource::AssignedPod, .action = actions::kDelete},
            {.resource = EventResource::Node, .action = actions::kAdd},
            {.resource = EventResource::PersistentVolumeClaim, .action = actions::kAdd}};
  }

  Hint hint(const PodInfo& pod, const ClusterEvent& event) const override {
    bool helps = true;
    if (event.resource == EventResource::AssignedPod && event.old_pod) {
      helps = freed(pod, *event.old_pod);
    } else if (event.storage && event.storage->claim.now) {
      const auto& claim = *event.storage->claim.now;
      helps = std::ranges::any_of(pod.pod->spec.volumes, [&](const model::PodVolume& volume) {
        return names_claim(volume) && pod.ns() == claim.meta.ns && volume.claim == claim.meta.name;
      });
    }
    return helps ? Hint::Queue : Hint::Skip;
  }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    if (pod->pod->spec.volumes.empty()) {
      return {.status = Status::skip(), .run = nullptr, .nodes = {}};
    }
    auto run = std::make_unique<RestrictionsRun>(pod, state);
    for (const model::PodVolume& volume : pod->pod->spec.volumes) {
      if (!names_claim(volume)) {
        continue;
      }
      const ClaimPtr& claim = state.storage().claim({pod->ns(), volume.claim});
      if (!claim) {
        return {.status = Status::of(StatusCode::Unresolvable, claim_not_found(volume.claim)),
                .run = std::move(run),
                .nodes = {}};
      }
      if (std::ranges::find(claim->access_modes, model::kReadWriteOncePod) !=
          claim->access_modes.end()) {
        run->add_once_pod_claim(volume.claim);
      }
    }
    Status status = run->restricts() ? Status::success() : Status::skip();
    return {.status = std::move(status), .run = std::move(run), .nodes = {}};
  }

 private:
  /// Did the deleted pod hold a disk or claim that `pod` wants?
  static bool freed(const PodInfo& pod, const PodInfo& deleted) {
    if (pod.ns() != deleted.ns()) {
      return false;
    }
    return disks_conflict(pod.pod->spec, deleted.pod->spec) ||
           std::ranges::any_of(deleted.pod->spec.volumes, [&](const model::PodVolume& theirs) {
             return names_claim(theirs) &&
                    std::ranges::any_of(pod.pod->spec.volumes, [&](const model::PodVolume& mine) {
                      return names_claim(mine) && mine.claim == theirs.claim;
                    });
           });
  }
};

} // namespace

std::unique_ptr<Plugin> make_volume_restrictions() {
  return std::make_unique<VolumeRestrictions>();
}

} // namespace berth::sched
