// Faults of a running cluster: made, seen, healed.
#include <gmock/gmock.h>

#include "berth/cli/up/virtual_up_fixture.h"

namespace berth::cli::test {
namespace {

using testing::HasSubstr;

constexpr const char* kFaults = "/apis/simulation.berth.dev/v1alpha1/faults";
constexpr const char* kNode = "/api/v1/nodes/dgx-h100-1";

class Faults : public VirtualUp {
 protected:
  net::HttpResponse make(const std::string& name, const std::string& spec) {
    const auto made =
        ask("POST", kFaults,
            fmt::format(R"({{"apiVersion":"simulation.berth.dev/v1alpha1","kind":"Fault",)"
                        R"("metadata":{{"name":"{}"}},"spec":{}}})",
                        name, spec));
    run(Duration::seconds(1));
    return made;
  }
  void heal(const std::string& name) {
    EXPECT_EQ(ask("DELETE", fmt::format("{}/{}", kFaults, name)).status, 200);
    run(Duration::seconds(1));
  }
  std::string at(const std::string& target, std::string_view path) {
    return std::string(api::string_at(get(target), path));
  }
  std::string message(const std::string& name) {
    return at(fmt::format("{}/{}", kFaults, name), "status.message");
  }
  /// Whether the node's object says so.
  std::string gpus() {
    const auto node = get(kNode);
    return std::string(
        api::find_path(node, "status.allocatable")->as_object().at("nvidia.com/gpu").as_string());
  }
  std::string ready() {
    const auto node = get(kNode);
    for (const auto& condition : api::find_path(node, "status.conditions")->as_array()) {
      if (api::string_at(condition, "type") == "Ready") {
        return std::string(api::string_at(condition, "status"));
      }
    }
    return "";
  }
  std::string events() { return ask("GET", "/api/v1/namespaces/default/events").body; }
};

TEST_F(Faults, AGpuThatFailsIsNoLongerAllocatable) {
  EXPECT_EQ(gpus(), "8");
  EXPECT_EQ(make("f", R"({"node":"dgx-h100-1","type":"GpuXid","gpu":3})").status, 201);
  EXPECT_EQ(gpus(), "7");
  EXPECT_EQ(at(kFaults + std::string("/f"), "status.phase"), "Active");
  EXPECT_THAT(message("f"), HasSubstr("is unhealthy: Xid 79 (GPU has fallen off the bus)"));
  EXPECT_THAT(events(), HasSubstr("FaultInjected"));
  EXPECT_THAT(events(), HasSubstr("GpuUnhealthy"));
  heal("f");
  EXPECT_EQ(gpus(), "8");
  EXPECT_THAT(events(), HasSubstr("FaultHealed"));
  EXPECT_THAT(events(), HasSubstr("GpuHealthy"));
}

TEST_F(Faults, TwoFaultsOfAGpuAreHealedWithTheSecond) {
  make("a", R"({"node":"dgx-h100-1","type":"GpuXid","gpu":3,"xid":48})");
  make("b", R"({"node":"dgx-h100-1","type":"GpuLost","gpu":3})");
  heal("a");
  EXPECT_EQ(gpus(), "7");
  heal("b");
  EXPECT_EQ(gpus(), "8");
}

TEST_F(Faults, AnApplicationsErrorHurtsNoGpu) {
  make("f", R"({"node":"dgx-h100-1","type":"GpuXid","gpu":0,"xid":31})");
  EXPECT_EQ(gpus(), "8");
  EXPECT_THAT(message("f"), HasSubstr("stays healthy: Xid 31"));
}

TEST_F(Faults, ANodeGoesDownAndComesBack) {
  make("gpu", R"({"node":"dgx-h100-1","type":"GpuXid","gpu":3})");
  make("down", R"({"node":"dgx-h100-1","type":"NodeDown"})");
  run(Duration::minutes(2));
  EXPECT_EQ(ready(), "Unknown");
  EXPECT_EQ(ask("GET", kFaults + std::string("/gpu")).status, 404) << "a boot resets GPUs";
  heal("down");
  run(Duration::seconds(30));
  EXPECT_EQ(ready(), "True");
  EXPECT_EQ(gpus(), "8");
}

TEST_F(Faults, ARebootPasses) {
  make("r", R"({"node":"dgx-h100-1","type":"NodeReboot"})");
  EXPECT_FALSE(cluster.fleet().find("dgx-h100-1")->powered());
  run(Duration::minutes(1));
  EXPECT_TRUE(cluster.fleet().find("dgx-h100-1")->powered());
  EXPECT_EQ(ask("GET", kFaults + std::string("/r")).status, 404);
  make("p", R"({"node":"dgx-h100-1","type":"PluginCrash"})");
  make("a", R"({"node":"dgx-h100-1","type":"AgentCrash"})");
  run(Duration::minutes(1));
  EXPECT_EQ(api::find(get(kFaults), "items")->as_array().size(), 0U);
  EXPECT_EQ(gpus(), "8");
}

TEST_F(Faults, WhatCannotBreakIsRefusedWithWhatThereIs) {
  make("n", R"({"node":"dgx","type":"NodeDown"})");
  EXPECT_EQ(message("n"), "there is no simulated node dgx; there are: dgx-h100-1, dgx-h100-2");
  make("g", R"({"node":"dgx-h100-1","type":"GpuLost","gpu":8})");
  EXPECT_EQ(message("g"), "node dgx-h100-1 has no GPU 8; it has 0 to 7");
  make("i", R"({"node":"dgx-h100-1","type":"GpuLost"})");
  EXPECT_EQ(message("i"), "spec.gpu: the index of a GPU is missing");
  EXPECT_EQ(make("x", R"({"node":"dgx-h100-1","type":"Fire"})").status, 422);
  EXPECT_EQ(make("y", R"({"node":"dgx-h100-1","type":"GpuXid","gpu":99})").status, 422);
}

TEST_F(Faults, DefiningTwiceIsOnce) {
  EXPECT_TRUE(cluster::define_faults(cluster.registry(), loop.now()).has_value());
  EXPECT_EQ(ask("GET", kFaults).status, 200);
}

} // namespace
} // namespace berth::cli::test
