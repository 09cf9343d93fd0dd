#include "berth/cdi/spec.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth::cdi {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

Result<Spec> parse(std::string_view text) {
  auto document = api::parse_json(text);
  EXPECT_TRUE(document) << text;
  return parse_spec(*document, "spec.json");
}

std::string error_of(std::string_view text) {
  const auto spec = parse(text);
  return spec ? "no error" : to_string(spec.error());
}

TEST(Spec, ReadsEveryField) {
  const auto spec = parse(R"({
    "cdiVersion": "1.1.0", "kind": "vendor.com/net", "annotations": {"a": "b"},
    "containerEdits": {"env": ["A=1"]},
    "devices": [{"name": "d0", "annotations": {"c": "d"}, "containerEdits": {
      "env": ["X=y"],
      "deviceNodes": [{"path": "/dev/x", "hostPath": "/host/x", "type": "c", "major": 1,
                       "minor": 2, "fileMode": 438, "permissions": "rw", "uid": 3, "gid": 4}],
      "netDevices": [{"hostInterfaceName": "eth1", "name": "net0"}],
      "hooks": [{"hookName": "prestart", "path": "/bin/h", "args": ["h", "a"], "env": ["E=f"],
                 "timeout": 5}],
      "mounts": [{"hostPath": "/a", "containerPath": "/b", "options": ["ro"], "type": "bind"}],
      "intelRdt": {"closID": "c", "l3CacheSchema": "l3", "memBwSchema": "mb",
                   "schemata": ["s"], "enableCMT": true, "enableMBM": true,
                   "enableMonitoring": true},
      "additionalGids": [5, 6]}}]})");
  ASSERT_TRUE(spec) << to_string(spec.error());
  const Spec want{
      .cdi_version = "1.1.0",
      .kind = "vendor.com/net",
      .annotations = {{"a", "b"}},
      .devices = {{.name = "d0",
                   .annotations = {{"c", "d"}},
                   .edits = {.env = {"X=y"},
                             .device_nodes = {{.path = "/dev/x",
                                               .host_path = "/host/x",
                                               .type = "c",
                                               .major = 1,
                                               .minor = 2,
                                               .file_mode = 438,
                                               .permissions = "rw",
                                               .uid = 3,
                                               .gid = 4}},
                             .net_devices = {{.host_interface_name = "eth1", .name = "net0"}},
                             .hooks = {{.hook_name = "prestart",
                                        .path = "/bin/h",
                                        .args = {"h", "a"},
                                        .env = {"E=f"},
                                        .timeout = 5}},
                             .mounts = {{.host_path = "/a",
                                         .container_path = "/b",
                                         .options = {"ro"},
                                         .type = "bind"}},
                             .intel_rdt = IntelRdt{.clos_id = "c",
                                                   .l3_cache_schema = "l3",
                                                   .mem_bw_schema = "mb",
                                                   .schemata = {"s"},
                                                   .enable_cmt = true,
                                                   .enable_mbm = true,
                                                   .enable_monitoring = true},
                             .additional_gids = {5, 6}}}},
      .edits = {.env = {"A=1"}}};
  EXPECT_EQ(*spec, want);
  EXPECT_EQ(parse_spec(to_json(*spec), "again"), *spec);
}

TEST(Spec, AnUnknownFieldAnywhereIsAnError) {
  EXPECT_EQ(error_of(R"({"cdiVersion": "0.5.0", "kind": "a.com/b", "device": []})"),
            "spec.json: device: unknown field");
  EXPECT_EQ(error_of(R"({"cdiVersion": "0.5.0", "kind": "a.com/b", "devices": [
                {"name": "x", "containerEdits": {"deviceNodes": [{"path": "/a", "mode": 1}]}}]})"),
            "spec.json: devices[0].containerEdits.deviceNodes[0].mode: unknown field");
}

TEST(Spec, ABrokenRuleNamesTheFileToo) {
  EXPECT_EQ(error_of(R"({"cdiVersion": "0.5.0", "kind": "a.com/b"})"),
            "spec.json: devices: invalid spec, no devices");
}

