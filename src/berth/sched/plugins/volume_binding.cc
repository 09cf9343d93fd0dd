#include "berth/sched/plugins/volume_binding.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "berth/api/strict.h"
#include "berth/sched/storage_event.h"

namespace berth::sched {
namespace {

enum Detail : std::uint64_t { kAffinity = 1, kNoVolume = 2, kNoSpace = 4, kVolumeGone = 8 };

/// An unbound claim whose volume is chosen with the node.
struct Delayed {
  ClaimPtr claim;
  StorageClassPtr storage_class;
  VolumePtr reserved;                  ///< the volume that is kept for this claim, if any
  std::vector<VolumePtr> free;         ///< those that would do, best (smallest) first
  bool told = false;                   ///< its driver tells what it can provision,
  std::vector<CapacityPtr> capacities; ///< and this is enough for the claim
};

bool enough(const model::CsiStorageCapacity& capacity, const model::PersistentVolumeClaim& claim) {
  const auto limit = capacity.limit();
  return limit && !(*limit < claim.request);
}

/// Sorts the volumes of the claim's class by what they are to it, whatever the node.
Delayed delayed_claim(const ClaimPtr& claim, const StorageState& storage) {
  Delayed delayed{.claim = claim,
                  .storage_class = storage.storage_class(claim->class_name()),
                  .reserved = nullptr,
                  .free = {},
                  .capacities = {}};
  const CsiDriverPtr& driver = storage.csi_driver(delayed.storage_class->provisioner);
  delayed.told = driver && driver->storage_capacity && !claim->request.is_zero();
  if (delayed.told) {
    delayed.capacities = storage.capacities_of(delayed.storage_class->meta.name);
    std::erase_if(delayed.capacities,
                  [&](const CapacityPtr& capacity) { return !enough(*capacity, *claim); });
  }
  for (const VolumePtr& volume : storage.volumes_of(claim->class_name())) {
    if (!large_enough(*volume, *claim) || volume->meta.deletion_timestamp) {
      continue;
    }
    if (volume->belongs_to(*claim)) {
      delayed.reserved = delayed.reserved ? delayed.reserved : volume;
    } else if (free_for(*volume, *claim)) {
      delayed.free.push_back(volume);
    }
  }
  std::ranges::stable_sort(delayed.free, [](const VolumePtr& a, const VolumePtr& b) {
    return a->capacity < b->capacity;
  });
  return delayed;
}

class BindingRun final : public Run {
 public:
  explicit BindingRun(const ClusterState& state) : state_(&state) {}

  void add_bound(const model::PersistentVolumeClaim& claim) {
    bound_.push_back(state_->storage().volume(claim.volume_name));
  }
  /// All claims to be chosen for, in the pod's order. Those that have their node come first, the
  /// rest by size.
  void set_delayed(std::vector<Delayed> claims) {
    std::ranges::stable_sort(claims, [](const Delayed& a, const Delayed& b) {
      const bool a_selected = a.claim->selected_node().has_value();
      const bool b_selected = b.claim->selected_node().has_value();
      return a_selected != b_selected ? a_selected
                                      : !a_selected && a.claim->request < b.claim->request;
    });
    delayed_ = std::move(claims);
  }

  Verdict filter(NodeId node) const override {
    const std::uint64_t reasons =
        check_bound(node) | (delayed_.empty() ? 0 : plan_for(node, nullptr));
    return reasons == 0 ? Verdict::feasible() : Verdict::unresolvable(reasons);
  }

  std::vector<std::string> reasons(NodeId, Verdict verdict) const override {
    std::vector<std::string> reasons;
    const auto add = [&](Detail detail, std::string_view reason) {
      if ((verdict.detail & detail) != 0) {
        reasons.emplace_back(reason);
      }
    };
    add(kAffinity, kReasonVolumeAffinity);
    add(kNoVolume, kReasonNoVolume);
    add(kNoSpace, kReasonNoSpace);
    add(kVolumeGone, kReasonVolumeGone);
    return reasons;
  }

  Status reserve(const PodInfo&, const ClusterState&, Reservation& reservation) override {
    VolumePlan plan;
    if (!delayed_.empty() && plan_for(reservation.node, &plan) != 0) {
      return Status::of(StatusCode::Unresolvable, std::string(kReasonNoVolume));
    }
    reservation.volumes = std::move(plan);
    return Status::success();
  }

 private:
  const api::Labels& labels(NodeId node) const { return state_->node(node).labels(); }

