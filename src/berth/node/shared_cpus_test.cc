#include "berth/node/shared_cpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/virtual_loop.h"
#include "berth/testing/listed_runtime.h"

namespace berth::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Following : public ::testing::Test {
 protected:
  void pass(Duration time) { loop.run_until(loop.now() + time); }
  std::vector<std::string> told() { return std::exchange(runtime.moved, {}); }

  VirtualLoop loop{TimePoint::from_unix_seconds(0)};
  test::ListedRuntime runtime{loop};
  int asked_again = 0;
  std::shared_ptr<SharedCpus> cpus =
      std::make_shared<SharedCpus>(loop, runtime, [this] { ++asked_again; });
};

TEST_F(Following, TellsOnlyWhatIsNew) {
  cpus->follow({{"a", "0-3"}, {"b", "4"}});
  EXPECT_TRUE(cpus->busy());
  pass(Duration::seconds(1));
  EXPECT_FALSE(cpus->busy());
  EXPECT_THAT(told(), ElementsAre("a 0-3", "b 4"));
  cpus->follow({{"a", "0-2"}, {"b", "4"}});
  EXPECT_THAT(told(), ElementsAre("a 0-2"));
  cpus->follow({{"a", "0-2"}});
  EXPECT_THAT(told(), IsEmpty());
  cpus->follow({{"a", "0-2"}, {"b", "4"}});
  EXPECT_THAT(told(), ElementsAre("b 4")) << "it was gone, and is another's id for all we know";
  cpus->follow({{"c", ""}});
  EXPECT_THAT(told(), IsEmpty()) << "any CPU is no news";
}

TEST_F(Following, ARefusalIsTriedAgainLater) {
  runtime.move_error = Error{.code = Code::Unavailable, .message = "not now"};
  cpus->follow({{"a", "0"}});
  pass(Duration::seconds(1));
  EXPECT_TRUE(cpus->busy());
  EXPECT_EQ(asked_again, 0);
  pass(Duration::seconds(10));
  EXPECT_EQ(asked_again, 1);
  EXPECT_FALSE(cpus->busy());
  told();
  runtime.move_error.reset();
  cpus->follow({{"a", "0"}});
  EXPECT_THAT(told(), ElementsAre("a 0"));
}

TEST_F(Following, OneThatHasEndedIsForgotten) {
  runtime.move_error = Error{.code = Code::NotFound, .message = "gone"};
  cpus->follow({{"a", "0"}});
  pass(Duration::minutes(1));
  EXPECT_EQ(asked_again, 0);
  EXPECT_FALSE(cpus->busy());
}

TEST_F(Following, NothingComesBackOnceItIsGone) {
  cpus->follow({{"a", "0"}});
  cpus.reset();
  pass(Duration::minutes(1));
  EXPECT_EQ(asked_again, 0);
}

} // namespace
} // namespace berth::node
