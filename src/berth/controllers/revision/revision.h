// The pod templates that a DaemonSet or StatefulSet has had, kept as ControllerRevisions. Source:
// kubernetes pkg/controller/history and pkg/controller/daemon/update.go.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/object.h"
#include "berth/store/request.h"

namespace berth::controllers {

inline const store::GroupKind kRevisions{"apps", "ControllerRevision"};
/// On the pods: which template they are of.
inline constexpr std::string_view kRevisionHashLabel = "controller-revision-hash";
/// On the revisions of StatefulSets.
inline constexpr std::string_view kHashLabel = "controller.kubernetes.io/hash";

std::int64_t revision_number(const api::Object& revision);
/// Oldest first: by number, then age, then name.
void sort_revisions(std::vector<api::Object>& revisions);
/// The patch that brings the set's template back: {"spec":{"template":{..., "$patch":"replace"}}}.
api::json::value revision_data(const api::Object& set);

struct NewRevision {
  std::int64_t number = 1;
  std::int64_t collisions = 0; ///< that the hash has met
  std::string_view hash_label; ///< which label carries the hash
};
/// A revision of the set's present template, controlled by it; named by the set and the hash.
api::Object make_revision(const api::Object& set, const NewRevision& how);

/// Revisions beyond the limit, oldest first; those in `live` (names) are neither counted nor named.
std::vector<api::Object> surplus_revisions(const std::vector<api::Object>& sorted,
                                           const std::vector<std::string>& live,
                                           std::int64_t limit);

} // namespace berth::controllers
