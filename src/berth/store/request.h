// What may be asked of a Kubernetes API, as values: shared by the registry that answers and by the
// clients that ask.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/object.h"
#include "berth/api/selector.h"

namespace berth::store {

/// A group and kind, e.g. {"batch", "Job"}; the served version is the server's choice.
struct GroupKind {
  std::string group;
  std::string kind;
  auto operator<=>(const GroupKind&) const = default;
};

/// What of an object a write is about: the whole, or one part that has a path of its own.
enum class Subresource { None, Status, Approval, EphemeralContainers, Resize };

/// One term of a field selector: the text at a path equals a value, or differs from it.
struct FieldRequirement {
  std::string path; ///< "status.phase"
  std::string value;
  bool equal = true;
  std::string absent = {}; ///< what a field that is not there reads as

  bool matches(const api::Object& object) const;
  bool operator==(const FieldRequirement&) const = default;
};

struct ListOptions {
  GroupKind kind;
  std::string ns;                            ///< "" lists every namespace
  api::Selector labels;                      ///< empty matches all
  std::optional<std::string> node;           ///< pods only: spec.nodeName equals
  std::optional<std::string> name;           ///< metadata.name equals
  std::vector<FieldRequirement> fields = {}; ///< further fields
};

struct ObjectList {
  std::vector<api::Object> items; ///< ordered by namespace, name
  std::uint64_t resource_version = 0;
};

struct WatchOptions {
  ListOptions what;
  std::uint64_t since =
      0; ///< deliver events after this resourceVersion; 0: what exists first, as Added
  bool bookmarks = true;
};

struct WatchEvent {
  enum class Type { Added, Modified, Deleted, Bookmark };
  Type type = Type::Added;
  api::Object object; ///< empty for Bookmark; the last state for Deleted
  std::uint64_t resource_version = 0;
};

enum class Propagation { Background, Foreground, Orphan };

struct DeleteOptions {
  std::optional<std::int64_t>
      grace_period_seconds;                      ///< none: the object's own (pods: spec, else 30)
  std::optional<std::string> uid;                ///< precondition
  std::optional<std::uint64_t> resource_version; ///< precondition
  Propagation propagation = Propagation::Background;
};

/// What a scheduler writes: POST pods/NAME/binding.
struct Binding {
  api::Key pod;
  std::string uid; ///< precondition; "" for none
  std::string node;
  api::Labels annotations; ///< merged into the pod, e.g. the chosen GPUs
};

inline const GroupKind kPods{"", "Pod"};
inline const GroupKind kNodes{"", "Node"};
inline const GroupKind kEvents{"", "Event"};
inline const GroupKind kNamespaces{"", "Namespace"};
inline const GroupKind kLeases{"coordination.k8s.io", "Lease"};
inline const GroupKind kJobs{"batch", "Job"};
inline const GroupKind kPodGroups{"scheduling.x-k8s.io", "PodGroup"};
inline const GroupKind kPriorityClasses{"scheduling.k8s.io", "PriorityClass"};
inline const GroupKind kResourceQuotas{"", "ResourceQuota"};
inline const GroupKind kVolumeClaims{"", "PersistentVolumeClaim"};
inline const GroupKind kVolumes{"", "PersistentVolume"};
inline const GroupKind kStorageClasses{"storage.k8s.io", "StorageClass"};
inline const GroupKind kCsiNodes{"storage.k8s.io", "CSINode"};
inline const GroupKind kCsiDrivers{"storage.k8s.io", "CSIDriver"};
inline const GroupKind kStorageCapacities{"storage.k8s.io", "CSIStorageCapacity"};
inline const GroupKind kVolumeAttachments{"storage.k8s.io", "VolumeAttachment"};

/// The group and kind of an object, whatever its version.
inline GroupKind group_kind(const api::Object& object) {
  return {object.gvk().group, object.gvk().kind};
}

/// spec.nodeName of a pod; "" for an unbound pod and for every other kind.
std::string_view node_of(const api::Object& object);
/// Whether a list or watch of `what` shows this object.
bool covers(const ListOptions& what, const api::Object& object);

} // namespace berth::store
