// The functions of authorizers. Source: k8s.io/apiserver/pkg/cel/library/authz.go.
#include <absl/strings/ascii.h>

#include "berth/cel/library.h"

namespace berth::cel {
namespace {

using Args = std::span<const Value>;

const std::string& text(const Value& value) {
  return *value.get<std::string>();
}

/// What was asked so far as a To, with one more word in `part`.
template <class From, class To, std::string AccessQuestion::*part> Outcome with(Args args) {
  To out{*args[0].opaque<From>()};
  out.question.*part = text(args[1]);
  return opaque_value(std::move(out));
}

Outcome of_path(Args args) {
  if (absl::StripAsciiWhitespace(text(args[1])).empty()) {
    return failure("path must not be empty");
  }
  return with<Authorizer, PathCheck, &AccessQuestion::path>(args);
}

Outcome of_account(Args args) {
  for (const Value& name : args.subspan(1)) {
    if (text(name).empty()) {
      return failure("invalid service account name or namespace: must not be empty");
    }
  }
  Authorizer out{*args[0].opaque<Authorizer>()};
  out.question.account_ns = text(args[1]);
  out.question.account = text(args[2]);
  return opaque_value(std::move(out));
}

template <class From> Outcome check(Args args) {
  const Asking& asking = *args[0].opaque<From>();
  AccessQuestion question = asking.question;
  question.verb = text(args[1]);
  return opaque_value(asking.rights->ask(question));
}

/// A selector narrows what is asked for; rights by RBAC do not depend on it.
Outcome selected(Args args) {
  return args[0];
}

} // namespace

std::vector<Declaration> access_functions() {
  using Part = AccessQuestion;
  return {
      {"kubernetes.authorization.Authorizer::path(string) -> kubernetes.authorization.PathCheck",
       of_path},
      {"kubernetes.authorization.Authorizer::group(string) -> kubernetes.authorization.GroupCheck",
       with<Authorizer, GroupCheck, &Part::group>},
      {"kubernetes.authorization.Authorizer::serviceAccount(string, string) -> "
       "kubernetes.authorization.Authorizer",
       of_account},
      {"kubernetes.authorization.GroupCheck::resource(string) -> "
       "kubernetes.authorization.ResourceCheck",
       with<GroupCheck, ResourceCheck, &Part::resource>},
      {"kubernetes.authorization.ResourceCheck::subresource(string) -> "
       "kubernetes.authorization.ResourceCheck",
       with<ResourceCheck, ResourceCheck, &Part::subresource>},
      {"kubernetes.authorization.ResourceCheck::namespace(string) -> "
       "kubernetes.authorization.ResourceCheck",
       with<ResourceCheck, ResourceCheck, &Part::ns>},
      {"kubernetes.authorization.ResourceCheck::name(string) -> "
       "kubernetes.authorization.ResourceCheck",
       with<ResourceCheck, ResourceCheck, &Part::name>},
      {"kubernetes.authorization.ResourceCheck::fieldSelector(string) -> "
       "kubernetes.authorization.ResourceCheck",
       selected},
      {"kubernetes.authorization.ResourceCheck::labelSelector(string) -> "
       "kubernetes.authorization.ResourceCheck",
       selected},
      {"kubernetes.authorization.PathCheck::check(string) -> kubernetes.authorization.Decision",
       check<PathCheck>},
      {"kubernetes.authorization.ResourceCheck::check(string) -> kubernetes.authorization.Decision",
       check<ResourceCheck>},
      {"kubernetes.authorization.Decision::allowed() -> bool",
       [](Args a) -> Outcome { return Value(a[0].opaque<AccessAnswer>()->allowed); }},
      {"kubernetes.authorization.Decision::reason() -> string",
       [](Args a) -> Outcome { return Value(a[0].opaque<AccessAnswer>()->reason); }},
      {"kubernetes.authorization.Decision::errored() -> bool",
       [](Args) -> Outcome { return Value(false); }},
      {"kubernetes.authorization.Decision::error() -> string",
       [](Args) -> Outcome { return Value(std::string()); }},
  };
}

} // namespace berth::cel
