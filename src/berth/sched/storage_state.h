// The scheduler's picture of storage: claims, volumes, classes, what CSI drivers a node has, and
// what was decided here that the API does not show yet (kube-scheduler's assume caches). Part of
// ClusterState, which counts every change of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/model/storage.h"

namespace berth::sched {

using ClaimPtr = std::shared_ptr<const model::PersistentVolumeClaim>;
using VolumePtr = std::shared_ptr<const model::PersistentVolume>;
using StorageClassPtr = std::shared_ptr<const model::StorageClass>;
using CsiNodePtr = std::shared_ptr<const model::CsiNode>;
using CsiDriverPtr = std::shared_ptr<const model::CsiDriver>;
using CapacityPtr = std::shared_ptr<const model::CsiStorageCapacity>;
using AttachmentPtr = std::shared_ptr<const model::VolumeAttachment>;

/// What has to be written before a pod is bound, so that its claims get volumes on its node.
struct VolumePlan {
  /// A volume that is given to a claim: its spec.claimRef.
  struct Binding {
    std::string volume;
    std::uint64_t volume_version = 0; ///< resourceVersion the decision was made on
    api::Key claim;
    std::string claim_uid;
    bool operator==(const Binding&) const = default;
  };
  /// A claim whose volume is to be provisioned for the pod's node: its selected-node annotation.
  struct Provision {
    api::Key claim;
    std::uint64_t claim_version = 0;
    bool operator==(const Provision&) const = default;
  };
  std::vector<Binding> bindings;
  std::vector<Provision> provisions;

  bool empty() const { return bindings.empty() && provisions.empty(); }
  bool operator==(const VolumePlan&) const = default;
};

/// Copyable. Lookups O(log n); null where nothing is known.
class StorageState {
 public:
  // ---- what informers say; a newer version ends what was assumed of the object -----------------
  void set_claim(ClaimPtr claim);
  void remove_claim(const api::Key& key);
  void set_volume(VolumePtr volume);
  void remove_volume(std::string_view name);
  void set_class(StorageClassPtr storage_class);
  void remove_class(std::string_view name);
  void set_csi_node(CsiNodePtr node);
  void remove_csi_node(std::string_view name);
  void set_csi_driver(CsiDriverPtr driver);
  void remove_csi_driver(std::string_view name);
  void set_capacity(CapacityPtr capacity);
  void remove_capacity(const api::Key& key);
  void set_attachment(AttachmentPtr attachment);
  void remove_attachment(std::string_view name);

  // ---- what the scheduler decides ---------------------------------------------------------------
  /// Until told otherwise the plan of the pod `uid`, for this node, counts as written.
  void assume(std::string_view uid, const VolumePlan& plan, std::string_view node);
  /// Ends what was assumed for the pod. Unknown uids are ignored.
  void drop(std::string_view uid);
  /// Counts the pod among (sign 1), or no more among (-1), the users of its claims.
  void count_users(const model::Pod& pod, std::int64_t sign);

  // ---- reading ----------------------------------------------------------------------------------
  /// As assumed.
  const ClaimPtr& claim(const api::Key& key) const;
  const VolumePtr& volume(std::string_view name) const;
  /// As the API shows it.
  const ClaimPtr& stored_claim(const api::Key& key) const;
  const VolumePtr& stored_volume(std::string_view name) const;
  const StorageClassPtr& storage_class(std::string_view name) const;
  const CsiNodePtr& csi_node(std::string_view node) const;
  const CsiDriverPtr& csi_driver(std::string_view name) const;
  /// What drivers can provision for the class, by key. O(capacities).
  std::vector<CapacityPtr> capacities_of(std::string_view class_name) const;
  /// Volumes of the class, as assumed, by name. O(volumes).
  std::vector<VolumePtr> volumes_of(std::string_view class_name) const;
  /// Attachments to the node, by name. O(attachments of the node).
  std::vector<AttachmentPtr> attached_to(std::string_view node) const;
  /// Does a placed pod have a volume of this claim? Claims made for one pod do not count.
  bool in_use(const api::Key& claim) const { return users_.contains(claim); }

  /// As ClusterState::dump.
  std::string dump() const;

 private:
  template <class T> struct Entry {
    struct Assumed {
      std::string uid; ///< the pod for which
      std::shared_ptr<const T> object;
    };
    std::shared_ptr<const T> stored;
    std::vector<Assumed> assumed; ///< what it is to become, in order of the decisions

    const std::shared_ptr<const T>& latest() const {
      return assumed.empty() ? stored : assumed.back().object;
    }
  };

  std::map<api::Key, Entry<model::PersistentVolumeClaim>> claims_;
  std::map<std::string, Entry<model::PersistentVolume>, std::less<>> volumes_;
  std::map<std::string, StorageClassPtr, std::less<>> classes_;
  std::map<std::string, CsiNodePtr, std::less<>> csi_nodes_;
  std::map<std::string, CsiDriverPtr, std::less<>> csi_drivers_;
  std::map<api::Key, CapacityPtr> capacities_;
  std::map<std::string, AttachmentPtr, std::less<>> attachments_;
  std::set<std::pair<std::string, std::string>> attached_; ///< node, attachment
  std::map<std::string, VolumePlan, std::less<>> plans_;   ///< by pod uid
  std::map<api::Key, std::int64_t> users_;
};

/// `persistentvolumeclaim "x" not found`.
std::string claim_not_found(std::string_view name);
/// Why the pod may not use a claim that an ephemeral volume of it found; none: the claim is its
/// own.
std::optional<std::string> foreign_claim(const model::Pod& pod,
                                         const model::PersistentVolumeClaim& claim);

} // namespace berth::sched
