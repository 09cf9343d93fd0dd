// Shared by the tests of access: a store to put roles into, and short ways to write users, requests
// and objects down.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/server/access/rbac.h"
#include "berth/server/access/rbac_admission.h"
#include "berth/store/memory_store.h"
#include "berth/store/registry.h"

namespace berth::server {

class AccessTest : public ::testing::Test {
 protected:
  static User user(std::string name, std::vector<std::string> groups = {}) {
    return {.name = std::move(name), .uid = {}, .groups = std::move(groups), .extra = {}};
  }
  /// "delete pods ns/name", "get deployments.apps/scale ns/name", "list nodes", "get /healthz"; a
  /// namespace alone is "ns/".
  static RequestInfo asks(std::string_view text) {
    RequestInfo what;
    const std::size_t blank = text.find(' ');
    what.verb = text.substr(0, blank);
    text.remove_prefix(blank + 1);
    if (text.starts_with('/')) {
      what.path = text;
      return what;
    }
    what.is_resource = true;
    what.version = "v1";
    const std::size_t end = text.find(' ');
    std::string_view resource = text.substr(0, end);
    if (end != std::string_view::npos) {
      const std::string_view key = text.substr(end + 1);
      const std::size_t slash = key.find('/');
      what.ns = slash == std::string_view::npos ? "" : key.substr(0, slash);
      what.name = slash == std::string_view::npos ? key : key.substr(slash + 1);
    }
    if (const std::size_t slash = resource.find('/'); slash != std::string_view::npos) {
      what.subresource = resource.substr(slash + 1);
      resource = resource.substr(0, slash);
    }
    if (const std::size_t dot = resource.find('.'); dot != std::string_view::npos) {
      what.group = resource.substr(dot + 1);
      resource = resource.substr(0, dot);
    }
    what.resource = resource;
    return what;
  }

  static api::Object parsed(const std::string& text) { return api::Object::parse(text).value(); }
  /// `key`: "ns/name" of a Role or "name" of a ClusterRole; `rules`: the elements as JSON.
  static api::Object role(const std::string& key, std::string_view rules) {
    const std::size_t slash = key.find('/');
    const bool cluster = slash == std::string::npos;
    return parsed(fmt::format(
        R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"{}","metadata":{{"name":"{}",)"
        R"("namespace":"{}"}},"rules":[{}]}})",
        cluster ? "ClusterRole" : "Role", cluster ? key : key.substr(slash + 1),
        cluster ? "" : key.substr(0, slash), rules));
  }
  /// `ref`: "Role/name" or "ClusterRole/name"; `subjects`: "User/a", "Group/a",
  /// "ServiceAccount/ns/a".
  static api::Object binding(const std::string& key, const std::string& ref,
                             const std::vector<std::string>& subjects) {
    const std::size_t slash = key.find('/');
    const bool cluster = slash == std::string::npos;
    std::string list;
    for (const std::string& subject : subjects) {
      const std::size_t first = subject.find('/');
      const std::size_t last = subject.rfind('/');
      list += fmt::format(R"({}{{"kind":"{}","name":"{}"{}}})", list.empty() ? "" : ",",
                          subject.substr(0, first), subject.substr(last + 1),
                          first == last ? ""
                                        : fmt::format(R"(,"namespace":"{}")",
                                                      subject.substr(first + 1, last - first - 1)));
    }
    return parsed(fmt::format(
        R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"{}","metadata":{{"name":"{}",)"
        R"("namespace":"{}"}},"roleRef":{{"kind":"{}","name":"{}"}},"subjects":[{}]}})",
        cluster ? "ClusterRoleBinding" : "RoleBinding", cluster ? key : key.substr(slash + 1),
        cluster ? "" : key.substr(0, slash), ref.substr(0, ref.find('/')),
        ref.substr(ref.find('/') + 1), list));
  }
  static api::Object account(const std::string& ns, const std::string& name) {
    return parsed(fmt::format(
        R"({{"apiVersion":"v1","kind":"ServiceAccount","metadata":{{"name":"{}","namespace":"{}"}}}})",
        name, ns));
  }

  api::Object create(const api::Object& object) { return registry.create(object, now).value(); }
  api::Object update(const api::Object& object) {
    return registry.update(object, store::Subresource::None, now).value();
  }
  void remove(const store::GroupKind& kind, const api::Key& key) {
    ASSERT_TRUE(registry.remove(kind, key, {}, now).has_value());
  }
  /// What is wrong with it; "" when it is accepted.
  std::string complaint(const api::Object& object) {
    const auto made = registry.create(object, now);
    return made ? "" : made.error().message;
  }

  TimePoint now = TimePoint::from_unix_seconds(1'700'000'000);
  store::MemoryStore store;
  store::Registry registry{store, Rng(1), {.admission = with_rbac(store::kubernetes_admission())}};
};

} // namespace berth::server
