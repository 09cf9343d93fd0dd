// What informers are tried with.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "berth/base/rng.h"
#include "berth/client/faulty_client.h"

namespace berth::test {

inline api::Object config_map(std::string_view name, std::string_view value,
                              std::string_view tier = "web") {
  return api::Object::from_json(
             api::json::object{
                 {"apiVersion", "v1"},
                 {"kind", "ConfigMap"},
                 {"metadata", api::json::object{{"name", name},
                                                {"namespace", "default"},
                                                {"labels", api::json::object{{"tier", tier}}}}},
                 {"data", api::json::object{{"value", value}}}})
      .value();
}

inline const client::GroupKind kConfigMaps{"", "ConfigMap"};

/// Checks that callbacks form a chain per object and keeps the state that they add up to.
struct Chain {
  void operator()(const api::Object& old, const api::Object& now) {
    ASSERT_TRUE(old || now);
    const api::Key key = old ? old.key() : now.key();
    const auto held = state.find(key);
    ASSERT_EQ(static_cast<bool>(old), held != state.end()) << key.to_string();
    if (old) {
      ASSERT_EQ(old.meta().resource_version, held->second.meta().resource_version);
    }
    if (old && now) {
      ASSERT_EQ(old.meta().uid, now.meta().uid);
      ASSERT_LT(old.meta().resource_version, now.meta().resource_version);
    }
    if (now) {
      ASSERT_GT(now.meta().resource_version, newest[key]) << key.to_string();
      newest[key] = now.meta().resource_version;
      state[key] = now;
    } else {
      state.erase(key);
    }
    story.push_back(fmt::format("{}:{}>{}", key.name, old ? old.meta().resource_version : 0,
                                now ? now.meta().resource_version : 0));
  }

  std::map<api::Key, api::Object> state;
  std::map<api::Key, std::uint64_t> newest;
  std::vector<std::string> story;
};

/// A line with some of every fault.
inline client::Faults bad_line(Rng& rng) {
  return {.longest_delay = Duration::millis(rng.between(0, 400)),
          .failed_read_permille = static_cast<unsigned>(rng.below(300)),
          .duplicate_permille = static_cast<unsigned>(rng.below(400)),
          .reorder_permille = static_cast<unsigned>(rng.below(600)),
          .lose_permille = static_cast<unsigned>(rng.below(100)),
          .expire_permille = static_cast<unsigned>(rng.below(100))};
}

} // namespace berth::test
