#include "berth/node/startup_taint.h"

#include <memory>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/model/pod.h"
#include "berth/testing/machine_fixture.h"

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const model::Taint kTaint{.key = std::string(kStartupTaintKey),
                          .value = std::string(kStartupTaintValue),
                          .effect = std::string(kStartupTaintEffect)};

api::json::value parsed(std::string_view text) {
  return api::parse_json(text).value();
}

TEST(StartupTaint, IsToleratedByWhoBringsTheGpusAbout) {
  const model::Toleration stock{
      .key = "nvidia.com/gpu", .op = "Exists", .value = "", .effect = "NoSchedule"};
  EXPECT_TRUE(model::tolerates(stock, kTaint));
  const model::Toleration feature_discovery{
      .key = "nvidia.com/gpu", .op = "Equal", .value = "present", .effect = "NoSchedule"};
  EXPECT_TRUE(model::tolerates(feature_discovery, kTaint));
}

TEST(StartupTaint, ComesAndGoesWithItsAnnotation) {
  const std::string before = R"({"metadata":{"uid":"u","resourceVersion":"7"},"spec":{"taints":[)"
                             R"({"key":"team","effect":"NoSchedule"}]}})";
  api::json::value node = parsed(before);
  EXPECT_FALSE(without_startup_taint(node));
  add_startup_taint(node);
  EXPECT_EQ(api::to_json(*api::find_path(node, "spec.taints")),
            R"([{"key":"team","effect":"NoSchedule"},)"
            R"({"key":"nvidia.com/gpu","value":"present","effect":"NoSchedule"}])");
  const auto patch = without_startup_taint(node);
  ASSERT_TRUE(patch);
  EXPECT_EQ(api::to_json(*patch), R"({"metadata":{"uid":"u","resourceVersion":"7",)"
                                  R"("annotations":{"berth.dev/startup-taint":null}},)"
                                  R"("spec":{"taints":[{"key":"team","effect":"NoSchedule"}]}})");
}

TEST(StartupTaint, ThatIsMeantToLastIsEnoughAndStays) {
  const std::string before = R"({"metadata":{"name":"n"},"spec":{"taints":[)"
                             R"({"key":"nvidia.com/gpu","value":"true","effect":"NoSchedule"}]}})";
  api::json::value node = parsed(before);
  add_startup_taint(node);
  EXPECT_EQ(api::to_json(node), before);
  EXPECT_FALSE(without_startup_taint(node));
}

/// A machine whose plugin comes when it is told to.
class StartupTaints : public ::testing::Test, protected test::MachineWorld {
 protected:
  StartupTaints() {
    set_log_level(LogLevel::Off);
    machine->power_off();
    plane.remove(client::kNodes, {"", "n1"});
  }
  ~StartupTaints() override { set_log_level(LogLevel::Warn); }

  void boot(StartupTaint taint, std::vector<model::Taint> taints = {}) {
    machine.reset();
    machine = std::make_unique<SimulatedMachine>(
        plane.loop, line,
        MachineOptions{.name = "n1",
                       .platform = hardware::Catalogue::builtin().find("dgx-h100"),
                       .taints = std::move(taints),
                       .startup_taint = taint});
    machine->power_on();
    machine->crash_plugin();
    run(Duration::seconds(30));
  }
  /// "key=value:effect" of the Node's.
  std::vector<std::string> taints() const {
    std::vector<std::string> texts;
    const api::json::value* list = api::find_path(node().json(), "spec.taints");
    for (const auto& each : list ? list->get_array() : api::json::array()) {
      texts.push_back(fmt::format("{}={}:{}", api::string_at(each, "key"),
                                  api::string_at(each, "value"), api::string_at(each, "effect")));
    }
    return texts;
  }
};

constexpr const char* kStarting = "nvidia.com/gpu=present:NoSchedule";

TEST_F(StartupTaints, StayUntilAPluginGivesGpus) {
  boot(StartupTaint::UntilGpus);
  EXPECT_THAT(taints(), ElementsAre(kStarting));
  run(Duration::hours(1));
  EXPECT_THAT(taints(), ElementsAre(kStarting)) << "however long it takes";
  machine->start_plugin();
  run(Duration::seconds(1));
  EXPECT_EQ(allocatable("nvidia.com/gpu"), "8");
  EXPECT_THAT(taints(), IsEmpty());
  machine->crash_plugin();
  run(Duration::minutes(10));
  EXPECT_THAT(taints(), IsEmpty()) << "only once";
}

TEST_F(StartupTaints, AreTakenAwayByTheNextAgent) {
  boot(StartupTaint::UntilGpus);
  machine->crash_agent();
  machine->start_agent();
  run(Duration::minutes(1));
  EXPECT_THAT(taints(), ElementsAre(kStarting));
  machine->start_plugin();
  run(Duration::seconds(10));
  EXPECT_THAT(taints(), IsEmpty());
}

TEST_F(StartupTaints, AreNotTakenForThoseThatLast) {
  boot(StartupTaint::UntilGpus,
       {{.key = "nvidia.com/gpu", .value = "present", .effect = "NoSchedule"}});
  EXPECT_THAT(taints(), ElementsAre(kStarting));
  machine->start_plugin();
  run(Duration::minutes(1));
  EXPECT_THAT(taints(), ElementsAre(kStarting));
}

TEST_F(StartupTaints, LeaveOthersWhereTheyAre) {
  boot(StartupTaint::UntilGpus, {{.key = "team", .value = "a", .effect = "NoSchedule"}});
  EXPECT_THAT(taints(), ElementsAre("team=a:NoSchedule", kStarting));
  machine->start_plugin();
  run(Duration::seconds(1));
  EXPECT_THAT(taints(), ElementsAre("team=a:NoSchedule"));
}

TEST_F(StartupTaints, AreNotOfOneThatHasItsGpusWhenItIsRegistered) {
  boot(StartupTaint::UntilGpus);
  machine.reset();
  plane.remove(client::kNodes, {"", "n1"});
  machine = std::make_unique<SimulatedMachine>(
      plane.loop, line,
      MachineOptions{.name = "n1",
                     .platform = hardware::Catalogue::builtin().find("dgx-h100"),
                     .startup_taint = StartupTaint::UntilGpus});
  machine->power_on();
  run(Duration::seconds(1));
  EXPECT_EQ(allocatable("nvidia.com/gpu"), "8");
  EXPECT_THAT(taints(), IsEmpty());
}

TEST_F(StartupTaints, AreNotOfOneThatIsToldNotTo) {
  boot(StartupTaint::None);
  EXPECT_THAT(taints(), IsEmpty());
}

TEST_F(StartupTaints, AreNotOfAMachineWithoutGpus) {
  machine = std::make_unique<SimulatedMachine>(
      plane.loop, line, MachineOptions{.name = "n1", .startup_taint = StartupTaint::UntilGpus});
  machine->power_on();
  run(Duration::seconds(30));
  EXPECT_TRUE(node());
  EXPECT_THAT(taints(), IsEmpty());
}

} // namespace
} // namespace berth::node
