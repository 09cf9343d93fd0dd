#include "berth/node/images/image_pulls.h"

#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/virtual_loop.h"

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A registry that takes two seconds for each pull.
class ScriptedImages final : public runtime::Images {
 public:
  explicit ScriptedImages(Loop& loop) : loop_(&loop) {}

  void find(const std::string& image, runtime::Done<std::optional<std::string>> done) override {
    loop_->post([this, image, done = std::move(done)] {
      if (image == "bad") {
        done(fail(Code::Invalid, "no such grammar"));
      } else if (there.contains(image)) {
        done(std::optional(there.at(image)));
      } else {
        done(std::optional<std::string>());
      }
    });
  }
  void pull(const std::string& image, const runtime::RegistryLogin& login,
            runtime::Done<std::string> done) override {
    ++at_once;
    most_at_once = std::max(most_at_once, at_once);
    pulls.push_back(login.username.empty() ? image : login.username + ":" + image);
    loop_->after(Duration::seconds(2),
                 [this, image, user = login.username, done = std::move(done)] {
                   --at_once;
                   if (broken || (!needs_user.empty() && user != needs_user)) {
                     done(fail(Code::Unavailable, "registry is on fire"));
                     return;
                   }
                   there[image] = "sha256:" + image;
                   done(there[image]);
                 });
  }

  std::map<std::string, std::string> there;
  std::vector<std::string> pulls;
  std::string needs_user;
  bool broken = false;
  int at_once = 0;
  int most_at_once = 0;

 private:
  Loop* loop_;
};

class Pulls : public ::testing::Test {
 protected:
  ImageOrder order(std::string image, PullPolicy policy = PullPolicy::IfNotPresent) {
    return {.pod_uid = "u",
            .image = std::move(image),
            .policy = policy,
            .tell = [this](client::EventType, std::string_view reason, const std::string& message) {
              events_.push_back(fmt::format("{}: {}", reason, message));
            }};
  }
  void ask(ImageOrder what) {
    pulls_.ensure(std::move(what), asker_,
                  [this](ImageAnswer answer) { answers_.push_back(answer); });
  }
  ImageAnswer answer(ImageOrder what) {
    const std::size_t before = answers_.size();
    ask(std::move(what));
    for (int steps = 0; answers_.size() == before && steps < 1000; ++steps) {
      loop_.step();
    }
    return answers_.size() == before ? ImageAnswer{.why = {"nothing came", ""}} : answers_.back();
  }
  void wait(Duration span) { loop_.run_until(loop_.now() + span); }