// Samples of the specification's own repository.
TEST(Spec, ReadsThePublishedSamples) {
  const char* const shared = std::getenv("BERTH_SHARED");
  const std::filesystem::path inputs =
      (shared ? std::filesystem::path(shared)
              : std::filesystem::path(BERTH_SOURCE_DIR) / ".." / "shared") /
      "inputs" / "cdi";
  if (!std::filesystem::exists(inputs)) {
    GTEST_SKIP() << "no samples here";
  }
  for (const char* name : {"minimal.json", "spec-example.json"}) {
    std::ifstream file(inputs / name);
    std::stringstream text;
    text << file.rdbuf();
    const auto spec = parse(text.str());
    ASSERT_TRUE(spec) << name << ": " << to_string(spec.error());
    EXPECT_EQ(spec->kind, "vendor.com/device");
    ASSERT_THAT(spec->devices, SizeIs(1));
    EXPECT_EQ(spec->devices[0].name, "myDevice");
    EXPECT_EQ(parse_spec(to_json(*spec), name), *spec);
  }
}

// A valid spec by chance, with every feature in reach.
class RandomSpec {
 public:
  explicit RandomSpec(std::uint64_t seed) : rng_(seed) {}

  Spec make() {
    Spec spec{.cdi_version = "1.1.0", .kind = "vendor.com/class"};
    if (chance()) {
      spec.annotations["k"] = word();
    }
    if (chance()) {
      spec.edits = edits();
    }
    for (std::int64_t i = rng_.between(1, 3); i > 0; --i) {
      Device& device = spec.devices.emplace_back();
      device.name = std::to_string(spec.devices.size()) + word();
      if (chance()) {
        device.annotations["k"] = word();
      }
      device.edits = edits();
      device.edits.env.push_back("ALWAYS=1");
    }
    return spec;
  }

 private:
  bool chance() { return rng_.chance(1, 2); }
  std::string word() {
    std::string text(1, static_cast<char>('a' + rng_.below(26)));
    return text + std::to_string(rng_.below(1000));
  }
  ContainerEdits edits() {
    ContainerEdits edits;
    if (chance()) {
      edits.env.push_back(word() + "=" + word() + "=x");
    }
    if (chance()) {
      edits.device_nodes.push_back({.path = "/dev/" + word(),
                                    .host_path = chance() ? "/host" : "",
                                    .type = chance() ? "c" : "",
                                    .major = number(),
                                    .minor = number(),
                                    .file_mode = small(),
                                    .permissions = chance() ? "none" : "rm",
                                    .uid = small(),
                                    .gid = small()});
    }
    if (chance()) {
      edits.net_devices.push_back({.host_interface_name = word(), .name = word()});
    }
    if (chance()) {
      edits.hooks.push_back({.hook_name = "poststop",
                             .path = "/" + word(),
                             .args = {word()},
                             .env = {},
                             .timeout = number()});
    }
    if (chance()) {
      edits.mounts.push_back({.host_path = "/" + word(),
                              .container_path = "/" + word(),
                              .options = {"ro", word()},
                              .type = chance() ? "bind" : ""});
    }
    if (chance()) {
      edits.intel_rdt = IntelRdt{.clos_id = word(), .enable_mbm = chance()};
    }
    if (chance()) {
      edits.additional_gids = {static_cast<std::uint32_t>(rng_.below(4'294'967'296))};
    }
    return edits;
  }
  std::optional<std::int64_t> number() {
    return chance() ? std::optional(rng_.between(0, 1'000'000)) : std::nullopt;
  }
  std::optional<std::uint32_t> small() {
    return chance() ? std::optional(static_cast<std::uint32_t>(rng_.below(65536))) : std::nullopt;
  }

  Rng rng_;
};

class RoundTrip : public ::testing::TestWithParam<int> {};

TEST_P(RoundTrip, AWrittenSpecReadsAsItWas) {
  const Spec spec = RandomSpec(static_cast<std::uint64_t>(GetParam())).make();
  ASSERT_TRUE(validate(spec)) << to_string(validate(spec).error());
  const json::value document = to_json(spec);
  const auto again = parse_spec(document, "f");
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(*again, spec);
  EXPECT_EQ(to_json(*again), document);
}

TEST_P(RoundTrip, TheMinimumVersionIsTheOldestThatIsAccepted) {
  Spec spec = RandomSpec(static_cast<std::uint64_t>(GetParam())).make();
  const std::string minimum = minimum_version(spec);
  bool accepted = false;
  for (const char* version :
       {"0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0"}) {
    accepted = accepted || version == minimum;
    spec.cdi_version = version;
    EXPECT_EQ(validate(spec).has_value(), accepted) << version << ", minimum " << minimum;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RoundTrip, ::testing::Range(1, 101));

} // namespace
} // namespace berth::cdi
