#include "berth/cdi/apply.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cdi {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

json::object oci(std::string_view text) {
  auto parsed = api::parse_json(text);
  EXPECT_TRUE(parsed) << text;
  return parsed->as_object();
}

Result<DeviceNumber> stat(const std::string& path) {
  if (path == "/dev/gpu" || path == "/host/gpu") {
    return DeviceNumber{"c", 195, path == "/dev/gpu" ? 7 : 8};
  }
  if (path == "/dev/disk") {
    return DeviceNumber{"b", 8, 0};
  }
  return fail(Code::NotFound, "no such file or directory");
}

struct Case {
  const char* name;
  ContainerEdits edits;
  const char* given;
  const char* want;
};

class Edits : public ::testing::TestWithParam<Case> {};

TEST_P(Edits, AreApplied) {
  json::object document = oci(GetParam().given);
  const auto applied = apply_edits(GetParam().edits, document, stat);
  ASSERT_TRUE(applied) << to_string(applied.error());
  EXPECT_EQ(json::value(document), json::value(oci(GetParam().want)))
      << api::to_json(json::value(document));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Edits,
    ::testing::Values(
        Case{"NothingChangesNothing", {}, "{}", "{}"},
        Case{"EnvReplacesByNameAndAppends",
             {.env = {"B=new", "C=3", "C=4"}},
             R"({"process": {"env": ["A=1", "B=old", "BB=2"]}})",
             R"({"process": {"env": ["A=1", "B=new", "BB=2", "C=4"]}})"},
        Case{"ANodeIsCompletedFromTheHost",
             {.device_nodes = {{.path = "/dev/gpu"}}},
             "{}",
             R"({"linux": {"devices": [{"path": "/dev/gpu", "type": "c", "major": 195, "minor": 7}],
                 "resources": {"devices": [{"allow": true, "type": "c", "major": 195, "minor": 7,
                                            "access": "rwm"}]}}})"},
        Case{"ItsHostPathIsAskedWhereItHasOne",
             {.device_nodes = {{.path = "/dev/gpu", .host_path = "/host/gpu", .permissions = "r"}}},
             "{}",
             R"({"linux": {"devices": [{"path": "/dev/gpu", "type": "c", "major": 195, "minor": 8}],
                 "resources": {"devices": [{"allow": true, "type": "c", "major": 195, "minor": 8,
                                            "access": "r"}]}}})"},
        Case{"ACompleteNodeIsNotAsked",
             {.device_nodes = {{.path = "/dev/none",
                                .type = "c",
                                .major = 1,
                                .minor = 2,
                                .file_mode = 384,
                                .permissions = "none",
                                .uid = 0,
                                .gid = 5}}},
             "{}",
             R"({"linux": {"devices": [{"path": "/dev/none", "type": "c", "major": 1, "minor": 2,
                                        "fileMode": 384, "uid": 0, "gid": 5}]}})"},
        Case{"OwnersComeFromAProcessThatIsNotRoot",
             {.device_nodes = {{.path = "/dev/x",
                                .type = "c",
                                .major = 1,
                                .minor = 2,
                                .permissions = "none",
                                .gid = 9}}},
             R"({"process": {"user": {"uid": 1000, "gid": 1000}}})",
             R"({"process": {"user": {"uid": 1000, "gid": 1000}},
                 "linux": {"devices": [{"path": "/dev/x", "type": "c", "major": 1, "minor": 2,
                                        "uid": 1000, "gid": 9}]}})"},
        Case{"AFifoHasNoNumbersAndNoRule",
             {.device_nodes = {{.path = "/run/fifo", .type = "p"}}},
             "{}",
             R"({"linux": {"devices": [{"path": "/run/fifo", "type": "p", "major": 0,
                                        "minor": 0}]}})"},
        Case{"ANodeReplacesOneOfItsPath",
             {.device_nodes =
                  {{.path = "/dev/a", .type = "b", .major = 8, .minor = 1, .permissions = "none"}}},
             R"({"linux": {"devices": [{"path": "/dev/a", "type": "c"}, {"path": "/dev/b"}]}})",
             R"({"linux": {"devices": [{"path": "/dev/b"}, {"path": "/dev/a", "type": "b",
                                        "major": 8, "minor": 1}]}})"},
        Case{"MountsReplaceAndAreSortedByDepth",
             {.mounts = {{.host_path = "/h/deep", .container_path = "/a/b/c", .options = {"ro"}},
                         {.host_path = "/h/a", .container_path = "/a", .type = "bind"},
                         {.host_path = "/h/root", .container_path = "/"}}},
             R"({"mounts": [{"destination": "/proc", "type": "proc"}, {"destination": "/a/b/"},
                            {"destination": "/a", "source": "/old"}]})",
             R"({"mounts": [
                 {"destination": "/", "source": "/h/root"},
                 {"destination": "/proc", "type": "proc"},
                 {"destination": "/a", "type": "bind", "source": "/h/a"},
                 {"destination": "/a/b/"},
                 {"destination": "/a/b/c", "source": "/h/deep", "options": ["ro"]}]})"},
        Case{"HooksAreAppended",
             {.hooks = {{.hook_name = "prestart",
                         .path = "/one",
                         .args = {"a"},
                         .env = {"E=1"},
                         .timeout = 3},
                        {.hook_name = "poststop", .path = "/two"}}},
             R"({"hooks": {"prestart": [{"path": "/zero"}]}})",
             R"({"hooks": {"prestart": [{"path": "/zero"},
                                        {"path": "/one", "args": ["a"], "env": ["E=1"],
                                         "timeout": 3}],
                           "poststop": [{"path": "/two"}]}})"},
        Case{"NetDevicesByInterface",
             {.net_devices = {{"eth1", "net0"}}},
             R"({"linux": {"netDevices": {"eth0": {"name": "a"}}}})",
             R"({"linux": {"netDevices": {"eth0": {"name": "a"}, "eth1": {"name": "net0"}}}})"},
        Case{"IntelRdtIsReplacedWhole",
             {.intel_rdt = IntelRdt{.clos_id = "new", .enable_cmt = true}},
             R"({"linux": {"intelRdt": {"closID": "old", "memBwSchema": "mb"}}})",
             R"({"linux": {"intelRdt": {"closID": "new", "enableCMT": true}}})"},
        Case{"GidsOnceAndNeverRoots",
             {.additional_gids = {0, 44, 109, 44}},
             R"({"process": {"user": {"additionalGids": [109]}}})",
             R"({"process": {"user": {"additionalGids": [109, 44]}}})"}),
    [](const auto& test) { return test.param.name; });

