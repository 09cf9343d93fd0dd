#include "berth/server/access/service_account_tokens.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/server/access/base64url.h"
#include "berth/server/access/rbac_objects.h"
#include "berth/store/errors.h"

namespace berth::server {
namespace {

namespace json = boost::json;
using store::quote;

inline const store::GroupKind kAccounts{"", "ServiceAccount"};
inline const store::GroupKind kTokenRequests{"authentication.k8s.io", "TokenRequest"};

constexpr std::int64_t kDefaultSeconds = 3600;
constexpr std::int64_t kLeastSeconds = 600;
constexpr std::int64_t kMostSeconds = std::int64_t{1} << 32;
/// Clocks may differ by this, and what is deleted may finish in it.
constexpr Duration kLeeway = Duration::seconds(60);
constexpr std::size_t kMostBytes = 16384;

std::int64_t int_at(const json::value& document, std::string_view path, std::int64_t otherwise) {
  const json::value* value = api::find_path(document, path);
  if (value == nullptr) {
    return otherwise;
  }
  if (const auto* number = value->if_int64()) {
    return *number;
  }
  const auto* large = value->if_uint64();
  return large != nullptr ? INT64_MAX : otherwise;
}

std::vector<std::string> words_at(const json::value& document, std::string_view path) {
  std::vector<std::string> out;
  const json::value* value = api::find_path(document, path);
  if (value != nullptr && value->is_array()) {
    for (const json::value& one : value->get_array()) {
      if (one.is_string()) {
        out.emplace_back(one.get_string());
      }
    }
  } else if (value != nullptr && value->is_string()) {
    out.emplace_back(value->get_string());
  }
  return out;
}

Answer<void> check_body(const api::Key& account, const json::value& body, std::int64_t seconds) {
  for (const auto& [field, want] :
       {std::pair<std::string_view, const std::string&>{"name", account.name},
        std::pair<std::string_view, const std::string&>{"namespace", account.ns}}) {
    const std::string at = fmt::format("metadata.{}", field);
    const std::string_view given = api::string_at(body, at);
    if (!given.empty() && given != want) {
      const std::string why = fmt::format("must match the service account {} if specified", field);
      return tl::unexpected(status_of(store::invalid(kTokenRequests, account.name,
                                                     {store::invalid_value(at, quote(given), why)})
                                          .value()));
    }
  }
  std::string_view why;
  if (seconds < kLeastSeconds) {
    why = "may not specify a duration less than 10 minutes";
  } else if (seconds > kMostSeconds) {
    why = "may not specify a duration larger than 2^32 seconds";
  }
  if (!why.empty()) {
    return tl::unexpected(status_of(
        store::invalid(
            kTokenRequests, "",
            {store::invalid_value("spec.expirationSeconds", fmt::to_string(seconds), why)})
            .value()));
  }
  return {};
}

std::string pod_account(const api::Object& pod) {
  const std::string_view name = api::string_at(pod.json(), "spec.serviceAccountName");
  return std::string(name.empty() ? api::string_at(pod.json(), "spec.serviceAccount") : name);
}

json::object named(const api::Object& object) {
  return {{"name", object.meta().name}, {"uid", object.meta().uid}};
}

/// What a token may be bound to, by its claim.
struct Bindable {
  std::string_view claim;
  store::GroupKind kind;
  bool namespaced;
};
const std::array<Bindable, 3> kBindable = {
    Bindable{"node", store::kNodes, false},
    Bindable{"pod", store::kPods, true},
    Bindable{"secret", {"", "Secret"}, true},
};

/// Adds the claims of spec.boundObjectRef.
Answer<void> bind(const store::Registry& registry, const api::Object& account,
                  const json::value& ref, json::object& claims) {
  const std::string_view kind = api::string_at(ref, "kind");
  const auto* const bindable =
      std::ranges::find_if(kBindable, [&](const Bindable& one) { return one.kind.kind == kind; });
  const std::string_view version = api::string_at(ref, "apiVersion");
  if (bindable == kBindable.end() || version != "v1") {
    const api::GroupVersionKind gvk = api::make_gvk(version, kind);
    return bad_request(fmt::format("cannot bind token to object of type {}/{}, Kind={}", gvk.group,
                                   gvk.version, gvk.kind));
  }
  const std::string name(api::string_at(ref, "name"));
  const auto found =
      registry.get(bindable->kind, {bindable->namespaced ? account.meta().ns : "", name});
  if (!found) {
    return tl::unexpected(status_of(found.error()));
  }
  if (kind == "Pod" && pod_account(*found) != account.meta().name) {
    return bad_request(fmt::format("cannot bind token for serviceaccount {} to pod running with "
                                   "different serviceaccount name.",
                                   quote(account.meta().name)));
  }
  const std::string_view uid = api::string_at(ref, "uid");
  if (!uid.empty() && uid != found->meta().uid) {
    return tl::unexpected(status_of(
        store::conflict(kind, name,
                        fmt::format("the UID in the bound object reference ({}) does not match the "
                                    "UID in record. The object might have been deleted and then "
                                    "recreated",
                                    uid))
            .value()));
  }
  claims[bindable->claim] = named(*found);
  const std::string node(store::node_of(*found));
  if (const auto on = node.empty() ? Result<api::Object>(api::Object())
                                   : registry.get(store::kNodes, {"", node});
      on && !node.empty()) {
    claims["node"] = named(*on);
  }
  return {};
}

bool gone(const api::Object& object, TimePoint now) {
  return object.meta().deletion_timestamp && *object.meta().deletion_timestamp + kLeeway < now;
}

/// The claims of a token signed by this key; null otherwise.
json::value signed_claims(const TokenKey& key, std::string_view token) {
  const std::size_t first = token.find('.');
  const std::size_t last = token.rfind('.');
  if (token.size() > kMostBytes || first == std::string_view::npos || first == last) {
    return nullptr;
  }
  const auto head = from_base64url(token.substr(0, first));
  const auto body = from_base64url(token.substr(first + 1, last - first - 1));
  const auto signature = from_base64url(token.substr(last + 1));
  if (!head || !body || !signature) {
    return nullptr;
  }
  const auto header = api::parse_json(*head);
  // The one algorithm of our keys: what the token would like is never asked.
  if (!header || api::string_at(*header, "alg") != "ES256" ||
      !key.verify(token.substr(0, last), *signature)) {
    return nullptr;
  }
  auto claims = api::parse_json(*body);
  return claims ? *std::move(claims) : json::value(nullptr);
}

bool in_time(const json::value& claims, TimePoint now) {
  const std::int64_t seconds = now.unix_seconds();
  const std::int64_t leeway = kLeeway.count_seconds();
  return int_at(claims, "exp", 0) >= seconds - leeway &&
         int_at(claims, "nbf", INT64_MAX) <= seconds + leeway &&
         int_at(claims, "iat", INT64_MAX) <= seconds + leeway;
}

} // namespace

ServiceAccountTokens::ServiceAccountTokens(const store::Registry& registry, TokenKey key,
                                           TokenOptions options, Rng rng)
    : registry_(&registry), key_(std::move(key)), options_(std::move(options)),
      rng_(std::move(rng)) {
  if (options_.audiences.empty()) {
    options_.audiences = {options_.issuer};
  }
}

Answer<json::object> ServiceAccountTokens::claims(const api::Object& account,
                                                  const json::object& spec, TimePoint now) {
  const std::int64_t seconds = now.unix_seconds();
  json::object kubernetes{{"namespace", account.meta().ns}};
  const json::value* ref = spec.if_contains("boundObjectRef");
  if (ref != nullptr && !ref->is_null()) {
    if (auto bound = bind(*registry_, account, *ref, kubernetes); !bound) {
      return tl::unexpected(std::move(bound).error());
    }
  }
  kubernetes["serviceaccount"] = named(account);
  return json::object{
      {"aud", spec.at("audiences")},
      {"exp", seconds + spec.at("expirationSeconds").as_int64()},
      {"iat", seconds},
      {"iss", options_.issuer},
      {"jti", rng_.uuid()},
      {"kubernetes.io", std::move(kubernetes)},
      {"nbf", seconds},
      {"sub", account_user_name(account.meta().ns, account.meta().name)},
  };
}

Answer<json::object> ServiceAccountTokens::request(const api::Key& account, const json::value& body,
                                                   TimePoint now) {
  if (!body.is_object()) {
    return bad_request("a TokenRequest is expected");
  }
  const auto found = registry_->get(kAccounts, account);
  if (!found) {
    return tl::unexpected(status_of(found.error()));
  }
  const std::int64_t seconds = int_at(body, "spec.expirationSeconds", kDefaultSeconds);
  if (auto good = check_body(account, body, seconds); !good) {
    return tl::unexpected(std::move(good).error());
  }
  std::vector<std::string> audiences = words_at(body, "spec.audiences");
  if (audiences.empty()) {
    audiences = options_.audiences;
  }
  json::object out(body.get_object());
  out["apiVersion"] = "authentication.k8s.io/v1";
  out["kind"] = "TokenRequest";
  json::object& meta = api::object_at(out, "metadata");
  meta["name"] = account.name;
  meta["namespace"] = account.ns;
  meta["creationTimestamp"] = to_rfc3339(now);
  json::object& spec = api::object_at(out, "spec");
  spec["audiences"] = json::array(audiences.begin(), audiences.end());
  spec["expirationSeconds"] = seconds;

  const auto said = claims(*found, spec, now);
  if (!said) {
    return tl::unexpected(said.error());
  }
  const json::object head{{"alg", "ES256"}, {"kid", key_.id()}};
  std::string token = to_base64url(api::to_json(head)) + "." + to_base64url(api::to_json(*said));
  const auto signature = key_.sign(token);
  if (!signature) {
    return tl::unexpected(internal_error(signature.error().message));
  }
  token += "." + to_base64url(*signature);
  out["status"] = json::object{
      {"token", token}, {"expirationTimestamp", to_rfc3339(now + Duration::seconds(seconds))}};
  return out;
}

/// Whether what the token is bound to is there as it was.
bool ServiceAccountTokens::stands(const json::value& claims, const User& account,
                                  TimePoint now) const {
  const std::string ns(api::string_at(claims, "namespace"));
  const auto same = [&](const store::GroupKind& kind, const api::Key& key, std::string_view uid) {
    const auto found = registry_->get(kind, key);
    return found && found->meta().uid == uid && !gone(*found, now);
  };
  if (!same(kAccounts, {ns, std::string(api::string_at(claims, "serviceaccount.name"))},
            account.uid)) {
    return false;
  }
  const bool of_pod = api::find(claims, "pod") != nullptr;
  return std::ranges::all_of(kBindable, [&](const Bindable& one) {
    const json::value* bound = api::find(claims, one.claim);
    if (bound == nullptr || (of_pod && one.claim == "node")) {
      return true; // a pod's node is told, not bound to
    }
    return same(one.kind, {one.namespaced ? ns : "", std::string(api::string_at(*bound, "name"))},
                api::string_at(*bound, "uid"));
  });
}

std::optional<TokenBearer> ServiceAccountTokens::verify(std::string_view token,
                                                        const std::vector<std::string>& audiences,
                                                        TimePoint now) const {
  const json::value said = signed_claims(key_, token);
  const json::value* kubernetes = api::find(said, "kubernetes.io");
  if (kubernetes == nullptr || api::string_at(said, "iss") != options_.issuer ||
      !in_time(said, now)) {
    return std::nullopt;
  }
  TokenBearer bearer;
  for (const std::string& audience : words_at(said, "aud")) {
    if (std::ranges::find(audiences, audience) != audiences.end()) {
      bearer.audiences.push_back(audience);
    }
  }
  const std::string ns(api::string_at(*kubernetes, "namespace"));
  User& user = bearer.user;
  user.name = account_user_name(ns, api::string_at(*kubernetes, "serviceaccount.name"));
  user.uid = api::string_at(*kubernetes, "serviceaccount.uid");
  if (bearer.audiences.empty() || api::string_at(said, "sub") != user.name ||
      !stands(*kubernetes, user, now)) {
    return std::nullopt;
  }
  user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + ns};
  user.extra["authentication.kubernetes.io/credential-id"] = {
      fmt::format("JTI={}", api::string_at(said, "jti"))};
  for (const std::string_view bound : {"node", "pod"}) {
    if (const json::value* claim = api::find(*kubernetes, bound)) {
      for (const std::string_view part : {"name", "uid"}) {
        user.extra[fmt::format("authentication.kubernetes.io/{}-{}", bound, part)] = {
            std::string(api::string_at(*claim, part))};
      }
    }
  }
  return bearer;
}

} // namespace berth::server
