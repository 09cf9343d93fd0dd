#include "berth/runtime/load_model.h"

#include <gtest/gtest.h>

namespace berth::runtime {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr TimePoint kStart = TimePoint::from_unix_seconds(1'700'000'010); // of a window

model::ResourceRequirements asks(const char* cpu, const char* memory) {
  model::ResourceRequirements out;
  out.requests.emplace("cpu", *api::Quantity::parse(cpu));
  out.requests.emplace("memory", *api::Quantity::parse(memory));
  return out;
}

TEST(LoadModel, AboutWhatIsAskedFor) {
  const auto resources = asks("4", "8Gi");
  for (int pod = 0; pod < 200; ++pod) {
    const std::string uid = "uid-" + std::to_string(pod);
    const LoadSubject subject{
        .pod_uid = uid, .container = "c", .resources = resources, .gpus = 2, .started_at = kStart};
    for (int minute = 0; minute < 5; ++minute) {
      const Load load = load_of(subject, kStart + Duration::minutes(minute));
      EXPECT_GE(load.cpu_nanocores, 4'000'000'000 * 45 / 100);
      EXPECT_LE(load.cpu_nanocores, 4'000'000'000 * 9 / 10);
      EXPECT_GT(load.memory_bytes, kGiB);
      EXPECT_LE(load.memory_bytes, 8 * kGiB * 9 / 10);
      EXPECT_GE(load.gpu_percent, 55);
      EXPECT_LE(load.gpu_percent, 100);
      EXPECT_GE(load.gpu_memory_percent, 15);
      EXPECT_LE(load.gpu_memory_percent, 95);
    }
  }
}

TEST(LoadModel, IsMeasuredEveryFifteenSeconds) {
  const auto resources = asks("4", "8Gi");
  const LoadSubject subject{
      .pod_uid = "u", .container = "c", .resources = resources, .started_at = kStart};
  const Load first = load_of(subject, kStart + Duration::minutes(2));
  EXPECT_EQ(load_of(subject, kStart + Duration::seconds(134)).cpu_nanocores, first.cpu_nanocores);
  EXPECT_NE(load_of(subject, kStart + Duration::seconds(136)).cpu_nanocores, first.cpu_nanocores);
  EXPECT_EQ(load_of(subject, kStart + Duration::hours(2)).memory_bytes, first.memory_bytes)
      << "memory is full by then";
  EXPECT_LT(load_of(subject, kStart).memory_bytes, first.memory_bytes);
  EXPECT_EQ(first.gpu_percent, 0) << "it has no GPU";
}

TEST(LoadModel, LimitsAreKept) {
  auto resources = asks("4", "8Gi");
  resources.limits.emplace("cpu", *api::Quantity::parse("100m"));
  resources.limits.emplace("memory", *api::Quantity::parse("1Gi"));
  const LoadSubject subject{
      .pod_uid = "u", .container = "c", .resources = resources, .started_at = kStart};
  const Load load = load_of(subject, kStart + Duration::minutes(5));
  EXPECT_EQ(load.cpu_nanocores, 100'000'000);
  EXPECT_EQ(load.memory_bytes, kGiB);
}

TEST(LoadModel, WhatAsksForNothingUsesLittleAndHugeRequestsAreNumbers) {
  const LoadSubject idle{.pod_uid = "u", .container = "c", .resources = {}, .started_at = kStart};
  EXPECT_LT(load_of(idle, kStart).cpu_nanocores, 30'000'000);
  const auto resources = asks("9000000000000000000", "8Ei");
  const LoadSubject huge{
      .pod_uid = "u", .container = "c", .resources = resources, .started_at = kStart};
  EXPECT_GT(load_of(huge, kStart).cpu_nanocores, 0);
  EXPECT_GT(load_of(huge, kStart).memory_bytes, 0);
}

} // namespace
} // namespace berth::runtime