  VirtualLoop loop_{TimePoint::from_unix_seconds(1'700'000'000)};
  ScriptedImages images_{loop_};
  ImagePulls pulls_{loop_, &images_};
  std::shared_ptr<int> asker_ = std::make_shared<int>(0);
  std::vector<ImageAnswer> answers_;
  std::vector<std::string> events_;
};

TEST_F(Pulls, AnImageThatIsThereIsNotPulledUnlessAlways) {
  images_.there["a"] = "id";
  EXPECT_EQ(answer(order("a")).id, "id");
  EXPECT_THAT(events_, ElementsAre("Pulled: Container image \"a\" already present on machine"));
  EXPECT_THAT(images_.pulls, IsEmpty());
  EXPECT_EQ(answer(order("a", PullPolicy::Never)).id, "id");
  EXPECT_EQ(answer(order("a", PullPolicy::Always)).id, "sha256:a");
  EXPECT_THAT(images_.pulls, ElementsAre("a"));
}

TEST_F(Pulls, AnAbsentOneIsPulled) {
  EXPECT_EQ(answer(order("a")).id, "sha256:a");
  EXPECT_THAT(events_,
              ElementsAre("Pulling: Pulling image \"a\"",
                          "Pulled: Successfully pulled image \"a\" in 2s (2s including waiting)"));
}

TEST_F(Pulls, NeverIsNever) {
  const ImageAnswer got = answer(order("a", PullPolicy::Never));
  EXPECT_EQ(got.why.reason, "ErrImageNeverPull");
  EXPECT_EQ(got.why.message, "Container image \"a\" is not present with pull policy of Never");
  EXPECT_THAT(images_.pulls, IsEmpty());
}

TEST_F(Pulls, ABadNameIsRefused) {
  const ImageAnswer got = answer(order("bad"));
  EXPECT_EQ(got.why.reason, "InvalidImageName");
  EXPECT_EQ(events_.back(), "Failed: Error: InvalidImageName");
}

TEST_F(Pulls, AFailureIsShownThenBackedOffThenTriedAgain) {
  images_.broken = true;
  ImageAnswer got = answer(order("a"));
  EXPECT_EQ(got.why, (Reason{"ErrImagePull", "registry is on fire"}));
  EXPECT_THAT(events_, ElementsAre("Pulling: Pulling image \"a\"",
                                   "Failed: Failed to pull image \"a\": registry is on fire",
                                   "Failed: Error: ErrImagePull"));
  wait(got.retry_after);
  got = answer(order("a"));
  EXPECT_EQ(got.why, (Reason{"ImagePullBackOff",
                             "Back-off pulling image \"a\": ErrImagePull: registry is on fire"}));
  EXPECT_EQ(events_.back(), "Failed: Error: ImagePullBackOff");
  EXPECT_EQ(images_.pulls.size(), 1u);
  wait(got.retry_after);
  images_.broken = false;
  EXPECT_TRUE(answer(order("a")).there());
}

TEST_F(Pulls, TheBackOffDoublesFromTenSecondsToFiveMinutes) {
  images_.broken = true;
  std::vector<std::int64_t> delays;
  for (int i = 0; i < 7; ++i) {
    const TimePoint failed_at = (wait(answer(order("a")).retry_after), loop_.now());
    const ImageAnswer back_off = answer(order("a"));
    delays.push_back((back_off.retry_after + (loop_.now() - failed_at)).count_seconds() + 3);
    wait(back_off.retry_after);
  }
  EXPECT_THAT(delays, ElementsAre(10, 20, 40, 80, 160, 300, 300));
}

TEST_F(Pulls, AnotherPodIsNotHeldByIt) {
  images_.broken = true;
  (void)answer(order("a"));
  images_.broken = false;
  ImageOrder other = order("a");
  other.pod_uid = "v";
  EXPECT_TRUE(answer(other).there());
}

TEST_F(Pulls, ComeOneAfterAnother) {
  ask(order("a"));
  ask(order("b"));
  ask(order("c"));
  wait(Duration::seconds(10));
  ASSERT_EQ(answers_.size(), 3u);
  EXPECT_EQ(images_.most_at_once, 1);
  EXPECT_EQ(events_.back(), "Pulled: Successfully pulled image \"c\" in 2s (6s including waiting)");
}

TEST_F(Pulls, WhoIsGoneIsPassedOver) {
  ask(order("a"));
  auto gone = std::make_shared<int>(0);
  pulls_.ensure(order("b"), gone, [](const ImageAnswer&) { ADD_FAILURE() << "nobody asks"; });
  ask(order("c"));
  wait(Duration::seconds(1));
  gone.reset();
  wait(Duration::seconds(10));
  EXPECT_THAT(images_.pulls, ElementsAre("a", "c"));
}

TEST_F(Pulls, LoginsAreTriedInOrder) {
  images_.needs_user = "second";
  ImageOrder with = order("a");
  with.logins = {{"first", "p", "r"}, {"second", "p", "r"}, {"third", "p", "r"}};
  EXPECT_TRUE(answer(with).there());
  EXPECT_THAT(images_.pulls, ElementsAre("first:a", "second:a"));
}

TEST_F(Pulls, AMachineWithoutImagesHasThemAll) {
  ImagePulls none(loop_, nullptr);
  bool there = false;
  none.ensure(order("a"), asker_, [&](const ImageAnswer& got) { there = got.there(); });
  wait(Duration());
  EXPECT_TRUE(there);
}

} // namespace
} // namespace berth::node
