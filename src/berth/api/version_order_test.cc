#include "berth/api/version_order.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace berth::api {
namespace {

TEST(VersionOrder, IsKubernetes) {
  const std::vector<std::string> wanted = {"v10",      "v2",      "v1",        "v2beta1",
                                           "v1beta10", "v1beta2", "v12alpha1", "v1alpha3",
                                           "bar",      "foo",     "v1gamma1"};
  std::vector<std::string> sorted = wanted;
  std::ranges::reverse(sorted);
  std::ranges::sort(sorted, is_newer);
  EXPECT_EQ(sorted, wanted);
}

} // namespace
} // namespace berth::api