  /// The first bound claim that does not do decides.
  std::uint64_t check_bound(NodeId node) const {
    for (const VolumePtr& volume : bound_) {
      if (!volume) {
        return kVolumeGone;
      }
      if (!volume->reachable_from(labels(node))) {
        return kAffinity;
      }
    }
    return 0;
  }

  /// Chooses for every delayed claim; 0, or why that is impossible on this node.
  std::uint64_t plan_for(NodeId node, VolumePlan* plan) const {
    const std::string& name = state_->node_name(node);
    const bool elsewhere = std::ranges::any_of(delayed_, [&](const Delayed& delayed) {
      const auto selected = delayed.claim->selected_node();
      return selected && *selected != name;
    });
    if (elsewhere) {
      return kNoVolume;
    }
    std::vector<const model::PersistentVolume*> taken;
    for (const Delayed& delayed : delayed_) {
      // A claim that has its node is being provisioned.
      const VolumePtr volume =
          delayed.claim->selected_node() ? nullptr : match(delayed, node, taken);
      if (const auto reason = volume ? std::uint64_t{0} : why_not_provision(delayed, node);
          reason != 0) {
        return reason;
      }
      if (volume) {
        taken.push_back(volume.get());
      }
      if (plan != nullptr) {
        enter(delayed, volume, *plan);
      }
    }
    return 0;
  }

  VolumePtr match(const Delayed& delayed, NodeId node,
                  const std::vector<const model::PersistentVolume*>& taken) const {
    const auto usable = [&](const VolumePtr& volume) {
      return std::ranges::find(taken, volume.get()) == taken.end() &&
             volume->reachable_from(labels(node));
    };
    if (delayed.reserved) {
      return usable(delayed.reserved) ? delayed.reserved : nullptr;
    }
    const auto it = std::ranges::find_if(delayed.free, usable);
    return it == delayed.free.end() ? nullptr : *it;
  }

  /// 0: a volume can be made for the node.
  std::uint64_t why_not_provision(const Delayed& delayed, NodeId node) const {
    const api::Labels& here = labels(node);
    if (!delayed.storage_class->provisions() || !delayed.storage_class->allows(here)) {
      return kNoVolume;
    }
    const bool room =
        !delayed.told || std::ranges::any_of(delayed.capacities, [&](const CapacityPtr& capacity) {
          return capacity->node_topology && capacity->node_topology->matches(here);
        });
    return room ? std::uint64_t{0} : kNoSpace;
  }

  static void enter(const Delayed& delayed, const VolumePtr& volume, VolumePlan& plan) {
    const model::PersistentVolumeClaim& claim = *delayed.claim;
    if (volume) {
      plan.bindings.push_back({.volume = volume->meta.name,
                               .volume_version = volume->meta.resource_version,
                               .claim = claim.key(),
                               .claim_uid = claim.meta.uid});
    } else {
      plan.provisions.push_back(
          {.claim = claim.key(), .claim_version = claim.meta.resource_version});
    }
  }

  const ClusterState* state_;
  std::vector<VolumePtr> bound_; ///< of the bound claims; null: there is no such volume
  std::vector<Delayed> delayed_; ///< in the order in which they choose
};

/// Why the pod cannot use one of its claims now; none: all can be looked at.
std::optional<std::string> claim_fault(const PodInfo& pod, const StorageState& storage) {
  for (const model::PodVolume& volume : pod.pod->spec.volumes) {
    if (!volume.is_claim()) {
      continue;
    }
    const ClaimPtr& claim = storage.claim({pod.ns(), volume.claim});
    if (!claim) {
      return volume.ephemeral ? fmt::format("waiting for ephemeral volume controller to create the "
                                            "persistentvolumeclaim \"{}\"",
                                            volume.claim)
                              : claim_not_found(volume.claim);
    }
    if (claim->phase == "Lost") {
      return fmt::format(
          "persistentvolumeclaim \"{}\" bound to non-existent persistentvolume \"{}\"",
          volume.claim, claim->volume_name);
    }
    if (claim->meta.deletion_timestamp) {
      return fmt::format("persistentvolumeclaim \"{}\" is being deleted", volume.claim);
    }
    if (volume.ephemeral) {
      if (auto foreign = foreign_claim(*pod.pod, *claim)) {
        return foreign;
      }
    }
  }
  return std::nullopt;
}

class VolumeBinding final : public Plugin {
 public:
  std::string_view name() const override { return kVolumeBinding; }
  Points points() const override {
    return Point::Filter | Point::Reserve | static_cast<Points>(Point::PreBind);
  }

