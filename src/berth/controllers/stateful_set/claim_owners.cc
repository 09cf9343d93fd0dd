#include "berth/controllers/stateful_set/claim_owners.h"

#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/controllers/fields.h"

namespace berth::controllers {
namespace {

namespace json = api::json;

bool deletes(const api::Object& set, std::string_view when) {
  return api::string_at(set.json(), fmt::format("spec.persistentVolumeClaimRetentionPolicy.{}",
                                                when)) == "Delete";
}

json::object reference(const api::Object& owner) {
  return {{"apiVersion", owner.gvk().api_version()},
          {"kind", owner.gvk().kind},
          {"name", owner.meta().name},
          {"uid", owner.meta().uid},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

bool names(const json::value& owner, std::string_view kind, const std::string& name) {
  return api::string_at(owner, "kind") == kind && api::string_at(owner, "name") == name;
}

} // namespace

bool retains_all(const api::Object& set) {
  return !deletes(set, "whenDeleted") && !deletes(set, "whenScaled");
}

json::value claim_owners_patch(const api::Object& claim, const ClaimHolder& holder) {
  const bool of_pod = holder.condemned && deletes(holder.set, "whenScaled");
  const bool of_set = !of_pod && deletes(holder.set, "whenDeleted");
  json::array wanted;
  const json::array& owners = array_at(claim.json(), "metadata.ownerReferences");
  bool has_pod = false;
  bool has_set = false;
  for (const json::value& owner : owners) {
    const std::string_view uid = api::string_at(owner, "uid");
    const bool is_set = uid == holder.set.meta().uid;
    const bool is_pod = holder.pod && uid == holder.pod.meta().uid;
    if ((is_set && !of_set) || (is_pod && !of_pod)) {
      continue;
    }
    has_set = has_set || is_set;
    has_pod = has_pod || is_pod;
    wanted.push_back(owner);
  }
  if (of_set && !has_set) {
    wanted.push_back(reference(holder.set));
  }
  if (of_pod && holder.pod && !has_pod) {
    wanted.push_back(reference(holder.pod));
  }
  if (wanted == owners) {
    return nullptr;
  }
  json::value list = wanted.empty() ? json::value(nullptr) : json::value(std::move(wanted));
  return json::object{
      {"metadata", json::object{{"uid", claim.meta().uid},
                                {"resourceVersion", fmt::to_string(claim.meta().resource_version)},
                                {"ownerReferences", std::move(list)}}}};
}

bool is_stale(const api::Object& claim, const ClaimHolder& holder) {
  const std::string pod = holder.pod ? holder.pod.meta().name : std::string();
  for (const json::value& owner : array_at(claim.json(), "metadata.ownerReferences")) {
    if (api::string_at(owner, "kind") != "Pod") {
      continue;
    }
    if (!holder.pod ||
        (names(owner, "Pod", pod) && api::string_at(owner, "uid") != holder.pod.meta().uid)) {
      return true;
    }
  }
  return false;
}

} // namespace berth::controllers
