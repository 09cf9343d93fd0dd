#include "berth/server/policies/policy_params.h"

#include "berth/api/json.h"
#include "berth/api/selector.h"

namespace berth::server {
namespace {

namespace json = boost::json;

Result<std::string> namespace_of(const json::value& reference, const schema::Resource& kind,
                                 const std::string& ns) {
  const std::string given(api::string_at(reference, "namespace"));
  if (!kind.namespaced()) {
    return given.empty() ? Result<std::string>("")
                         : fail(Code::Invalid, "paramRef.namespace must not be provided for a "
                                               "cluster-scoped `paramKind`");
  }
  if (given.empty() && ns.empty()) {
    return fail(Code::Invalid, "cannot use namespaced paramRef in policy binding that matches "
                               "cluster-scoped resources");
  }
  return given.empty() ? ns : given;
}

} // namespace

Result<std::vector<api::Object>> params_of(const json::value* param_ref,
                                           const schema::Resource& kind, const std::string& ns,
                                           const store::Registry& registry) {
  if (param_ref == nullptr) {
    return std::vector<api::Object>{api::Object()};
  }
  BERTH_TRY(const std::string where, namespace_of(*param_ref, kind, ns));
  const store::GroupKind group_kind{kind.group, kind.kind};
  std::vector<api::Object> found;
  if (const std::string name(api::string_at(*param_ref, "name")); !name.empty()) {
    if (auto object = registry.get(group_kind, {where, name})) {
      found.push_back(*std::move(object));
    }
  } else {
    const json::value* selector = api::find(*param_ref, "selector");
    BERTH_TRY(
        api::Selector labels,
        api::parse_label_selector(selector == nullptr ? json::value(json::object()) : *selector));
    found = registry.list({.kind = group_kind, .ns = where, .labels = std::move(labels)}).items;
  }
  if (found.empty() && api::string_at(*param_ref, "parameterNotFoundAction") == "Deny") {
    return fail(Code::Invalid,
                "no params found for policy binding with `Deny` parameterNotFoundAction");
  }
  return found;
}

} // namespace berth::server