  std::vector<EventInterest> events() const override {
    constexpr EventActions kAddOrUpdate = actions::kAdd | actions::kUpdate;
    return {{.resource = EventResource::StorageClass, .action = kAddOrUpdate},
            {.resource = EventResource::PersistentVolumeClaim, .action = kAddOrUpdate},
            {.resource = EventResource::PersistentVolume, .action = kAddOrUpdate},
            {.resource = EventResource::Node, .action = actions::kAdd | actions::kNodeLabel},
            {.resource = EventResource::CsiNode, .action = kAddOrUpdate},
            {.resource = EventResource::CsiDriver, .action = actions::kUpdate},
            {.resource = EventResource::CsiStorageCapacity, .action = kAddOrUpdate}};
  }

  Hint hint(const PodInfo& pod, const ClusterEvent& event) const override {
    bool helps = true;
    if (!event.storage) {
      return Hint::Queue;
    }
    const StorageChange& change = *event.storage;
    if (change.claim.now) {
      helps = pod.pod->uses_claim(change.claim.now->meta.ns, change.claim.now->meta.name);
    } else if (change.storage_class.old && change.storage_class.now) {
      helps = change.storage_class.old->allowed_topologies !=
              change.storage_class.now->allowed_topologies;
    } else if (change.csi_node.old && change.csi_node.now) {
      helps = change.csi_node.old->migrated_plugins() != change.csi_node.now->migrated_plugins();
    } else if (change.csi_driver.old && change.csi_driver.now) {
      helps = change.csi_driver.old->storage_capacity && !change.csi_driver.now->storage_capacity;
    } else if (change.capacity.old && change.capacity.now) {
      const auto& was = change.capacity.old->limit();
      const auto& is = change.capacity.now->limit();
      helps = is && (!was || *was < *is);
    }
    return helps ? Hint::Queue : Hint::Skip;
  }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    const auto& volumes = pod->pod->spec.volumes;
    if (std::ranges::none_of(volumes, &model::PodVolume::is_claim)) {
      return {.status = Status::skip(), .run = nullptr, .nodes = {}};
    }
    auto run = std::make_unique<BindingRun>(state);
    Status status = look_at_claims(*pod, state.storage(), *run);
    return {.status = std::move(status), .run = std::move(run), .nodes = {}};
  }

 private:
  static Status look_at_claims(const PodInfo& pod, const StorageState& storage, BindingRun& run) {
    if (auto fault = claim_fault(pod, storage)) {
      return Status::of(StatusCode::Unresolvable, *std::move(fault));
    }
    std::vector<Delayed> delayed;
    for (const model::PodVolume& volume : pod.pod->spec.volumes) {
      if (!volume.is_claim()) {
        continue;
      }
      const ClaimPtr& claim = storage.claim({pod.ns(), volume.claim});
      const StorageClassPtr& of = storage.storage_class(claim->class_name());
      if (claim->bound()) {
        run.add_bound(*claim);
      } else if (of && of->waits_for_consumer() && claim->volume_name.empty()) {
        // Two volumes of one claim need one PersistentVolume.
        if (std::ranges::find(delayed, claim, &Delayed::claim) == delayed.end()) {
          delayed.push_back(delayed_claim(claim, storage));
        }
      } else {
        return Status::of(StatusCode::Unresolvable, std::string(kReasonUnboundImmediate));
      }
    }
    run.set_delayed(std::move(delayed));
    return Status::success();
  }
};

} // namespace

void decode(const api::Field& in, VolumeBindingArgs&) {
  constexpr std::string_view kTimeout = "bindTimeoutSeconds";
  api::refuse_unknown(in, {kTimeout});
  in.within(kTimeout, [](const api::Field& field) {
    int seconds = 0;
    decode(field, seconds);
    api::check_range(field, seconds, VolumeBindingArgs::kBindTimeoutSeconds,
                     VolumeBindingArgs::kBindTimeoutSeconds);
  });
}

Result<VolumeBindingArgs> parse_volume_binding_args(const boost::json::value& args) {
  return api::decode_document<VolumeBindingArgs>(args);
}

std::unique_ptr<Plugin> make_volume_binding() {
  return std::make_unique<VolumeBinding>();
}

} // namespace berth::sched
