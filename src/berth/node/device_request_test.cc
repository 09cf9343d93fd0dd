#include "berth/node/device_request.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> requests(const test::PodBuilder& pod) {
  std::vector<std::string> lines;
  const auto is_device = [](std::string_view resource) { return resource.starts_with("d.com/"); };
  for (const DeviceRequest& each : device_requests(pod.build()->spec, is_device)) {
    lines.push_back(fmt::format("{} {} {} {}", each.container, to_string(each.role), each.resource,
                                each.count));
  }
  return lines;
}

TEST(DeviceRequests, AreByContainerInOrderThenByResource) {
  EXPECT_THAT(requests(test::pod("p")
                           .extended("d.com/z", "1")
                           .extended("d.com/a", "2")
                           .container("b")
                           .extended("d.com/a", "3")
                           .init_container("i")
                           .extended("d.com/a", "4")
                           .sidecar("s")
                           .extended("d.com/a", "5")),
              ElementsAre("i init d.com/a 4", "s sidecar d.com/a 5", "main app d.com/a 2",
                          "main app d.com/z 1", "b app d.com/a 3"));
}

TEST(DeviceRequests, OfOtherResourcesOrOfNoneAreNone) {
  EXPECT_THAT(requests(test::pod("p").cpu("4").extended("x.com/y", "1").extended("d.com/a", "0")),
              IsEmpty());
  EXPECT_THAT(requests(test::pod("p").request("d.com/a", "1")), IsEmpty()) << "limits count";
}

} // namespace
} // namespace berth::node
