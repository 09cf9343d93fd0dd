// The one way components reach Kubernetes objects: LocalClient (the embedded store) and, later,
// RemoteClient (HTTPS). Asynchronous: a callback runs as a later task of the caller's Loop, never
// inside the call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/kinds.h"
#include "berth/api/object.h"
#include "berth/base/result.h"
#include "berth/store/request.h"

namespace berth::client {

template <class T> using Done = std::function<void(Result<T>)>;

using store::Binding;
using store::DeleteOptions;
using store::GroupKind;
using store::kCsiDrivers;
using store::kCsiNodes;
using store::kEvents;
using store::kJobs;
using store::kLeases;
using store::kNamespaces;
using store::kNodes;
using store::kPodGroups;
using store::kPods;
using store::kPriorityClasses;
using store::kResourceQuotas;
using store::kStorageCapacities;
using store::kStorageClasses;
using store::kVolumeAttachments;
using store::kVolumeClaims;
using store::kVolumes;
using store::ListOptions;
using store::ObjectList;
using store::Propagation;
using store::Subresource;
using store::WatchEvent;
using store::WatchOptions;

/// Dropping it ends the watch; no event is delivered afterwards.
class Watch {
 public:
  virtual ~Watch() = default;
};

/// A lease renewed for as long as this handle lives, without a write while all is well: the server
/// reads it as renewed until the holder drops it or is cut off, and then writes its last renewal
/// once.
class StandingLease {
 public:
  virtual ~StandingLease() = default;
};

struct LeaseSpec {
  std::string ns = "kube-node-lease";
  std::string name;
  std::string holder;
  std::int64_t duration_seconds = 40;
};

class InformerSources;

class Client {
 public:
  virtual ~Client() = default;

  /// Where informers of this client share what they list and watch; nullptr: each has its own.
  virtual InformerSources* informer_sources() { return nullptr; }

  /// Error NotFound if absent.
  virtual void get(const GroupKind& kind, const api::Key& key, Done<api::Object> done) = 0;
  virtual void list(const ListOptions& what, Done<ObjectList> done) = 0;
  /// Errors: AlreadyExists, Invalid, Forbidden (admission).
  virtual void create(api::Object object, Done<api::Object> done) = 0;
  /// Replaces; metadata.resourceVersion, when set, must be current (else Conflict). Without a
  /// subresource status is kept as stored; with Status only status changes.
  virtual void update(api::Object object, Subresource subresource, Done<api::Object> done) = 0;
  /// RFC 7386 merge patch of the current version; a resourceVersion in the patch is a precondition.
  virtual void patch(const GroupKind& kind, const api::Key& key, api::json::value merge_patch,
                     Subresource subresource, Done<api::Object> done) = 0;
  /// Starts deletion: finalizers and pods' grace are honoured; the callback has the object as
  /// deletion left it.
  virtual void remove(const GroupKind& kind, const api::Key& key, const DeleteOptions& options,
                      Done<api::Object> done) = 0;
  /// Conflict if the pod is bound already, is being deleted or is another uid.
  virtual void bind(const Binding& binding, Done<api::Object> done) = 0;
  /// `on_event` gets events in order, or one error (Expired: list again; Unavailable: try again),
  /// after which the watch is over.
  virtual std::unique_ptr<Watch> watch(const WatchOptions& options,
                                       std::function<void(Result<WatchEvent>)> on_event) = 0;
  virtual std::unique_ptr<StandingLease> hold_lease(const LeaseSpec& lease) = 0;
};

} // namespace berth::client
