#include "berth/store/validation/policy_expressions.h"

#include <fmt/format.h>

#include "berth/cel/access.h"

namespace berth::store {
namespace {

using cel::Kind;
using cel::TypeRef;
using Fields = std::map<std::string, TypeRef, std::less<>>;

TypeRef text() {
  return cel::simple(Kind::String);
}
TypeRef texts() {
  return cel::list_of(text());
}
TypeRef by_name(TypeRef value) {
  return cel::map_of(text(), std::move(value));
}

TypeRef object(std::string name, Fields fields) {
  return std::make_shared<const cel::Type>(
      cel::Type{.kind = Kind::Object, .name = std::move(name), .fields = std::move(fields)});
}

/// What is wrong with an expression of type `given`; "" if nothing is.
std::string mismatch(const cel::Type& given, PolicyResult wanted) {
  const auto but = [&](std::string_view what) {
    return fmt::format("must evaluate to {} but got {}", what, cel::to_string(given));
  };
  switch (wanted) {
  case PolicyResult::Anything:
    return "";
  case PolicyResult::Bool:
    return given.kind == Kind::Bool ? "" : but("bool");
  case PolicyResult::Text:
    return given.kind == Kind::String ? "" : but("string");
  case PolicyResult::TextOrNull:
    return given.kind == Kind::String || given.kind == Kind::Null
               ? ""
               : but("one of [string null_type]");
  }
  return "";
}

} // namespace

TypeRef policy_request_type() {
  static const TypeRef kType = [] {
    const TypeRef kind = object("kubernetes.GroupVersionKind",
                                {{"group", text()}, {"version", text()}, {"kind", text()}});
    const TypeRef resource = object("kubernetes.GroupVersionResource",
                                    {{"group", text()}, {"version", text()}, {"resource", text()}});
    const TypeRef user = object(
        "kubernetes.UserInfo",
        {{"username", text()}, {"uid", text()}, {"groups", texts()}, {"extra", by_name(texts())}});
    return object("kubernetes.AdmissionRequest", {{"kind", kind},
                                                  {"resource", resource},
                                                  {"subResource", text()},
                                                  {"requestKind", kind},
                                                  {"requestResource", resource},
                                                  {"requestSubResource", text()},
                                                  {"name", text()},
                                                  {"namespace", text()},
                                                  {"operation", text()},
                                                  {"userInfo", user},
                                                  {"dryRun", cel::simple(Kind::Bool)},
                                                  {"options", cel::simple(Kind::Dyn)}});
  }();
  return kType;
}

TypeRef policy_namespace_type() {
  static const TypeRef kType = [] {
    const TypeRef time = cel::simple(Kind::Timestamp);
    const TypeRef number = cel::simple(Kind::Int);
    const TypeRef metadata =
        object("kubernetes.NamespaceMetadata", {{"name", text()},
                                                {"generateName", text()},
                                                {"namespace", text()},
                                                {"labels", by_name(text())},
                                                {"annotations", by_name(text())},
                                                {"UID", text()},
                                                {"creationTimestamp", time},
                                                {"deletionGracePeriodSeconds", number},
                                                {"deletionTimestamp", time},
                                                {"generation", number},
                                                {"resourceVersion", text()},
                                                {"finalizers", texts()}});
    const TypeRef condition = object("kubernetes.NamespaceCondition", {{"status", text()},
                                                                       {"type", text()},
                                                                       {"lastTransitionTime", time},
                                                                       {"message", text()},
                                                                       {"reason", text()}});
    const TypeRef status = object("kubernetes.NamespaceStatus",
                                  {{"conditions", cel::list_of(condition)}, {"phase", text()}});
    const TypeRef spec = object("kubernetes.NamespaceSpec", {{"finalizers", texts()}});
    return object("kubernetes.Namespace",
                  {{"metadata", metadata}, {"spec", spec}, {"status", status}});
  }();
  return kType;
}

PolicyScope::PolicyScope(Params params, Variables variables)
    : variables_{{.name = "object", .type = cel::simple(Kind::Dyn)},
                 {.name = "oldObject", .type = cel::simple(Kind::Dyn)},
                 {.name = "request", .type = policy_request_type()},
                 {.name = "namespaceObject", .type = policy_namespace_type()}} {
  if (params == Params::Given) {
    variables_.push_back({.name = "params", .type = cel::simple(Kind::Dyn)});
  }
  if (variables == Variables::Composed) {
    composed_ = std::make_shared<cel::Type>(
        cel::Type{.kind = Kind::Object, .name = "kubernetes.variables"});
    variables_.push_back({.name = "variables", .type = composed_});
  }
}

Result<std::shared_ptr<const cel::Program>>
PolicyScope::compile(std::string_view expression, PolicyResult wanted, MayAskRights rights) const {
  std::vector<cel::Variable> variables = variables_;
  if (rights == MayAskRights::Yes) {
    variables.push_back({.name = "authorizer", .type = cel::opaque(cel::kAuthorizerType)});
    variables.push_back(
        {.name = "authorizer.requestResource", .type = cel::opaque(cel::kResourceCheckType)});
  }
  BERTH_TRY(auto made, cel::Program::compile(expression, variables));
  if (std::string wrong = mismatch(*made->type(), wanted); !wrong.empty()) {
    return fail(Code::Invalid, std::move(wrong));
  }
  return made;
}

void PolicyScope::add_variable(std::string name, cel::TypeRef type) {
  // Of objects and opaque values expressions know no more than that they are there.
  const bool plain = type->kind != Kind::Object && type->kind != Kind::Opaque;
  composed_->fields.insert_or_assign(std::move(name),
                                     plain ? std::move(type) : cel::simple(Kind::Dyn));
}

} // namespace berth::store
