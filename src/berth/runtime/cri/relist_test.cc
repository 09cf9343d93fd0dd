#include "berth/runtime/cri/relist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::runtime::cri {
namespace {

using State = ContainerState;
using Type = ContainerEvent::Type;

struct Case {
  const char* name;
  Seen before;
  Seen now;
  std::vector<std::pair<std::string, Type>> want;
};

class Relist : public testing::TestWithParam<Case> {};

TEST_P(Relist, TellsWhatChanged) {
  const Case& given = GetParam();
  std::vector<std::pair<std::string, Type>> got;
  for (const Change& change : changes_between(given.before, given.now)) {
    got.emplace_back(change.id, change.type);
  }
  EXPECT_EQ(got, given.want);
}

INSTANTIATE_TEST_SUITE_P(
    Looks, Relist,
    testing::Values(
        Case{"Nothing", {{"a", State::Running}}, {{"a", State::Running}}, {}},
        Case{"Made", {}, {{"a", State::Created}}, {{"a", Type::Created}}},
        Case{"MadeAndStarted",
             {},
             {{"a", State::Running}},
             {{"a", Type::Created}, {"a", Type::Started}}},
        Case{"OverBetweenTwoLooks",
             {},
             {{"a", State::Exited}},
             {{"a", Type::Created}, {"a", Type::Stopped}}},
        Case{"Started", {{"a", State::Created}}, {{"a", State::Running}}, {{"a", Type::Started}}},
        Case{"Ended", {{"a", State::Running}}, {{"a", State::Exited}}, {{"a", Type::Stopped}}},
        Case{"Gone", {{"a", State::Exited}}, {}, {{"a", Type::Deleted}}},
        Case{"OneForAnother",
             {{"a", State::Exited}},
             {{"b", State::Created}},
             {{"b", Type::Created}, {"a", Type::Deleted}}}),
    [](const auto& each) { return each.param.name; });

} // namespace
} // namespace berth::runtime::cri
