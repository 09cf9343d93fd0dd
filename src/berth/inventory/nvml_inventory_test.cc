#include "berth/inventory/nvml_inventory.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/inventory/nvml_abi.h"
#include "berth/testing/nvml_profile.h"
#include "berth/testing/temp_files.h"

namespace berth::inventory {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const hardware::Platform& builtin(std::string_view name) {
  return *hardware::Catalogue::builtin().find(name);
}

/// A loop that takes tasks from any thread and runs them when the test says so.
class Tasks {
 public:
  std::function<void(Task)> post() {
    return [this](Task task) {
      {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
      }
      woke_.notify_all();
    };
  }

  /// Runs what comes until `done`; false if it is not done after `patience` hundredths of a second.
  bool run_until(const std::function<bool()>& done, int patience = 1000) {
    for (int turn = 0; turn < patience && !done(); ++turn) {
      Task task;
      {
        std::unique_lock lock(mutex_);
        woke_.wait_for(lock, std::chrono::milliseconds(10), [this] { return !tasks_.empty(); });
        if (tasks_.empty()) {
          continue;
        }
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
    return done();
  }

 private:
  std::mutex mutex_;
  std::condition_variable woke_;
  std::deque<Task> tasks_;
};

class Nvml : public ::testing::Test {
 protected:
  void serve(std::string_view platform, const std::string& more = "") {
    mock_.load(berth::testing::nvml_profile(builtin(platform), "n1") + more);
  }

  std::unique_ptr<NvmlInventory> open(const char* library = BERTH_NVML_MOCK) {
    auto made = NvmlInventory::open({.libraries = {"/nowhere/libnvidia-ml.so.1", library},
                                     .post = tasks_.post(),
                                     .pci_of = pci_of_,
                                     .wait_ms = 20});
    EXPECT_TRUE(made) << to_string(made.error());
    return made ? *std::move(made) : nullptr;
  }

  std::unique_ptr<Subscription> listen(NvmlInventory& inventory) {
    return inventory.subscribe([this](const HealthEvent& event) {
      const char* const kinds[] = {"xid", "lost", "recovered", "fabric", "mig"};
      heard_.push_back(
          fmt::format("{} {} {}", kinds[static_cast<int>(event.kind)], event.gpu, event.xid));
      instances_.emplace_back(event.gpu_instance, event.compute_instance);
    });
  }

  bool hears(std::size_t events) {
    return tasks_.run_until([&] { return heard_.size() >= events; });
  }

  berth::testing::NvmlMock mock_{BERTH_NVML_MOCK};
  Tasks tasks_;
  nvml::PciOf pci_of_;
  std::vector<std::string> heard_;
  std::vector<std::pair<int, int>> instances_; ///< of what was heard
};

class NvmlPlatforms : public Nvml, public ::testing::WithParamInterface<std::string> {};

TEST_P(NvmlPlatforms, AreFoundAsTheyAre) {
  const hardware::Platform& p = builtin(GetParam());
  serve(GetParam());
  pci_of_ = [&p](const std::string& bus) {
    for (const hardware::Gpu& gpu : p.gpus) {
      if (gpu.pci_bus_id == "0000" + bus) {
        return nvml::PciFacts{.numa = gpu.numa, .pci_class = 0x030200};
      }
    }
    return nvml::PciFacts{};
  };
  const auto inventory = open();
  ASSERT_NE(inventory, nullptr);
  ASSERT_EQ(inventory->gpus().size(), p.gpus.size());
  const NodeFacts simulated = simulated_facts(p, "n1");
  EXPECT_EQ(inventory->facts().driver, simulated.driver);
  EXPECT_EQ(inventory->facts().cuda_major, simulated.cuda_major);
  for (std::size_t i = 0; i < p.gpus.size(); ++i) {
    const GpuFacts& found = inventory->facts().gpus[i];
    const GpuFacts& known = simulated.gpus[i];
    EXPECT_EQ(found.info.uuid, known.info.uuid);
    EXPECT_EQ(found.info.pci_bus_id, known.info.pci_bus_id);
    EXPECT_EQ(found.info.numa, known.info.numa);
    EXPECT_EQ(found.info.minor, known.info.minor);
    EXPECT_EQ(found.info.memory_mib, known.info.memory_mib);
    EXPECT_EQ(found.info.product, known.info.product);
    EXPECT_EQ(found.family, known.family);
    EXPECT_EQ(found.mig_capable, known.mig_capable);
    EXPECT_EQ(found.fabric, known.fabric);
    EXPECT_EQ(found.nvlinks, known.nvlinks);
    EXPECT_TRUE(inventory->probe(static_cast<int>(i)).usable());
  }
  ASSERT_NE(inventory->platform(), nullptr);
  EXPECT_EQ(inventory->platform()->nvlinks, p.nvlinks);
  EXPECT_THAT(inventory->notes(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Catalogue, NvmlPlatforms,
                         ::testing::ValuesIn(hardware::Catalogue::builtin().names()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_F(Nvml, AMachineThatTheCatalogueKnowsIsTheCatalogues) {
  serve("l40s-pcie-8");
  EXPECT_EQ(open()->platform(), &builtin("l40s-pcie-8"));
}

TEST_F(Nvml, AnotherMachineGetsAPlatformOfItsOwn) {
  // A board whose first pair has lost a link at one end.
  serve("hgx-a100-4", "0.link.0=down\n");
  const auto inventory = open();
  ASSERT_NE(inventory->platform(), nullptr);
  EXPECT_EQ(inventory->platform()->name, "this-machine");
  EXPECT_EQ(inventory->platform()->nvlinks[0][1], 3);
  EXPECT_EQ(inventory->platform()->nvlinks[2][3], 4);
  EXPECT_EQ(inventory->platform()->gpus[3].pci_bus_id, builtin("hgx-a100-4").gpus[3].pci_bus_id);
}

TEST_F(Nvml, WithoutADriverThereIsAnAnswerToo) {
  const auto none = NvmlInventory::open({.libraries = {"/nowhere/a.so", "/nowhere/b.so"}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::NotFound);
  EXPECT_THAT(none.error().message, HasSubstr("tried /nowhere/a.so, /nowhere/b.so"));
}

TEST_F(Nvml, ADriverThatDoesNotStartSaysWhy) {
  for (const auto& [code, why] : std::vector<std::pair<int, std::string>>{
           {nvml::kDriverNotLoaded, "the NVIDIA driver is not loaded (9)"},
           {nvml::kVersionMismatch, "of different driver versions"},
           {999, "a mock's error (999)"}}) {
    serve("t4-pcie-1", fmt::format("init={}\n", code));
    const auto refused = NvmlInventory::open({.libraries = {BERTH_NVML_MOCK}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::Unavailable);
    EXPECT_THAT(refused.error().message, HasSubstr(why));
  }
}

TEST_F(Nvml, NoGpuIsNoError) {
  mock_.load("driver=580.95.05\ngpus=0\n");
  const auto inventory = open();
  EXPECT_THAT(inventory->gpus(), IsEmpty());
  EXPECT_EQ(inventory->platform(), nullptr);
}

TEST_F(Nvml, AnOldDriverLacksSomeThingsNotAll) {
  serve("dgx-h100");
  const berth::testing::NvmlMock old(BERTH_NVML_MOCK_OLD);
  old.load(berth::testing::nvml_profile(builtin("dgx-h100"), "n1"));
  const auto inventory = open(BERTH_NVML_MOCK_OLD);
  ASSERT_EQ(inventory->gpus().size(), 8U);
  EXPECT_EQ(inventory->gpus()[7].uuid, hardware::gpu_uuid("n1", 7));
  EXPECT_EQ(inventory->platform(), &builtin("dgx-h100")) << "links without types end at switches";
  EXPECT_THAT(inventory->notes(), Contains(HasSubstr("this driver lacks ")));
  EXPECT_THAT(inventory->notes(), Contains(HasSubstr("nvmlDeviceGetFieldValues")));
  const auto listening = listen(*inventory);
  old.event(3, nvml::kEventXid, 48);
  ASSERT_TRUE(hears(1));
  EXPECT_EQ(inventory->probe(3), (GpuProbe{true, RecoveryAction::GpuReset, 48}))
      << "the Xid decides where the driver does not say";
}

TEST_F(Nvml, AGpuTellsWhatItDoes) {
  serve("dgx-h100",
        "1.busy=77\n1.memory_busy=40\n1.encoder=0\n1.decoder=3\n1.used=1048576\n1.clock.1=1980\n"
        "1.clock.2=2619\n1.celsius=41\n1.field.82=50\n1.milliwatts=350500\n"
        "1.energy=12345678901\n1.replays=2\n1.ecc.0.0=5\n1.ecc.1.0=0\n1.ecc.0.1=9\n1.ecc.1.1=1\n"
        "1.corrected_rows=1\n1.uncorrected_rows=2\n1.row_failure=1\n"
        "1.link.0.errors.0=1\n1.link.1.errors.0=2\n1.link.1.errors.3=7\n"
        "1.reserved=2097152\n1.field.138=8589934592\n1.field.139=100\n1.virtual=0\n"
        "1.processes=2\n1.first_pid=71\n1.processes.gi=4\n");
  const auto inventory = open();
  const GpuReadings read = inventory->readings(1);
  EXPECT_EQ(read.percent, 77);
  EXPECT_EQ(read.memory_copy_percent, 40);
  EXPECT_EQ(read.encoder_percent, 0);
  EXPECT_EQ(read.decoder_percent, 3);
  EXPECT_EQ(read.memory_used_bytes, 1 << 20);
  EXPECT_EQ(read.memory_reserved_bytes, 2 << 20);
  EXPECT_EQ(read.memory_free_bytes, (inventory->gpus()[1].memory_mib << 20) - (3 << 20));
  EXPECT_EQ(read.sm_clock_mhz, 1980);
  EXPECT_EQ(read.memory_clock_mhz, 2619);
  EXPECT_EQ(read.celsius, 41);
  EXPECT_EQ(read.memory_celsius, 50);
  EXPECT_EQ(read.milliwatts, 350'500);
  EXPECT_EQ(read.energy_mj, 12'345'678'901);
  EXPECT_EQ(read.pcie_replays, 2);
  EXPECT_EQ(read.ecc_single_volatile, 5);
  EXPECT_EQ(read.ecc_double_volatile, 0);
  EXPECT_EQ(read.ecc_single_aggregate, 9);
  EXPECT_EQ(read.ecc_double_aggregate, 1);
  EXPECT_EQ(read.corrected_rows, 1);
  EXPECT_EQ(read.uncorrected_rows, 2);
  EXPECT_EQ(read.row_failure, 1);
  EXPECT_EQ(read.nvlink_replays, 3) << "of all links";
  EXPECT_EQ(read.nvlink_data_errors, 7);
  EXPECT_EQ(read.nvlink_recoveries, std::nullopt);
  EXPECT_EQ(read.last_xid, 0);
  EXPECT_EQ(read.nvlink_kib, 8'589'934'692) << "sent and received";
  EXPECT_EQ(read.vgpu_license, 0);
  ASSERT_EQ(read.processes.size(), 2U);
  EXPECT_EQ(read.processes[1].pid, 72U);
  EXPECT_EQ(read.processes[1].memory_mib, 1);
  EXPECT_EQ(read.processes[1].gpu_instance, 4);
}

TEST_F(Nvml, PcieTrafficIsWhatCameOverSinceTheLookBefore) {
  serve("dgx-h100", "now_us=1000000\n1.field.197=5000\n1.field.198=70000\n");
  const auto inventory = open();
  EXPECT_EQ(inventory->readings(1).pcie_sent, std::nullopt) << "the first look";
  mock_.set("now_us", "3000000");
  mock_.set("1.field.197", "9000");
  mock_.set("1.field.198", "70000");
  EXPECT_EQ(inventory->readings(1).pcie_sent, 2000);
  mock_.set("now_us", "3050000");
  mock_.set("1.field.197", "19000");
  EXPECT_EQ(inventory->readings(1).pcie_sent, 2000) << "too soon to tell";
  EXPECT_EQ(inventory->readings(1).pcie_received, 0);
  mock_.set("now_us", "4000000");
  mock_.set("1.field.197", "10");
  EXPECT_EQ(inventory->readings(1).pcie_sent, std::nullopt) << "it began anew";
  EXPECT_EQ(inventory->readings(0).pcie_sent, std::nullopt) << "this one does not count";
}

TEST_F(Nvml, WhatAGpuDoesNotSupportIsNotTold) {
  serve("t4-pcie-1", "0.celsius=30\n");
  const auto inventory = open();
  const GpuReadings read = inventory->readings(0);
  EXPECT_EQ(read.celsius, 30);
  EXPECT_EQ(read.percent, std::nullopt);
  EXPECT_EQ(read.milliwatts, std::nullopt);
  EXPECT_EQ(read.ecc_single_volatile, std::nullopt);
  EXPECT_EQ(read.corrected_rows, std::nullopt);
  EXPECT_EQ(read.nvlink_replays, std::nullopt);
  EXPECT_EQ(read.memory_used_bytes, 0);
  mock_.set("0.lost", "1");
  const GpuReadings lost = inventory->readings(0);
  EXPECT_EQ(lost.celsius, std::nullopt);
  EXPECT_EQ(lost.memory_used_bytes, std::nullopt);
  EXPECT_EQ(inventory->readings(1).celsius, std::nullopt) << "there is no such GPU";
}

TEST_F(Nvml, AnOldDriverTellsLess) {
  const berth::testing::NvmlMock old(BERTH_NVML_MOCK_OLD);
  old.load(berth::testing::nvml_profile(builtin("t4-pcie-1"), "n1") +
           "0.celsius=30\n0.energy=5\n0.corrected_rows=1\n");
  const auto inventory = open(BERTH_NVML_MOCK_OLD);
  const GpuReadings read = inventory->readings(0);
  EXPECT_EQ(read.celsius, 30);
  EXPECT_EQ(read.energy_mj, std::nullopt);
  EXPECT_EQ(read.corrected_rows, std::nullopt);
}

TEST_F(Nvml, AnInstanceTellsItsMemory) {
  serve("dgx-h100", "0.mig=1\n0.mig.2.uuid=MIG-a\n0.mig.2.gi=9\n0.mig.2.gslices=1\n"
                    "0.mig.2.cslices=1\n0.mig.2.memory=9984\n0.mig.2.used=1048576\n");
  const auto inventory = open();
  const GpuReadings read = inventory->readings(0);
  ASSERT_EQ(read.instances.size(), 1U);
  EXPECT_EQ(read.instances[0].uuid, "MIG-a");
  EXPECT_EQ(read.instances[0].gpu_instance, 9);
  EXPECT_EQ(read.instances[0].used_bytes, 1 << 20);
  EXPECT_EQ(read.instances[0].free_bytes, (std::int64_t{9984} << 20) - (1 << 20));
}

TEST_F(Nvml, TheLastXidIsTold) {
  serve("dgx-h100");
  const auto inventory = open();
  const auto listening = listen(*inventory);
  mock_.event(0, nvml::kEventXid, 13);
  ASSERT_TRUE(hears(1));
  EXPECT_TRUE(inventory->probe(0).usable()) << "an application's fault";
  EXPECT_EQ(inventory->readings(0).last_xid, 13);
  EXPECT_EQ(inventory->readings(1).last_xid, 0);
}

TEST_F(Nvml, AGpuThatIsLostAtTheStartKeepsItsPlace) {
  serve("dgx-h100", "2.lost=1\n");
  const auto inventory = open();
  ASSERT_EQ(inventory->gpus().size(), 8U);
  EXPECT_EQ(inventory->gpus()[2].uuid, "GPU-lost-2");
  EXPECT_FALSE(inventory->probe(2).present);
  EXPECT_TRUE(inventory->probe(3).usable());
  EXPECT_THAT(inventory->notes(), Contains(HasSubstr("GPU 2 does not answer")));
}

TEST_F(Nvml, XidsAreToldAndActByTheirClass) {
  serve("dgx-h100");
  const auto inventory = open();
  const auto listening = listen(*inventory);
  mock_.event(0, nvml::kEventXid, 13);
  mock_.event(1, nvml::kEventXid, 79);
  mock_.event(5, nvml::kEventSingleBitEcc, 0);
  mock_.event(4, nvml::kEventDoubleBitEcc, 0);
  mock_.event(4, nvml::kEventXid, 31);
  ASSERT_TRUE(hears(4));
  EXPECT_THAT(heard_, ElementsAre("xid 0 13", "xid 1 79", "xid 4 48", "xid 4 31"));
  EXPECT_TRUE(inventory->probe(0).usable());
  EXPECT_EQ(inventory->probe(1).action, RecoveryAction::NodeReboot);
  EXPECT_EQ(inventory->probe(4).last_xid, 48);
  EXPECT_TRUE(inventory->probe(5).usable());
}

TEST_F(Nvml, AnXidOfNoGpuConcernsEach) {
  serve("hgx-a100-4");
  const auto inventory = open();
  const auto listening = listen(*inventory);
  mock_.event(-1, nvml::kEventXid, 119);
  ASSERT_TRUE(hears(4));
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(inventory->probe(i).usable());
  }
}

TEST_F(Nvml, TheDriversOwnWordOnRecoveryCounts) {
  serve("dgx-h100", "1.field.230=0\n2.field.230=2\n");
  const auto inventory = open();
  EXPECT_EQ(inventory->probe(2).action, RecoveryAction::NodeReboot);
  const auto listening = listen(*inventory);
  mock_.event(1, nvml::kEventXid, 48);
  ASSERT_TRUE(hears(1));
  EXPECT_TRUE(inventory->probe(1).usable()) << "the driver says that nothing need be done";
}

TEST_F(Nvml, LostGpusAndTheirReturnAreTold) {
  serve("dgx-h100");
  const auto inventory = open();
  const auto listening = listen(*inventory);
  mock_.set("6.lost", "1");
  EXPECT_FALSE(inventory->probe(6).present) << "a probe sees it at once";
  mock_.set("wait_lost", "1");
  ASSERT_TRUE(hears(1));
  mock_.set("6.lost", "0");
  ASSERT_TRUE(hears(2));
  EXPECT_THAT(heard_, ElementsAre("lost 6 79", "recovered 6 0"));
  EXPECT_TRUE(inventory->probe(6).usable());
}

TEST_F(Nvml, AGpuThatWasResetIsWellAgainWithoutTheDriversWord) {
  serve("dgx-h100");
  const auto inventory = open();
  const auto listening = listen(*inventory);
  mock_.event(1, nvml::kEventXid, 48);
  mock_.event(2, nvml::kEventXid, 79); // wants more than a reset
  ASSERT_TRUE(hears(2));
  for (const char* gpu : {"1.reset", "2.reset"}) {
    mock_.set(gpu, "1");
  }
  mock_.set("6.lost", "1"); // tells that all have been looked at
  mock_.set("wait_lost", "1");
  ASSERT_TRUE(hears(3));
  EXPECT_FALSE(inventory->probe(1).usable());
  for (const char* gpu : {"1.reset", "2.reset", "6.lost"}) {
    mock_.set(gpu, "0");
  }
  ASSERT_TRUE(hears(5));
  EXPECT_THAT(heard_,
              ElementsAre("xid 1 48", "xid 2 79", "lost 6 79", "recovered 1 0", "recovered 6 0"));
  EXPECT_TRUE(inventory->probe(1).usable());
  EXPECT_EQ(inventory->probe(2).action, RecoveryAction::NodeReboot);
}

TEST_F(Nvml, AResetThatIsNeededShows) {
  serve("dgx-h100");
  const auto inventory = open();
  mock_.set("0.reset", "1");
  EXPECT_EQ(inventory->probe(0).action, RecoveryAction::GpuReset);
  EXPECT_FALSE(inventory->probe(8).present) << "no such GPU";
}

TEST_F(Nvml, GpusWithoutEventsAreNamed) {
  serve("hgx-a100-4", "1.no_events=1\n");
  EXPECT_THAT(open()->notes(), Contains(HasSubstr("no health events of GPU 1")));
}

TEST_F(Nvml, EndingItEndsItsThread) {
  serve("dgx-h100");
  auto inventory = open();
  const auto listening = listen(*inventory);
  inventory.reset();
  mock_.event(0, nvml::kEventXid, 79);
  EXPECT_FALSE(tasks_.run_until([&] { return !heard_.empty(); }, 10));
}

TEST_F(Nvml, MigDevicesAreReadWithTheirPlaces) {
  serve("dgx-h100", "0.mig=1\n"
                    "0.mig.0.uuid=MIG-a\n0.mig.0.gi=1\n0.mig.0.ci=0\n0.mig.0.gslices=3\n"
                    "0.mig.0.cslices=3\n0.mig.0.memory=40448\n0.mig.0.sms=60\n0.mig.0.start=4\n"
                    "0.mig.0.size=4\n"
                    "0.mig.2.uuid=MIG-b\n0.mig.2.gi=9\n0.mig.2.ci=0\n0.mig.2.gslices=1\n"
                    "0.mig.2.cslices=1\n0.mig.2.memory=9984\n0.mig.2.sms=16\n0.mig.2.ofa=1\n"
                    "0.mig.2.start=0\n0.mig.2.size=1\n");
  const auto inventory = open();
  const GpuFacts& gpu = inventory->facts().gpus[0];
  EXPECT_TRUE(gpu.mig_enabled);
  ASSERT_EQ(gpu.mig.size(), 2U) << "a hole between them is no end";
  EXPECT_EQ(gpu.mig[0].profile, "3g.40gb");
  EXPECT_EQ(gpu.mig[0].start, 4);
  EXPECT_EQ(gpu.mig[1].profile, "1g.10gb+me");
  EXPECT_EQ(gpu.mig[1].multiprocessors, 16);
  EXPECT_FALSE(inventory->facts().gpus[1].mig_enabled);
  mock_.set("0.mig.2.uuid", "");
  EXPECT_EQ(inventory->mig_devices(0).size(), 1U);
}

TEST_F(Nvml, AnotherCutIsToldAndSurveyed) {
  serve("dgx-h100", "0.mig=1\n");
  const auto inventory = open();
  const auto listening = listen(*inventory);
  EXPECT_TRUE(inventory->survey().gpus[0].mig_enabled);
  EXPECT_THAT(inventory->survey().gpus[0].mig, IsEmpty());
  mock_.set("0.mig.0.gslices", "1");
  mock_.set("0.mig.0.cslices", "1");
  mock_.set("0.mig.0.memory", "9984");
  mock_.set("0.mig.0.uuid", "MIG-a");
  ASSERT_TRUE(hears(1));
  EXPECT_EQ(heard_.front(), "mig 0 0");
  ASSERT_EQ(inventory->survey().gpus[0].mig.size(), 1U);
  EXPECT_EQ(inventory->survey().gpus[0].mig[0].profile, "1g.10gb");
  mock_.set("3.mig", "1");
  ASSERT_TRUE(hears(2));
  EXPECT_EQ(heard_.back(), "mig 3 0");
}

TEST_F(Nvml, AChangeOfMigModeThatIsPendingIsToldAndSurveyed) {
  serve("dgx-h100");
  const auto inventory = open();
  const auto listening = listen(*inventory);
  EXPECT_FALSE(inventory->survey().gpus[2].mig_pending);
  mock_.set("2.mig_pending", "1");
  ASSERT_TRUE(hears(1));
  EXPECT_EQ(heard_.front(), "mig 2 0");
  EXPECT_TRUE(inventory->survey().gpus[2].mig_pending);
  EXPECT_FALSE(inventory->survey().gpus[2].mig_enabled);
}

TEST_F(Nvml, ALostGpuIsNotCutAnew) {
  serve("dgx-h100", "0.mig=1\n0.mig.0.uuid=MIG-a\n0.mig.0.gslices=1\n0.mig.0.cslices=1\n");
  const auto inventory = open();
  mock_.set("0.lost", "1");
  EXPECT_EQ(inventory->survey().gpus[0].mig.size(), 1U) << "as it was known last";
}

TEST_F(Nvml, AnXidOfAMigDeviceLeavesItsGpuAlone) {
  serve("dgx-h100", "2.mig=1\n");
  const auto inventory = open();
  const auto listening = listen(*inventory);
  mock_.mig_xid(2, 9, 0, 95);
  ASSERT_TRUE(hears(1));
  EXPECT_EQ(heard_.front(), "xid 2 95");
  EXPECT_EQ(instances_.front(), std::pair(9, 0));
  EXPECT_TRUE(inventory->probe(2).usable());
}

TEST_F(Nvml, AGpuIsUsableOnceItHasJoinedItsFabric) {
  serve("gb200-nvl72", "1.fabric_state=2\n");
  const auto inventory = open();
  const auto listening = listen(*inventory);
  EXPECT_EQ(inventory->probe(0).fabric, FabricState::Completed);
  EXPECT_EQ(inventory->probe(1).fabric, FabricState::InProgress);
  EXPECT_FALSE(inventory->probe(1).usable());
  EXPECT_EQ(illness(inventory->probe(1)), "its NVLink fabric is in progress");
  mock_.set("1.fabric_state", "3");
  ASSERT_TRUE(hears(1));
  EXPECT_EQ(heard_.front(), "recovered 1 0");
  mock_.set("1.fabric_state", "1");
  ASSERT_TRUE(hears(2));
  EXPECT_EQ(heard_.back(), "fabric 1 0");
}

TEST_F(Nvml, PeersAndMemoryErrorsAreAskedFor) {
  serve("hgx-a100-4", "0.p2p.1.=5\n2.ecc=3\n");
  const auto inventory = open();
  EXPECT_EQ(inventory->reads_peer(0, 1), false);
  EXPECT_EQ(inventory->reads_peer(1, 2), true);
  EXPECT_EQ(inventory->reads_peer(1, 9), std::nullopt);
  EXPECT_EQ(inventory->uncorrected_errors(2), 3U);
  EXPECT_EQ(inventory->uncorrected_errors(0), std::nullopt) << "no ECC";
}

TEST_F(Nvml, ProcessesAreListedHoweverMany) {
  serve("t4-pcie-1", "0.processes=200\n");
  const auto inventory = open();
  const auto running = inventory->processes(0);
  ASSERT_TRUE(running) << to_string(running.error());
  ASSERT_EQ(running->size(), 200U);
  EXPECT_EQ(running->front().memory_mib, -1) << "not known";
  EXPECT_EQ(running->back().memory_mib, 199);
  EXPECT_FALSE(inventory->processes(1));
  mock_.set("0.lost", "1");
  const auto gone = inventory->processes(0);
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message, HasSubstr("fallen off the bus (15)"));
}

TEST(MigProfileName, IsSlicesAndEighthsOfTheMemory) {
  const auto name = [](int slices, std::int64_t mib, std::int64_t gpu_mib, int part = 0,
                       int ofa = 0) {
    return mig_profile_name({.memory_mib = mib,
                             .gpu_slices = slices,
                             .compute_slices = part == 0 ? slices : part,
                             .ofa_engines = ofa},
                            gpu_mib << 20);
  };
  EXPECT_EQ(name(1, 4864, 40960), "1g.5gb");
  EXPECT_EQ(name(2, 9856, 40960), "2g.10gb");
  EXPECT_EQ(name(3, 19968, 40960), "3g.20gb");
  EXPECT_EQ(name(7, 40192, 40960), "7g.40gb");
  EXPECT_EQ(name(1, 9856, 81920), "1g.10gb");
  EXPECT_EQ(name(1, 9856, 81920, 0, 1), "1g.10gb+me");
  EXPECT_EQ(name(2, 20096, 81920, 1), "1c.2g.20gb");
  EXPECT_EQ(name(1, 16384, 143771), "1g.18gb");
  EXPECT_EQ(name(7, 144384, 143771), "7g.141gb");
}

class SysfsPci : public test::TempFiles {};

TEST_F(SysfsPci, ReadsWhatTheKernelSays) {
  for (const std::string device : {"0000:1b:00.0", "0000:1c:00.0"}) {
    std::filesystem::create_directories(path("bus/pci/devices/" + device));
  }
  write("bus/pci/devices/0000:1b:00.0/numa_node", "1\n");
  write("bus/pci/devices/0000:1b:00.0/class", "0x030200\n");
  write("bus/pci/devices/0000:1c:00.0/numa_node", "-1\n");
  const auto pci = sysfs_pci(root());
  EXPECT_EQ(pci("0000:1b:00.0").numa, 1);
  EXPECT_EQ(pci("0000:1b:00.0").pci_class, 0x030200);
  EXPECT_EQ(pci("0000:1c:00.0").numa, std::nullopt) << "-1 is no node";
  EXPECT_EQ(pci("0000:1d:00.0").pci_class, 0);
}

} // namespace
} // namespace berth::inventory
