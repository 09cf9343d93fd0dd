// Shared by the tests of admission: a registry to ask and short ways to write pods down.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/store/memory_store.h"
#include "berth/store/registry.h"

namespace berth::store {

class AdmissionTest : public ::testing::Test {
 protected:
  static api::Object parsed(const std::string& text) { return api::Object::parse(text).value(); }
  /// A pod whose spec is `spec`, as JSON without the braces.
  static api::Object pod_with(std::string_view spec, std::string_view name = "a") {
    return parsed(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}"}},"spec":{{{}}}}})", name,
        spec));
  }
  /// A pod of one container with `resources`, as JSON.
  static api::Object pod_asking(std::string_view resources, std::string_view name = "a") {
    return pod_with(
        fmt::format(R"("containers":[{{"name":"c","image":"x","resources":{}}}])", resources),
        name);
  }
  Result<api::Object> create(const api::Object& object) { return registry.create(object, now); }
  /// What is wrong; "" when the object is accepted.
  std::string complaint(const api::Object& object) {
    const auto made = create(object);
    return made ? "" : made.error().message;
  }
  /// The accepted object's JSON at a dotted path; the error's message when it is refused.
  std::string made(const api::Object& object, std::string_view path) {
    const auto result = create(object);
    if (!result) {
      return result.error().message;
    }
    const api::json::value* found = api::find_path(result->json(), path);
    return found == nullptr ? "absent" : api::to_json(*found);
  }
  Result<api::Object> patch(const api::Object& object, const std::string& text,
                            Subresource subresource = Subresource::None) {
    return registry.patch(group_kind(object), object.key(), api::parse_json(text).value(),
                          subresource, now);
  }

  TimePoint now = TimePoint::from_unix_seconds(1'700'000'000);
  MemoryStore store;
  Registry registry{store, Rng(1)};
};

} // namespace berth::store
