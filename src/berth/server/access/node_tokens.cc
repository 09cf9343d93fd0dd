#include "berth/server/access/node_tokens.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "berth/store/errors.h"

namespace berth::server {
namespace {

namespace json = boost::json;

constexpr std::string_view kNodes = "system:nodes";
constexpr std::string_view kNodePrefix = "system:node:";

tl::unexpected<Status> refused(const api::Key& account, std::string_view why) {
  return tl::unexpected(
      status_of(store::forbidden({"", "ServiceAccount"}, account.name, why).value()));
}

const json::array& list_at(const json::value& document, std::string_view path) {
  static const json::array kNone;
  const json::value* found = api::find_path(document, path);
  return found && found->is_array() ? found->get_array() : kNone;
}

bool has_token_for(const api::Object& pod, std::string_view audience) {
  return std::ranges::any_of(list_at(pod.json(), "spec.volumes"), [&](const json::value& volume) {
    return std::ranges::any_of(
        list_at(volume, "projected.sources"), [&](const json::value& source) {
          const json::value* token = api::find(source, "serviceAccountToken");
          return token && api::string_at(*token, "audience") == audience;
        });
  });
}

Answer<void> check_audience(const User& user, const api::Key& account, const json::array& asked,
                            const api::Object& pod, const Judge& judge) {
  if (asked.size() > 1) {
    return refused(account, "node may only request 0 or 1 audiences");
  }
  const std::string audience(asked.empty() || !asked.front().is_string()
                                 ? std::string_view()
                                 : std::string_view(asked.front().get_string()));
  if (has_token_for(pod, audience) ||
      (!audience.empty() && judge({.verb = "request-serviceaccounts-token-audience",
                                   .path = {},
                                   .is_resource = true,
                                   .group = {},
                                   .version = "v1",
                                   .ns = account.ns,
                                   .resource = audience,
                                   .subresource = {},
                                   .name = account.name})
                                .allowed)) {
    return {};
  }
  return refused(account,
                 fmt::format("audience {} not found in pod spec volume, {} is not authorized to "
                             "request tokens for this audience",
                             store::quote(audience), user.name));
}

} // namespace

Answer<void> check_node_token(const store::Registry& registry, const User& user,
                              const api::Key& account, const json::value& body,
                              const Judge& judge) {
  if (!in_group(user, kNodes)) {
    return {};
  }
  if (!user.name.starts_with(kNodePrefix)) {
    return refused(account,
                   fmt::format("could not determine node from user {}", store::quote(user.name)));
  }
  const json::value* ref = api::find_path(body, "spec.boundObjectRef");
  const std::string pod_name(ref ? api::string_at(*ref, "name") : "");
  if (!ref || api::string_at(*ref, "apiVersion") != "v1" || api::string_at(*ref, "kind") != "Pod" ||
      pod_name.empty()) {
    return refused(account, "node requested token not bound to a pod");
  }
  const std::string_view uid = api::string_at(*ref, "uid");
  if (uid.empty()) {
    return refused(account, "node requested token with a pod binding without a uid");
  }
  const auto pod = registry.get(store::kPods, {account.ns, pod_name});
  if (!pod) {
    return tl::unexpected(status_of(pod.error()));
  }
  if (pod->meta().uid != uid) {
    return refused(account,
                   fmt::format("the UID in the bound object reference ({}) does not match the UID "
                               "in record. The object might have been deleted and then recreated",
                               uid));
  }
  if (store::node_of(*pod) != std::string_view(user.name).substr(kNodePrefix.size())) {
    return refused(account, "node requested token bound to a pod scheduled on a different node");
  }
  return check_audience(user, account, list_at(body, "spec.audiences"), *pod, judge);
}

} // namespace berth::server
