// Who owns whom, by uid. Rule: the Kubernetes garbage collector's graph: an owner is named by uid,
// so that an object re-created under the same name owns nothing.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "berth/api/object.h"

namespace berth::controllers {

/// Invariant: `dependents_of` holds exactly the pairs that the held objects' owner references name.
/// Updates are O(owners * log n).
class OwnerGraph {
 public:
  void put(const api::Object& object);
  void erase(const std::string& uid);

  /// nullptr if no object with this uid is held.
  const api::Object* find(const std::string& uid) const;
  /// uids, in order.
  const std::set<std::string>& dependents_of(const std::string& owner_uid) const;
  bool empty() const { return objects_.empty(); }

 private:
  void link(const api::Object& object);
  void unlink(const api::Object& object);

  std::map<std::string, api::Object> objects_;
  std::map<std::string, std::set<std::string>> dependents_;
};

/// What is known of an owner.
enum class OwnerState {
  Present,
  Absent,             ///< checked on the server
  WaitsForDependents, ///< being deleted in the foreground
  Unknown             ///< not in the graph and not checked
};

/// What the collector does with an object that has owners.
struct CollectionVerdict {
  enum class Action {
    Keep,
    CheckOwners,      ///< some owner is unknown: ask the server first
    DropReferences,   ///< some owners are gone, others live: only `references` go
    Delete,           ///< every owner is gone or waits for this one
    DeleteForeground, ///< the same, and this object's own dependents go first
  } action = Action::Keep;
  std::vector<std::string> references; ///< uids of owners to be dropped, or to be checked

  bool operator==(const CollectionVerdict&) const = default;
};

enum class Dependents { None, Some };

/// `states` is by position in the object's owner references; `own` are the object's own dependents.
CollectionVerdict judge_dependent(const api::Object& object, const std::vector<OwnerState>& states,
                                  Dependents own);

} // namespace berth::controllers
