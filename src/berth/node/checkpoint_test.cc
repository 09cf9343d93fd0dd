#include "berth/node/checkpoint.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/node/checkpoint_store.h"

namespace berth::node {
namespace {

using ::testing::StartsWith;

Checkpoint sample() {
  return {
      .boot_id = "boot-1",
      .holdings = {{.pod_uid = "uid-1",
                    .container = "main",
                    .resource = "nvidia.com/gpu",
                    .devices = {{-1, {"x"}}, {0, {"a", "b"}}, {1, {"b"}}},
                    .response =
                        deviceplugin::ContainerAllocateResponse{
                            .envs = {{"A", "1"}, {"QUOTED", "\"\\\n\u00e9"}},
                            .mounts = {{"/c", "/h", true}, {"/d", "/i", false}},
                            .devices = {{"/dev/a", "/dev/b", "rw"}},
                            .annotations = {{"k", "v"}},
                            .cdi_devices = {"nvidia.com/gpu=0"}}},
                   {.pod_uid = "uid-2",
                    .container = "main",
                    .resource = "nvidia.com/gpu",
                    .devices = {{-1, {"y"}}},
                    .response = std::nullopt},
                   {.pod_uid = "uid-3",
                    .container = "main",
                    .resource = "nvidia.com/gpu",
                    .devices = {{-1, {"z"}}},
                    .response = deviceplugin::ContainerAllocateResponse(),
                    .part =
                        GpuParts{.each = {.milli = 250, .memory = 1 << 20, .gpu_memory = 1 << 30},
                                 .by_device = {}}}},
      .registered = {{"nvidia.com/gpu", {"a", "b"}}, {"example.com/none", {}}},
      .departed = {"example.com/gone"}};
}

std::string error_of(std::string_view bytes) {
  const auto decoded = decode_checkpoint(bytes);
  if (decoded) {
    return "no error";
  }
  EXPECT_EQ(decoded.error().code, Code::Invalid);
  return decoded.error().message;
}

std::string with_header(std::string_view payload) {
  return fmt::format("berth-checkpoint/1 crc32c={:08x} bytes={}\n{}", crc32c(payload),
                     payload.size(), payload);
}

TEST(Crc32c, IsCastagnolis) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU); // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
}

TEST(Checkpoint, ReadsAsItWasWritten) {
  EXPECT_EQ(decode_checkpoint(encode_checkpoint(sample())), sample());
  EXPECT_EQ(decode_checkpoint(encode_checkpoint({})), Checkpoint());
}

TEST(Checkpoint, EqualOnesHaveEqualBytes) {
  EXPECT_EQ(encode_checkpoint(sample()), encode_checkpoint(sample()));
  EXPECT_THAT(encode_checkpoint(sample()), StartsWith("berth-checkpoint/1 crc32c="));
}

TEST(Checkpoint, CutAnywhereIsCorrupted) {
  const std::string whole = encode_checkpoint(sample());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    ASSERT_THAT(error_of(whole.substr(0, length)), StartsWith("checkpoint is corrupted: "))
        << length;
  }
  EXPECT_THAT(error_of(whole + " "), StartsWith("checkpoint is corrupted: "));
}

TEST(Checkpoint, AnyByteChangedIsCorrupted) {
  const std::string whole = encode_checkpoint(sample());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char flip : {'\x01', '\x20', '\x80'}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      ASSERT_THAT(error_of(changed), StartsWith("checkpoint is corrupted: ")) << at;
    }
  }
}

TEST(Checkpoint, SaysWhatIsWrong) {
  EXPECT_EQ(error_of(""), "checkpoint is corrupted: no header");
  EXPECT_EQ(error_of("{}\n"), "checkpoint is corrupted: header and content disagree");
  EXPECT_EQ(error_of(with_header("[]")), "checkpoint is corrupted: content is no JSON object");
  EXPECT_EQ(error_of(with_header("{")), "checkpoint is corrupted: content is no JSON object");
  EXPECT_EQ(error_of(with_header(R"({"podDeviceEntries": [{"podUID": "u"}]})")),
            "checkpoint is corrupted: an entry names no pod, container or resource");
  for (const char* node : {"", "zero", "1x", "99999999999999999999"}) {
    EXPECT_EQ(error_of(with_header(fmt::format(
                  R"({{"podDeviceEntries": [{{"podUID": "u", "containerName": "c",
                      "resourceName": "r", "deviceIDs": {{"{}": []}}}}]}})",
                  node))),
              "checkpoint is corrupted: a NUMA node is no number")
        << node;
  }
}

TEST(Checkpoint, RemembersCpusAndMemory) {
  Checkpoint checkpoint = sample();
  checkpoint.cpus = {{.pod_uid = "u", .container = "c", .cpus = {1, 2, 9}}};
  checkpoint.memory = {{.pod_uid = "u",
                        .container = "c",
                        .nodes = topology::NumaMask::of({0, 3}),
                        .amounts = {{"hugepages-2Mi", 8}, {"memory", 1 << 30}}}};
  const auto again = decode_checkpoint(encode_checkpoint(checkpoint));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, checkpoint);
}