struct Refusal {
  const char* name;
  DeviceNode node;
  const char* want;
};

class Refusals : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refusals, SayWhy) {
  json::object document;
  const auto applied = apply_edits({.device_nodes = {GetParam().node}}, document, stat);
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().message, GetParam().want);
  const auto checked = check_edits({.device_nodes = {GetParam().node}}, stat);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Refusals,
    ::testing::Values(
        Refusal{"NoSuchFile",
                {.path = "/dev/gone"},
                "failed to stat CDI host device \"/dev/gone\": no such file or directory"},
        Refusal{"AnotherType",
                {.path = "/dev/disk", .type = "c"},
                "CDI device (\"/dev/disk\", \"/dev/disk\"), host type mismatch (c, b)"}),
    [](const auto& test) { return test.param.name; });

// Each part of a document that edits go into, as something that they cannot be added to.
class WrongParts : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(WrongParts, AreRefusedAsTheyAre) {
  const auto& [given, want] = GetParam();
  json::object document = oci(given);
  const auto applied = apply_edits({.env = {"A=1"}}, document, stat);
  ASSERT_FALSE(applied) << given;
  EXPECT_EQ(to_string(applied.error()), want);
  EXPECT_EQ(json::value(document), json::value(oci(given)));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, WrongParts,
    ::testing::Values(
        std::pair(R"({"process": "x"})", "process: want an object, got a string"),
        std::pair(R"({"process": {"env": {}}})", "process.env: want a list, got an object"),
        std::pair(R"({"process": {"user": []}})", "process.user: want an object, got a list"),
        std::pair(R"({"process": {"user": {"additionalGids": 5}}})",
                  "process.user.additionalGids: want a list, got a number"),
        std::pair(R"({"mounts": {"a": 1}})", "mounts: want a list, got an object"),
        std::pair(R"({"hooks": true})", "hooks: want an object, got a boolean"),
        std::pair(R"({"hooks": {"poststop": {}}})", "hooks.poststop: want a list, got an object"),
        std::pair(R"({"linux": 5})", "linux: want an object, got a number"),
        std::pair(R"({"linux": {"devices": ""}})", "linux.devices: want a list, got a string"),
        std::pair(R"({"linux": {"netDevices": []}})",
                  "linux.netDevices: want an object, got a list"),
        std::pair(R"({"linux": {"resources": "x"}})",
                  "linux.resources: want an object, got a string"),
        std::pair(R"({"linux": {"resources": {"devices": {}}}})",
                  "linux.resources.devices: want a list, got an object")));

TEST(ApplyEdits, NullIsAsGoodAsAbsent) {
  json::object document = oci(R"({"process": {"env": null}, "linux": null, "mounts": null})");
  ASSERT_TRUE(apply_edits({.env = {"A=1"}}, document, stat));
  EXPECT_EQ(api::to_json(document.at("process")), R"({"env":["A=1"]})");
}

