#include "berth/model/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/testing/builders.h"

namespace berth::model {
namespace {

using test::pod;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

/// "cpu=1 memory=2Gi", for messages and tables.
std::string text_of(const ResourceList& list) {
  std::string out;
  for (const auto& [name, quantity] : list) {
    out += (out.empty() ? "" : " ") + name + "=" + quantity.to_string();
  }
  return out;
}

std::string effective(const test::PodBuilder& builder) {
  return text_of(effective_requests(builder.build()->spec));
}

TEST(EffectiveRequests, AddContainers) {
  EXPECT_EQ(effective(pod("a")), "");
  EXPECT_EQ(effective(pod("a").cpu("500m").memory("1Gi").container("b").cpu("2")),
            "cpu=2500m memory=1Gi");
}

TEST(EffectiveRequests, TakeLimitsWhereRequestsAreAbsent) {
  EXPECT_EQ(effective(pod("a").limit("nvidia.com/gpu", "8").limit("cpu", "4").cpu("1")),
            "cpu=1 nvidia.com/gpu=8");
}

TEST(EffectiveRequests, AreAtLeastTheLargestInitContainer) {
  EXPECT_EQ(
      effective(
          pod("a").cpu("1").memory("4Gi").init_container("i").cpu("3").init_container("j").memory(
              "1Gi")),
      "cpu=3 memory=4Gi");
}

TEST(EffectiveRequests, SidecarsRunBesideEverythingAfterThem) {
  // Before the sidecar 4; the sidecar with what comes after it: 1+3; running: 1+2.
  EXPECT_EQ(effective(pod("a")
                          .cpu("2")
                          .init_container("early")
                          .cpu("4")
                          .sidecar("s")
                          .cpu("1")
                          .init_container("late")
                          .cpu("3")),
            "cpu=4");
  EXPECT_EQ(effective(pod("a").cpu("2").sidecar("s").cpu("1").init_container("late").cpu("5")),
            "cpu=6");
  EXPECT_EQ(effective(pod("a").cpu("2").sidecar("s").cpu("1").sidecar("t").cpu("1")), "cpu=4");
}

TEST(EffectiveRequests, OverheadComesOnTop) {
  EXPECT_EQ(effective(pod("a")
                          .cpu("1")
                          .init_container("i")
                          .cpu("3")
                          .overhead("cpu", "250m")
                          .overhead("memory", "64Mi")),
            "cpu=3250m memory=64Mi");
}

test::PodBuilder with_pod_level(test::PodBuilder builder, std::string_view kind,
                                std::string_view name, std::string_view quantity) {
  return builder.edit([&](api::json::object& document) {
    api::object_at(api::object_at(api::object_at(document, "spec"), "resources"),
                   kind)[test::text(name)] = test::text(quantity);
  });
}

TEST(EffectiveRequests, PodLevelRequestsDecideCpuMemoryAndHugePages) {
  EXPECT_EQ(
      effective(with_pod_level(pod("a").cpu("1").memory("1Gi").gpus(2), "requests", "cpu", "8")),
      "cpu=8 memory=1Gi nvidia.com/gpu=2");
  EXPECT_EQ(effective(with_pod_level(pod("a"), "requests", "hugepages-2Mi", "4Mi")),
            "hugepages-2Mi=4Mi");
  EXPECT_EQ(effective(with_pod_level(pod("a").gpus(1), "requests", "nvidia.com/gpu", "8")),
            "nvidia.com/gpu=1")
      << "other resources have no pod level";
  EXPECT_EQ(
      effective(with_pod_level(pod("a").cpu("1").overhead("cpu", "1"), "requests", "cpu", "8")),
      "cpu=9");
}

TEST(EffectiveRequests, PodLevelLimitsCountWhereNothingIsRequested) {
  EXPECT_EQ(effective(with_pod_level(pod("a"), "limits", "memory", "2Gi")), "memory=2Gi");
  EXPECT_EQ(effective(with_pod_level(pod("a").memory("1Gi"), "limits", "memory", "2Gi")),
            "memory=1Gi");
}

TEST(NonzeroRequests, FillInWhatContainersDoNotAskFor) {
  const auto nonzero = [](const test::PodBuilder& builder) {
    return text_of(nonzero_requests(builder.build()->spec));
  };
  EXPECT_EQ(nonzero(pod("a")), "cpu=100m memory=200Mi");
  EXPECT_EQ(nonzero(pod("a").cpu("1").container("b").memory("1Gi")), "cpu=1100m memory=1224Mi");
  EXPECT_EQ(nonzero(pod("a").cpu("0").memory("0")), "cpu=0 memory=0") << "an explicit zero stays";
  EXPECT_EQ(nonzero(pod("a").cpu("50m").init_container("i")), "cpu=100m memory=200Mi");
  EXPECT_EQ(nonzero(with_pod_level(pod("a"), "requests", "cpu", "1")), "cpu=1 memory=200Mi");
}

TEST(GpuRequest, CountsWholePods) {
  EXPECT_EQ(gpu_request(pod("a").build()->spec), 0);
  EXPECT_EQ(gpu_request(pod("a").gpus(4).container("b").gpus(2).build()->spec), 6);
  EXPECT_EQ(gpu_request(pod("a").gpus(1).init_container("i").gpus(8).build()->spec), 8);
}

TEST(QosClass, FollowsRequestsAndLimits) {
  const auto qos = [](const test::PodBuilder& builder) {
    return std::string(qos_class(builder.build()->spec));
  };
  EXPECT_EQ(qos(pod("a")), "BestEffort");
  EXPECT_EQ(qos(pod("a").gpus(8)), "BestEffort") << "only cpu and memory count";
  EXPECT_EQ(qos(pod("a").cpu("1")), "Burstable");
  EXPECT_EQ(qos(pod("a").limit("cpu", "1").limit("memory", "1Gi")), "Guaranteed");
  EXPECT_EQ(qos(pod("a").limit("cpu", "1").limit("memory", "1Gi").cpu("1000m")), "Guaranteed");
  EXPECT_EQ(qos(pod("a").limit("cpu", "2").limit("memory", "1Gi").cpu("1")), "Burstable");
  EXPECT_EQ(qos(pod("a").limit("cpu", "1").limit("memory", "1Gi").container("b")), "Burstable");
  EXPECT_EQ(qos(pod("a").limit("cpu", "1")), "Burstable");
}

/// The start of a pod played step by step: what runs at every moment, summed up; the request is the
/// most.
std::int64_t slow_milli(const PodSpec& spec, std::string_view resource) {
  const auto of = [&](const Container& container) -> std::int64_t {
    for (const ResourceList* list : {&container.resources.requests, &container.resources.limits}) {
      if (const auto it = list->find(resource); it != list->end()) {
        return it->second.milli_value();
      }
    }
    return 0;
  };
  std::int64_t most = 0;
  for (std::size_t now = 0; now <= spec.init_containers.size(); ++now) {
    std::int64_t running = 0;
    for (std::size_t i = 0; i < now; ++i) {
      running +=
          spec.init_containers[i].restart_policy == "Always" ? of(spec.init_containers[i]) : 0;
    }
    if (now < spec.init_containers.size()) {
      running += of(spec.init_containers[now]);
    } else {
      for (const Container& container : spec.containers) {
        running += of(container);
      }
    }
    most = std::max(most, running);
  }
  const auto overhead = spec.overhead.find(resource);
  return most + (overhead == spec.overhead.end() ? 0 : overhead->second.milli_value());
}

TEST(EffectiveRequestsProperty, EqualTheMostThatEverRunsAtOnce) {
  Rng rng(42);
  for (int round = 0; round < 2'000; ++round) {
    test::PodBuilder builder = pod("a");
    const std::vector<std::string> resources = {"cpu", "memory", "nvidia.com/gpu"};
    for (std::uint64_t n = rng.below(7); n > 0; --n) {
      switch (rng.below(3)) {
      case 0:
        builder.container("c");
        break;
      case 1:
        builder.init_container("i");
        break;
      default:
        builder.sidecar("s");
      }
      for (const std::string& resource : resources) {
        if (rng.chance(1, 2)) {
          builder.request(resource, std::to_string(rng.below(9)) + (rng.chance(1, 3) ? "00m" : ""));
        }
        if (rng.chance(1, 4)) {
          builder.limit(resource, std::to_string(rng.below(9)));
        }
      }
    }
    if (rng.chance(1, 3)) {
      builder.overhead("cpu", "100m");
    }
    const auto built = builder.build();
    const ResourceList requests = effective_requests(built->spec);
    for (const std::string& resource : resources) {
      const auto it = requests.find(resource);
      ASSERT_EQ(it == requests.end() ? 0 : it->second.milli_value(),
                slow_milli(built->spec, resource))
          << resource << " of " << builder.object().bytes();
    }
  }
}

} // namespace
} // namespace berth::model
