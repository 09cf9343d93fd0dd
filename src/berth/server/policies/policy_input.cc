#include "berth/server/policies/policy_input.h"

#include <utility>

#include "berth/api/json.h"
#include "berth/cel/json_value.h"
#include "berth/server/access/reviews.h"
#include "berth/store/validation/policy_expressions.h"

namespace berth::server {
namespace {

namespace json = boost::json;

/// What a service account is to authorization.
User account_user(const std::string& ns, const std::string& name) {
  return {.name = account_user_name(ns, name),
          .uid = {},
          .groups = {"system:serviceaccounts", "system:serviceaccounts:" + ns, kAuthenticated},
          .extra = {}};
}

class RightsByRbac final : public cel::Rights {
 public:
  RightsByRbac(const Rbac& rbac, User user) : rbac_(&rbac), user_(std::move(user)) {}

  cel::AccessAnswer ask(const cel::AccessQuestion& question) const override {
    RequestInfo what;
    what.verb = question.verb;
    what.path = question.path;
    what.is_resource = question.path.empty();
    what.group = question.group;
    what.version = "*";
    what.ns = question.ns;
    what.resource = question.resource;
    what.subresource = question.subresource;
    what.name = question.name;
    const bool other = !question.account.empty();
    const Decision decision =
        rbac_->authorize(other ? account_user(question.account_ns, question.account) : user_, what);
    return {.allowed = decision.allowed, .reason = decision.reason};
  }

 private:
  const Rbac* rbac_;
  User user_;
};

json::object kind_of(const api::GroupVersionKind& gvk) {
  return {{"group", gvk.group}, {"version", gvk.version}, {"kind", gvk.kind}};
}

json::value request_of(const Review& review, const std::string& version) {
  const auto resource_in = [&](const std::string& in) {
    return json::object{
        {"group", review.served.group}, {"version", in}, {"resource", review.resource}};
  };
  api::GroupVersionKind seen = review.kind;
  if (seen.group == review.served.group) {
    seen.version = version;
  }
  return json::object{{"kind", kind_of(seen)},
                      {"resource", resource_in(version)},
                      {"subResource", review.subresource},
                      {"requestKind", kind_of(review.kind)},
                      {"requestResource", resource_in(review.served.version)},
                      {"requestSubResource", review.subresource},
                      {"name", review.name},
                      {"namespace", review.ns},
                      {"operation", review.operation},
                      {"userInfo", user_info(*review.user)},
                      {"dryRun", review.dry_run},
                      {"options", review.options}};
}

cel::Value dynamic(const json::value* object) {
  return object == nullptr ? cel::Value(cel::Null())
                           : cel::from_json(*object, cel::simple(cel::Kind::Dyn));
}

/// The object in another version: custom resources are converted by their apiVersion alone.
std::optional<json::value> converted(const json::value* object, const Review& review,
                                     const std::string& version) {
  if (object == nullptr || version == review.served.version || !review.subresource.empty()) {
    return std::nullopt;
  }
  json::value out = *object;
  out.as_object()["apiVersion"] = api::GroupVersionKind{
      .group = review.kind.group,
      .version = version,
      .kind = {}}.api_version();
  return out;
}

} // namespace

ReviewValues::ReviewValues(const Review& review, const std::string& version,
                           const api::Object& namespace_object, const Rbac& rbac)
    : object_(converted(review.object, review, version)),
      before_(converted(review.before, review, version)), request_(request_of(review, version)),
      namespace_object_(namespace_object) {
  const cel::Authorizer authorizer{
      {.rights = std::make_shared<const RightsByRbac>(rbac, *review.user), .question = {}}};
  cel::ResourceCheck own{authorizer};
  own.question.group = review.served.group;
  own.question.resource = review.resource;
  own.question.subresource = review.subresource;
  own.question.ns = review.ns;
  own.question.name = review.name;
  input_ = {.object = dynamic(object_ ? &*object_ : review.object),
            .before = dynamic(before_ ? &*before_ : review.before),
            .request = cel::from_json(request_, store::policy_request_type()),
            .params = {},
            .namespace_object = namespace_object_ ? cel::from_json(namespace_object_.json(),
                                                                   store::policy_namespace_type())
                                                  : cel::Value(cel::Null()),
            .authorizer = cel::opaque_value(authorizer),
            .request_resource = cel::opaque_value(own)};
}

PolicyInput ReviewValues::input(const api::Object& params) const {
  PolicyInput out = input_;
  out.params = dynamic(params ? &params.json() : nullptr);
  return out;
}

} // namespace berth::server