TEST(ApplyEdits, WithoutDeviceFilesANodeMustBeComplete) {
  json::object document;
  const auto applied =
      apply_edits({.device_nodes = {{.path = "/dev/gpu", .type = "c"}}}, document, {});
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().message,
            "failed to stat CDI host device \"/dev/gpu\": no device files here");
}

// Two devices of one spec and one of another.
class ApplyDevices : public ::testing::Test {
 protected:
  ApplyDevices() {
    EXPECT_TRUE(registry_.put(
        "gpus", Registry::kDynamic,
        {.cdi_version = "1.0.0",
         .kind = "vendor.com/gpu",
         .devices = {{.name = "0", .edits = {.env = {"LAST=0"}, .hooks = {hook("zero")}}},
                     {.name = "1", .edits = {.env = {"LAST=1"}, .hooks = {hook("one")}}},
                     {.name = "bad", .edits = {.device_nodes = {{.path = "/dev/gone"}}}}},
         .edits = {.env = {"LAST=spec"}, .hooks = {hook("gpus")}}}));
    EXPECT_TRUE(registry_.put("nics", Registry::kDynamic,
                              {.cdi_version = "1.0.0",
                               .kind = "vendor.com/nic",
                               .devices = {{.name = "a", .edits = {.hooks = {hook("nic")}}}},
                               .edits = {.hooks = {hook("nics")}}}));
  }
  static Hook hook(std::string path) {
    return {.hook_name = "createContainer", .path = std::move(path)};
  }
  /// What a check says beforehand is what comes.
  Result<void> apply(const std::vector<std::string>& names) {
    const auto checked = check_devices(registry_, names, stat);
    auto applied = apply_devices(registry_, names, document_, stat);
    EXPECT_EQ(checked ? "" : checked.error().message, applied ? "" : applied.error().message);
    return applied;
  }
  std::vector<std::string> hooks() const {
    std::vector<std::string> paths;
    const json::value document(document_);
    const json::value* list = api::find_path(document, "hooks.createContainer");
    for (const json::value& each : list ? list->get_array() : json::array()) {
      paths.emplace_back(api::string_at(each, "path"));
    }
    return paths;
  }

  Registry registry_;
  json::object document_;
};

TEST_F(ApplyDevices, ASpecsEditsComeOnceBeforeItsFirstDevice) {
  ASSERT_TRUE(apply({"vendor.com/gpu=1", "vendor.com/nic=a", "vendor.com/gpu=0"}));
  EXPECT_THAT(hooks(), ElementsAre("gpus", "one", "nics", "nic", "zero"));
  EXPECT_EQ(api::to_json(document_.at("process").at("env")), "[\"LAST=0\"]");
}

TEST_F(ApplyDevices, NoDeviceNoEdits) {
  ASSERT_TRUE(apply({}));
  EXPECT_TRUE(document_.empty());
}

TEST_F(ApplyDevices, EveryUnresolvableNameIsTold) {
  document_["kept"] = true;
  const auto applied =
      apply({"vendor.com/gpu=0", "vendor.com/gpu=9", "vendor.com/nic=a", "nonsense"});
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, Code::Invalid);
  EXPECT_EQ(applied.error().message, "unresolvable CDI devices vendor.com/gpu=9, nonsense");
  EXPECT_EQ(api::to_json(json::value(document_)), "{\"kept\":true}");
}

TEST_F(ApplyDevices, AFailureHalfWayLeavesNothing) {
  const auto applied = apply({"vendor.com/gpu=0", "vendor.com/gpu=bad"});
  ASSERT_FALSE(applied);
  EXPECT_TRUE(document_.empty());
}

// What is identified by a name or a path is there once, however often it is applied.
TEST(ApplyEdits, TwiceIsOnceForWhatHasAName) {
  const ContainerEdits edits{.env = {"A=1"},
                             .device_nodes = {{.path = "/dev/gpu", .permissions = "none"}},
                             .net_devices = {{"eth0", "n"}},
                             .mounts = {{.host_path = "/h", .container_path = "/c"}},
                             .intel_rdt = IntelRdt{.clos_id = "c"},
                             .additional_gids = {5}};
  json::object once = oci(R"({"process": {"env": ["X=2"]}, "mounts": [{"destination": "/z"}]})");
  ASSERT_TRUE(apply_edits(edits, once, stat));
  json::object twice = once;
  ASSERT_TRUE(apply_edits(edits, twice, stat));
  EXPECT_EQ(json::value(once), json::value(twice));
}

} // namespace
} // namespace berth::cdi
