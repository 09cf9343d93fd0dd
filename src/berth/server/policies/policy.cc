#include "berth/server/policies/policy.h"

#include "berth/api/json.h"
#include "berth/store/validation/policy_expressions.h"

namespace berth::server {
namespace {

namespace json = boost::json;
using store::MayAskRights;
using store::PolicyResult;
using store::PolicyScope;

template <class F> void each(const json::value& spec, std::string_view member, const F& f) {
  const json::value* list = api::find(spec, member);
  if (list != nullptr && list->is_array()) {
    for (const json::value& one : list->get_array()) {
      f(one);
    }
  }
}

PolicyExpression compiled(std::string_view text, const PolicyScope& scope, PolicyResult wanted,
                          MayAskRights rights) {
  PolicyExpression out{.text = std::string(text)};
  if (auto made = scope.compile(text, wanted, rights)) {
    out.program = *std::move(made);
  } else {
    out.error = std::move(made).error().message;
  }
  return out;
}

PolicyValidation validation(const json::value& one, const PolicyScope& scope) {
  PolicyValidation out{.expression = compiled(api::string_at(one, "expression"), scope,
                                              PolicyResult::Bool, MayAskRights::Yes),
                       .message_expression = {},
                       .message = std::string(api::string_at(one, "message")),
                       .reason = std::string(api::string_at(one, "reason"))};
  if (const std::string_view text = api::string_at(one, "messageExpression"); !text.empty()) {
    out.message_expression = compiled(text, scope, PolicyResult::Text, MayAskRights::No);
  }
  return out;
}

} // namespace

std::shared_ptr<const Policy> compile_policy(const api::Object& object) {
  auto out = std::make_shared<Policy>();
  out->object = object;
  const json::value* found = api::find(object.json(), "spec");
  const json::value spec = found == nullptr ? json::value(json::object()) : *found;
  out->ignores_failures = api::string_at(spec, "failurePolicy") == "Ignore";
  if (const json::value* kind = api::find(spec, "paramKind");
      kind != nullptr && kind->is_object()) {
    out->param_kind =
        api::make_gvk(api::string_at(*kind, "apiVersion"), api::string_at(*kind, "kind"));
  }
  const auto params = out->param_kind ? PolicyScope::Params::Given : PolicyScope::Params::None;
  const PolicyScope plain(params, PolicyScope::Variables::None);
  each(spec, "matchConditions", [&](const json::value& one) {
    out->conditions.push_back(
        compiled(api::string_at(one, "expression"), plain, PolicyResult::Bool, MayAskRights::Yes));
  });
  PolicyScope scope(params, PolicyScope::Variables::Composed);
  each(spec, "variables", [&](const json::value& one) {
    PolicyVariable variable{.name = std::string(api::string_at(one, "name")),
                            .expression = compiled(api::string_at(one, "expression"), scope,
                                                   PolicyResult::Anything, MayAskRights::Yes)};
    const auto& program = variable.expression.program;
    scope.add_variable(variable.name,
                       program == nullptr ? cel::simple(cel::Kind::Dyn) : program->type());
    out->variables.push_back(std::move(variable));
  });
  each(spec, "validations",
       [&](const json::value& one) { out->validations.push_back(validation(one, scope)); });
  each(spec, "auditAnnotations", [&](const json::value& one) {
    out->annotations.push_back({.key = std::string(api::string_at(one, "key")),
                                .value = compiled(api::string_at(one, "valueExpression"), scope,
                                                  PolicyResult::TextOrNull, MayAskRights::Yes)});
  });
  return out;
}

} // namespace berth::server
