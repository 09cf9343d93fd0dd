#include "berth/controllers/quota/counted_kind.h"

#include <string>

#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

struct KeyCase {
  const char* name;
  const char* key;
  const char* want; ///< "group/Kind"
};

class CountedKind : public testing::TestWithParam<KeyCase> {};

TEST_P(CountedKind, IsReadFromTheKey) {
  const auto found = counted_kind(GetParam().key);
  EXPECT_EQ(found ? found->group + "/" + found->kind : std::string("none"), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, CountedKind,
    testing::Values(KeyCase{"group", "count/jobs.batch", "batch/Job"},
                    KeyCase{"apps", "count/deployments.apps", "apps/Deployment"},
                    KeyCase{"core", "count/configmaps", "/ConfigMap"},
                    KeyCase{"old_name", "configmaps", "/ConfigMap"},
                    KeyCase{"old_name_of_services", "services", "/Service"},
                    KeyCase{"pods", "pods", "none"}, KeyCase{"count_pods", "count/pods", "none"},
                    KeyCase{"resource", "requests.nvidia.com/gpu", "none"},
                    KeyCase{"unknown_group", "count/jobs.example.com", "none"},
                    KeyCase{"nothing", "count/", "none"},
                    KeyCase{"without_count", "jobs.batch", "none"}),
    [](const auto& c) { return c.param.name; });

} // namespace
} // namespace berth::controllers