struct BadEntry {
  const char* name;
  const char* content;
};
class BadEntries : public ::testing::TestWithParam<BadEntry> {};

TEST_P(BadEntries, AreCorruptionAndNothingIsRead) {
  EXPECT_THAT(error_of(with_header(GetParam().content)), StartsWith("checkpoint is corrupted: "));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadEntries,
    ::testing::Values(
        BadEntry{"CpusAreNoList", R"({"podCPUEntries": {}})"},
        BadEntry{"CpusOfNobody", R"({"podCPUEntries": [{"cpuset": "1"}]})"},
        BadEntry{"NoCpuList",
                 R"({"podCPUEntries": [{"podUID": "u", "containerName": "c", "cpuset": "x"}]})"},
        BadEntry{"MemoryIsNoList", R"({"podMemoryEntries": 3})"},
        BadEntry{"MemoryOfNobody", R"({"podMemoryEntries": [{"memory": "0 memory=1"}]})"},
        BadEntry{"NoNodes",
                 R"({"podMemoryEntries": [{"podUID": "u", "containerName": "c", "memory": ""}]})"},
        BadEntry{
            "NodeOutOfRange",
            R"({"podMemoryEntries": [{"podUID": "u", "containerName": "c", "memory": "64"}]})"},
        BadEntry{
            "NoAmount",
            R"({"podMemoryEntries": [{"podUID": "u", "containerName": "c", "memory": "0 memory"}]})"},
        BadEntry{
            "NegativeAmount",
            R"({"podMemoryEntries": [{"podUID": "u", "containerName": "c", "memory": "0 memory=-1"}]})"}),
    [](const auto& each) { return each.param.name; });

// A crash during a write, wherever: what is read afterwards is what was there before or what was to
// be there, whole.
TEST(CheckpointStore, ACrashAnywhereLeavesTheOldOrTheNew) {
  using CrashAt = MemoryCheckpointStore::CrashAt;
  Checkpoint later = sample();
  later.boot_id = "boot-2";
  later.holdings.pop_back();
  const std::string old_bytes = encode_checkpoint(sample());
  const std::string new_bytes = encode_checkpoint(later);
  const auto read_after = [&](MemoryCheckpointStore::Crash crash) {
    MemoryCheckpointStore disk;
    EXPECT_TRUE(disk.write([&] { return old_bytes; }));
    disk.crash_next_write(crash);
    const auto written = disk.write([&] { return new_bytes; });
    EXPECT_FALSE(written);
    const auto bytes = disk.read();
    EXPECT_TRUE(bytes && *bytes);
    const auto decoded = decode_checkpoint(**bytes);
    EXPECT_TRUE(decoded);
    // The next write is a whole one.
    EXPECT_TRUE(disk.write([&] { return new_bytes; }));
    EXPECT_EQ(disk.bytes(), new_bytes);
    return decoded.value_or(Checkpoint());
  };
  for (std::size_t byte = 0; byte <= new_bytes.size(); ++byte) {
    ASSERT_EQ(read_after({.at = CrashAt::Byte, .byte = byte}), sample()) << byte;
  }
  EXPECT_EQ(read_after({.at = CrashAt::BeforeSync}), sample());
  EXPECT_EQ(read_after({.at = CrashAt::BeforeRename}), sample());
  EXPECT_EQ(read_after({.at = CrashAt::AfterRename}), later);
}

// Random checkpoints read as they were written.
TEST(Checkpoint, AnyReadsAsItWasWritten) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    const auto text = [&] {
      std::string made;
      for (std::uint64_t i = rng.below(6); i > 0; --i) {
        made += static_cast<char>(rng.between(1, 127));
      }
      return made;
    };
    Checkpoint checkpoint{.boot_id = text()};
    for (std::uint64_t i = rng.below(4); i > 0; --i) {
      Holding& holding = checkpoint.holdings.emplace_back();
      holding.pod_uid = fmt::format("u{}", i);
      holding.container = "c" + text();
      holding.resource = "r" + text();
      for (std::uint64_t k = rng.below(3); k > 0; --k) {
        holding.devices[rng.between(-1, 8)].push_back(text());
      }
      if (rng.chance(1, 2)) {
        auto& response = holding.response.emplace();
        response.envs[text()] = text();
        response.mounts.push_back({text(), text(), rng.chance(1, 2)});
        response.devices.push_back({text(), text(), text()});
        response.annotations[text()] = text();
        response.cdi_devices.push_back(text());
      }
    }
    checkpoint.registered[text()] = {text(), text()};
    checkpoint.departed = {text()};
    const auto again = decode_checkpoint(encode_checkpoint(checkpoint));
    ASSERT_TRUE(again) << "seed " << seed << ": " << again.error().message;
    ASSERT_EQ(*again, checkpoint) << "seed " << seed;
  }
}

} // namespace
} // namespace berth::node
