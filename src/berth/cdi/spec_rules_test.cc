// The rules of spec_rules.cc, one case each.
#include <functional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "berth/cdi/spec.h"

namespace berth::cdi {
namespace {

Spec valid() {
  return {.cdi_version = "1.1.0",
          .kind = "vendor.com/class",
          .devices = {{.name = "d", .edits = {.env = {"A=1"}}}}};
}

struct Broken {
  const char* name;
  std::function<void(Spec&)> change;
  const char* want;
};

class Rules : public ::testing::TestWithParam<Broken> {};

TEST_P(Rules, ABrokenOneIsNamed) {
  ASSERT_TRUE(validate(valid()));
  Spec spec = valid();
  GetParam().change(spec);
  const auto verdict = validate(spec);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, Code::Invalid);
  EXPECT_EQ(to_string(verdict.error()), GetParam().want);
}

ContainerEdits& edits(Spec& spec) {
  return spec.devices[0].edits;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Rules,
    ::testing::Values(
        Broken{"NoVersion", [](Spec& s) { s.cdi_version = ""; },
               "cdiVersion: unknown CDI version \"\""},
        Broken{"UnknownVersion", [](Spec& s) { s.cdi_version = "0.9.0"; },
               "cdiVersion: unknown CDI version \"0.9.0\""},
        Broken{"KindWithoutClass", [](Spec& s) { s.kind = "vendor.com"; },
               "kind: invalid kind, want vendor/class: \"vendor.com\""},
        Broken{"EmptyClass", [](Spec& s) { s.kind = "vendor.com/"; },
               "kind: invalid kind, want vendor/class: \"vendor.com/\""},
        Broken{"EmptyVendor", [](Spec& s) { s.kind = "/gpu"; },
               "kind: invalid kind, want vendor/class: \"/gpu\""},
        Broken{"VendorBeginsWithDigit", [](Spec& s) { s.kind = "3com/gpu"; },
               "kind: invalid kind, want vendor/class: \"3com/gpu\""},
        Broken{"ClassEndsWithDot", [](Spec& s) { s.kind = "vendor.com/gpu."; },
               "kind: invalid kind, want vendor/class: \"vendor.com/gpu.\""},
        Broken{"SecondSlash", [](Spec& s) { s.kind = "vendor.com/gpu/x"; },
               "kind: invalid kind, want vendor/class: \"vendor.com/gpu/x\""},
        Broken{"NoDevices", [](Spec& s) { s.devices.clear(); },
               "devices: invalid spec, no devices"},
        Broken{"DeviceWithoutName", [](Spec& s) { s.devices[0].name = ""; },
               "devices[0].name: invalid device name \"\""},
        Broken{"DeviceNameBeginsWithDash", [](Spec& s) { s.devices[0].name = "-a"; },
               "devices[0].name: invalid device name \"-a\""},
        Broken{"DeviceNameEndsWithColon", [](Spec& s) { s.devices[0].name = "0:"; },
               "devices[0].name: invalid device name \"0:\""},
        Broken{"DeviceNameWithSlash", [](Spec& s) { s.devices[0].name = "a/b"; },
               "devices[0].name: invalid device name \"a/b\""},
        Broken{"TwoOfOneName", [](Spec& s) { s.devices.push_back(s.devices[0]); },
               "devices[1].name: invalid spec, multiple device \"d\""},
        Broken{"NoEdits", [](Spec& s) { edits(s) = {}; },
               "devices[0].containerEdits: invalid device, empty device edits: \"d\""},
        Broken{"EnvWithoutName",
               [](Spec& s) {
                 edits(s).env = {"A=1", "=2"};
               },
               "devices[0].containerEdits.env[1]: invalid environment variable, want "
               "NAME=value: \"=2\""},
        Broken{"EnvWithoutValue", [](Spec& s) { s.edits.env = {"A"}; },
               "containerEdits.env[0]: invalid environment variable, want NAME=value: \"A\""},
        Broken{"NodeWithoutPath", [](Spec& s) { edits(s).device_nodes = {{.type = "c"}}; },
               "devices[0].containerEdits.deviceNodes[0].path: invalid (empty) device path"},
        Broken{"NodeType", [](Spec& s) { edits(s).device_nodes = {{.path = "/d", .type = "x"}}; },
               "devices[0].containerEdits.deviceNodes[0].type: invalid device type, want b, c, u "
               "or p: \"x\""},
        Broken{"NodeTypes", [](Spec& s) { edits(s).device_nodes = {{.path = "/d", .type = "cu"}}; },
               "devices[0].containerEdits.deviceNodes[0].type: invalid device type, want b, c, u "
               "or p: \"cu\""},
        Broken{"Permissions",
               [](Spec& s) { edits(s).device_nodes = {{.path = "/d", .permissions = "rwx"}}; },
               "devices[0].containerEdits.deviceNodes[0].permissions: invalid permissions, want "
               "letters of rwm, or none: \"rwx\""},
        Broken{"NetDevice",
               [](Spec& s) { edits(s).net_devices = {{.host_interface_name = "eth0"}}; },
               "devices[0].containerEdits.netDevices[0]: invalid network device, "
               "hostInterfaceName and name must be set"},
        Broken{"TwoNetDevicesOfOneName",
               [](Spec& s) {
                 edits(s).net_devices = {{"eth0", "net"}, {"eth1", "net"}};
               },
               "devices[0].containerEdits.netDevices[1]: invalid, duplicate network device "
               "\"net\""},
        Broken{"HookName", [](Spec& s) { edits(s).hooks = {{.hook_name = "start", .path = "/h"}}; },
               "devices[0].containerEdits.hooks[0].hookName: invalid hook name \"start\""},
        Broken{"HookWithoutPath", [](Spec& s) { edits(s).hooks = {{.hook_name = "prestart"}}; },
               "devices[0].containerEdits.hooks[0].path: invalid hook \"prestart\" with empty "
               "path"},
        Broken{"HookEnv",
               [](Spec& s) {
                 edits(s).hooks = {{.hook_name = "prestart", .path = "/h", .env = {"x"}}};
               },
               "devices[0].containerEdits.hooks[0].env[0]: invalid environment variable, want "
               "NAME=value: \"x\""},
        Broken{"MountWithoutSource", [](Spec& s) { edits(s).mounts = {{.container_path = "/c"}}; },
               "devices[0].containerEdits.mounts[0].hostPath: invalid mount, empty host path"},
        Broken{"MountWithoutTarget", [](Spec& s) { edits(s).mounts = {{.host_path = "/h"}}; },
               "devices[0].containerEdits.mounts[0].containerPath: invalid mount, empty container "
               "path"},
        Broken{"ClosId", [](Spec& s) { edits(s).intel_rdt = IntelRdt{.clos_id = ".."}; },
               "devices[0].containerEdits.intelRdt.closID: invalid closID \"..\""},
        Broken{"ClosIdWithSlash", [](Spec& s) { edits(s).intel_rdt = IntelRdt{.clos_id = "a/b"}; },
               "devices[0].containerEdits.intelRdt.closID: invalid closID \"a/b\""}),
    [](const auto& test) { return test.param.name; });

struct Feature {
  const char* name;
  std::function<void(Spec&)> change;
  const char* minimum;
};

class Minimum : public ::testing::TestWithParam<Feature> {};

TEST_P(Minimum, AnOlderDeclarationIsRefused) {
  Spec spec = valid();
  GetParam().change(spec);
  EXPECT_EQ(minimum_version(spec), GetParam().minimum);
  spec.cdi_version = GetParam().minimum;
  EXPECT_TRUE(validate(spec)) << to_string(validate(spec).error());
  spec.cdi_version = "0.2.0";
  const auto verdict = validate(spec);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(to_string(verdict.error()),
            std::string("cdiVersion: the spec version must be at least ") + GetParam().minimum +
                ", is 0.2.0");
}

INSTANTIATE_TEST_SUITE_P(
    Features, Minimum,
    ::testing::Values(
        Feature{"Base", [](Spec&) {}, "0.3.0"},
        Feature{"MountType",
                [](Spec& s) {
                  edits(s).mounts = {{.host_path = "/a", .container_path = "/b", .type = "bind"}};
                },
                "0.4.0"},
        Feature{"HostPath",
                [](Spec& s) { s.edits.device_nodes = {{.path = "/a", .host_path = "/b"}}; },
                "0.5.0"},
        Feature{"DeviceNameBeginsWithDigit", [](Spec& s) { s.devices[0].name = "0"; }, "0.5.0"},
        Feature{"Annotations", [](Spec& s) { s.annotations["a"] = "b"; }, "0.6.0"},
        Feature{"DeviceAnnotations", [](Spec& s) { s.devices[0].annotations["a"] = "b"; }, "0.6.0"},
        Feature{"DotInClass", [](Spec& s) { s.kind = "vendor/a.b"; }, "0.6.0"},
        Feature{"DotInVendor", [](Spec& s) { s.kind = "a.b/class"; }, "0.3.0"},
        Feature{"IntelRdt", [](Spec& s) { edits(s).intel_rdt = IntelRdt{.clos_id = "c"}; },
                "0.7.0"},
        Feature{"Gids", [](Spec& s) { edits(s).additional_gids = {5}; }, "0.7.0"},
        Feature{"NetDevices",
                [](Spec& s) {
                  edits(s).net_devices = {{"eth0", "n"}};
                },
                "1.1.0"},
        Feature{"Schemata", [](Spec& s) { edits(s).intel_rdt = IntelRdt{.schemata = {"x"}}; },
                "1.1.0"},
        Feature{"Monitoring",
                [](Spec& s) { edits(s).intel_rdt = IntelRdt{.enable_monitoring = true}; },
                "1.1.0"}),
    [](const auto& test) { return test.param.name; });

TEST(QualifiedNames, AreSplitAtTheFirstEqualsSign) {
  const auto name = parse_qualified_name("nvidia.com/gpu=GPU-1:2");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->kind, "nvidia.com/gpu");
  EXPECT_EQ(name->device, "GPU-1:2");
  EXPECT_EQ(qualified_name(name->kind, name->device), "nvidia.com/gpu=GPU-1:2");
}

class BadNames : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(BadNames, SayWhatIsWrong) {
  const auto name = parse_qualified_name(GetParam().first);
  ASSERT_FALSE(name);
  EXPECT_EQ(name.error().code, Code::Invalid);
  EXPECT_EQ(name.error().message, GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(
    Names, BadNames,
    ::testing::Values(
        std::pair{"gpu0", "unqualified device, want vendor/class=device: \"gpu0\""},
        std::pair{"", "unqualified device, want vendor/class=device: \"\""},
        std::pair{"nvidia.com=0", "invalid vendor or class in device \"nvidia.com=0\""},
        std::pair{"/gpu=0", "invalid vendor or class in device \"/gpu=0\""},
        std::pair{"nvidia.com/-=0", "invalid vendor or class in device \"nvidia.com/-=0\""},
        std::pair{"nvidia.com/gpu=", "invalid device name in \"nvidia.com/gpu=\""},
        std::pair{"nvidia.com/gpu=a=b", "invalid device name in \"nvidia.com/gpu=a=b\""},
        std::pair{"nvidia.com/gpu=a b", "invalid device name in \"nvidia.com/gpu=a b\""}));

} // namespace
} // namespace berth::cdi
