#include "berth/runtime/simulated_runtime.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/base/virtual_loop.h"

namespace berth::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kNames[] = {"created", "started", "stopped", "deleted"};

class Machine : public ::testing::Test {
 protected:
  Machine() : runtime_(loop_, cdi_, {.machine = "n1"}) {
    stream_ = runtime_.events([this](const ContainerEvent& event) {
      heard_.push_back(
          fmt::format("{} {}", kNames[static_cast<int>(event.type)], event.status.name));
    });
  }

  void run(Duration span) { loop_.run_until(loop_.now() + span); }

  // Calls and runs until answered; nullopt when no answer came in an hour.
  template <class T, class F> std::optional<Result<T>> asked(F call) {
    std::optional<Result<T>> answer;
    call([&](Result<T> said) { answer = std::move(said); });
    EXPECT_FALSE(answer) << "an answer is a later task";
    const TimePoint end = loop_.now() + Duration::hours(1);
    while (!answer && loop_.next() <= end && loop_.step()) {
    }
    return answer;
  }
  Result<SandboxStatus> make_sandbox(SandboxConfig config) {
    return asked<SandboxStatus>(
               [&](auto done) { runtime_.run_pod_sandbox(std::move(config), done); })
        .value();
  }
  std::string sandbox(std::string_view name, api::Labels annotations = {}) {
    auto made = make_sandbox({.name = std::string(name),
                              .ns = "default",
                              .uid = "uid-" + std::string(name),
                              .annotations = std::move(annotations)});
    EXPECT_TRUE(made);
    return made->id;
  }
  Result<std::string> create(const std::string& in, ContainerConfig config) {
    return asked<std::string>(
               [&](auto done) { runtime_.create_container(in, std::move(config), done); })
        .value();
  }
  Result<void> start(const std::string& id) {
    return asked<void>([&](auto done) { runtime_.start_container(id, done); }).value();
  }
  Result<void> stop(const std::string& id, Duration grace) {
    return asked<void>([&](auto done) { runtime_.stop_container(id, grace, done); }).value();
  }
  Result<void> stop_sandbox(const std::string& id) {
    return asked<void>([&](auto done) { runtime_.stop_pod_sandbox(id, done); }).value();
  }
  Result<void> remove_sandbox(const std::string& id) {
    return asked<void>([&](auto done) { runtime_.remove_pod_sandbox(id, done); }).value();
  }
  Result<ContainerStatus> status(const std::string& id) {
    return asked<ContainerStatus>([&](auto done) { runtime_.container_status(id, done); }).value();
  }
  Listing list() {
    return asked<Listing>([&](auto done) { runtime_.list(done); })->value();
  }
  // A running container of a pod of its own.
  std::string running(std::string_view name, api::Labels annotations = {}) {
    const auto id = create(sandbox(name, std::move(annotations)), {.name = std::string(name)});
    EXPECT_TRUE(id);
    EXPECT_TRUE(start(*id));
    return *id;
  }
  std::string end_of(const std::string& id) {
    const auto now_is = status(id);
    return !now_is ? "gone"
           : now_is->state != ContainerState::Exited
               ? "runs"
               : fmt::format("{} {} after {}", now_is->reason, now_is->exit_code,
                             berth::to_string(now_is->finished_at - now_is->started_at));
  }

  VirtualLoop loop_{TimePoint::from_unix_seconds(1'700'000'000)};
  cdi::Registry cdi_;
  SimulatedRuntime runtime_;
  std::vector<std::string> heard_;
  std::unique_ptr<EventStream> stream_;
};

TEST_F(Machine, ASandboxHasAnAddressAndWhatItWasGiven) {
  const TimePoint before = loop_.now();
  const auto made = make_sandbox({.name = "a",
                                  .ns = "ns",
                                  .uid = "u",
                                  .attempt = 2,
                                  .labels = {{"l", "1"}},
                                  .annotations = {{"a", "2"}}});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->created_at, before + Duration::millis(400));
  EXPECT_EQ(made->state, SandboxState::Ready);
  EXPECT_EQ(made->name, "a");
  EXPECT_EQ(made->ns, "ns");
  EXPECT_EQ(made->uid, "u");
  EXPECT_EQ(made->attempt, 2u);
  EXPECT_EQ(made->labels.at("l"), "1");
  EXPECT_EQ(made->annotations.at("a"), "2");
  EXPECT_THAT(made->ip, ::testing::StartsWith("100."));
  EXPECT_THAT(made->id, SizeIs(64));
  const auto host = make_sandbox({.name = "b", .ns = "ns", .uid = "v", .host_network = true});
  EXPECT_EQ(host->ip, "");
  EXPECT_NE(host->id, made->id);
}

TEST_F(Machine, WhatAContainerPrintsAndWhoFollowsIt) {
  const std::string id = running("a", {{"berth.dev/stop-takes", "2s"}});
  int told = 0;
  auto follower = runtime_.follow(id, [&] { ++told; });
  const auto another = runtime_.follow("nobody", [&] { told += 100; });
  ASSERT_EQ(runtime_.log(id)->size(), 3U);
  EXPECT_TRUE(runtime_.runs(id));
  EXPECT_EQ(runtime_.log("nobody"), std::nullopt);
  EXPECT_TRUE(stop(id, Duration::seconds(30)));
  run(Duration::seconds(1));
  EXPECT_EQ(told, 2) << "SIGTERM, and the end";
  ASSERT_EQ(runtime_.log(id)->size(), 5U);
  EXPECT_EQ(runtime_.log(id)->back().text, "ended after 2s with exit code 143 (Error)");
  EXPECT_FALSE(runtime_.runs(id));
  follower = nullptr;
  ASSERT_TRUE(asked<void>([&](auto done) { runtime_.remove_container(id, done); }).value());
  run(Duration::seconds(1));
  EXPECT_EQ(told, 2);
  EXPECT_EQ(runtime_.log(id), std::nullopt);
}

TEST_F(Machine, AContainersWholeLife) {
  const std::string in = sandbox("a", {{"berth.dev/run-for", "5s"}});
  const auto id = create(in, {.name = "main", .attempt = 3, .image = "i:1"});
  ASSERT_TRUE(id);
  auto now_is = status(*id);
  EXPECT_EQ(now_is->state, ContainerState::Created);
  EXPECT_EQ(now_is->sandbox_id, in);
  EXPECT_EQ(now_is->pod_uid, "uid-a");
  EXPECT_EQ(now_is->attempt, 3u);
  EXPECT_EQ(now_is->image_id, "simulated://i:1");
  EXPECT_THAT(runtime_.running(), IsEmpty());
  const std::uint64_t before = runtime_.changes();
  ASSERT_TRUE(start(*id));
  EXPECT_GT(runtime_.changes(), before);
  now_is = status(*id);
  EXPECT_EQ(now_is->state, ContainerState::Running);
  EXPECT_EQ(runtime_.next_end(), now_is->started_at + Duration::seconds(5));
  EXPECT_THAT(runtime_.pods_with_an_end(), ElementsAre("uid-a"));
  EXPECT_THAT(runtime_.running(), SizeIs(1));
  run(Duration::seconds(10));
  EXPECT_EQ(end_of(*id), "Completed 0 after 5s");
  EXPECT_EQ(runtime_.next_end(), TimePoint::max());
  ASSERT_TRUE(asked<void>([&](auto done) { runtime_.remove_container(*id, done); }).value());
  run(Duration::seconds(1));
  EXPECT_EQ(end_of(*id), "gone");
  EXPECT_EQ(status(*id).error().code, Code::NotFound);
  EXPECT_THAT(heard_, ElementsAre("created main", "started main", "stopped main", "deleted main"));
}

TEST_F(Machine, AnAttemptIsMadeOnce) {
  const SandboxConfig pod{.name = "a", .ns = "n", .uid = "u"};
  // As two agents, one of them gone, would ask.
  std::optional<Result<SandboxStatus>> first;
  runtime_.run_pod_sandbox(pod, [&](Result<SandboxStatus> made) { first = std::move(made); });
  const auto second = make_sandbox(pod);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::AlreadyExists);
  EXPECT_EQ(second.error().message, "failed to reserve name \"a_n_u_0\": it is reserved");
  run(Duration::seconds(1));
  ASSERT_TRUE(first && *first);
  const std::string in = (*first)->id;
  ASSERT_TRUE(create(in, {.name = "c"}));
  EXPECT_EQ(create(in, {.name = "c"}).error().code, Code::AlreadyExists);
  EXPECT_TRUE(create(in, {.name = "c", .attempt = 1}));
  ASSERT_TRUE(remove_sandbox(in));
  EXPECT_TRUE(make_sandbox(pod)) << "what is removed may be made again";
}

TEST_F(Machine, AContainerNeedsASandboxThatIsReady) {
  EXPECT_EQ(create("nowhere", {.name = "c"}).error().code, Code::NotFound);
  const std::string in = sandbox("a");
  const auto made = create(in, {.name = "early"});
  ASSERT_TRUE(made);
  ASSERT_TRUE(stop_sandbox(in));
  const auto late = create(in, {.name = "late"});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::Unavailable);
  const auto started = start(*made);
  ASSERT_FALSE(started) << "nothing starts in a sandbox that was stopped";
  EXPECT_EQ(started.error().code, Code::Unavailable);
  EXPECT_THAT(runtime_.running(), IsEmpty());
  // A failed creation gives its name back.
  EXPECT_EQ(create(in, {.name = "late"}).error().code, Code::Unavailable);
}

TEST_F(Machine, ADeviceThatCannotBeHadFailsTheCreation) {
  const std::string in = sandbox("a");
  const auto made = create(in, {.name = "c", .cdi_devices = {"nvidia.com/gpu=0"}});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::Invalid);
  EXPECT_EQ(made.error().message, "unresolvable CDI devices nvidia.com/gpu=0");
}

TEST_F(Machine, OnlyWhatWasCreatedStarts) {
  EXPECT_EQ(start("nobody").error().code, Code::NotFound);
  const std::string id = running("a");
  EXPECT_EQ(start(id).error().code, Code::Conflict);
  ASSERT_TRUE(stop(id, Duration::seconds(1)));
  EXPECT_EQ(start(id).error().code, Code::Conflict);
}

TEST_F(Machine, FailuresAreCountedByAttempt) {
  const std::string in = sandbox("a", {{"berth.dev/run-for", "1s"}, {"berth.dev/fail-times", "1"}});
  const auto first = create(in, {.name = "c", .attempt = 0});
  const auto second = create(in, {.name = "c", .attempt = 1});
  ASSERT_TRUE(start(*first));
  ASSERT_TRUE(start(*second));
  run(Duration::seconds(5));
  EXPECT_EQ(end_of(*first), "Error 1 after 1s");
  EXPECT_EQ(end_of(*second), "Completed 0 after 1s");
}

TEST_F(Machine, TheRoleSaysHowLongItRuns) {
  const std::string in = sandbox("a");
  std::vector<std::string> ids;
  for (const char* role : {"init", "sidecar", "app"}) {
    const auto id =
        create(in, {.name = role,
                    .annotations = {{std::string(kContainerRoleAnnotation), std::string(role)}}});
    ASSERT_TRUE(start(*id));
    ids.push_back(*id);
  }
  run(Duration::minutes(5));
  EXPECT_EQ(end_of(ids[0]), "Completed 0 after 1s");
  EXPECT_EQ(end_of(ids[2]), "runs");
  run(Duration::hours(24));
  EXPECT_EQ(end_of(ids[2]), "Completed 0 after 10m");
  EXPECT_EQ(end_of(ids[1]), "runs");
}

struct Stop {
  const char* name;
  api::Labels annotations;
  Duration grace;
  const char* want;
};

class Stops : public Machine, public ::testing::WithParamInterface<Stop> {};

TEST_P(Stops, EndAsTheContainerTakesThem) {
  const std::string id = running("a", GetParam().annotations);
  ASSERT_TRUE(stop(id, GetParam().grace));
  EXPECT_EQ(end_of(id), GetParam().want) << "the answer comes when it is dead";
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Stops,
    ::testing::Values(Stop{"Sigterm", {}, Duration::seconds(30), "Error 143 after 500ms"},
                      Stop{"SigtermIsIgnored",
                           {{"berth.dev/stop-takes", "forever"}},
                           Duration::seconds(30),
                           "Error 137 after 30s"},
                      Stop{"TooSlow",
                           {{"berth.dev/stop-takes", "31s"}},
                           Duration::seconds(30),
                           "Error 137 after 30s"},
                      Stop{"JustInTime",
                           {{"berth.dev/stop-takes", "30s"}},
                           Duration::seconds(30),
                           "Error 143 after 30s"},
                      Stop{"AtOnce", {}, Duration(), "Error 137 after 0s"},
                      Stop{"NegativeIsAtOnce", {}, Duration::seconds(-5), "Error 137 after 0s"},
                      Stop{"ItsOwnEndComesFirst",
                           {{"berth.dev/run-for", "300ms"}, {"berth.dev/exit-code", "4"}},
                           Duration::seconds(30),
                           "Error 4 after 300ms"},
                      Stop{"ItsOwnEndBeforeTheKill",
                           {{"berth.dev/run-for", "10s"}, {"berth.dev/stop-takes", "forever"}},
                           Duration::seconds(30),
                           "Completed 0 after 10s"}),
    [](const auto& test) { return test.param.name; });

TEST_F(Machine, ASecondStopShortensOnly) {
  const std::string id = running("a", {{"berth.dev/stop-takes", "forever"}});
  const TimePoint started = loop_.now();
  int answers = 0;
  const auto count = [&](const Result<void>& said) { answers += said.has_value(); };
  runtime_.stop_container(id, Duration::seconds(30), count);
  run(Duration::seconds(1));
  runtime_.stop_container(id, Duration::seconds(300), count);
  run(Duration::seconds(1));
  runtime_.stop_container(id, Duration::seconds(5), count);
  run(Duration::seconds(1));
  EXPECT_EQ(answers, 0);
  run(Duration::minutes(10));
  EXPECT_EQ(answers, 3);
  EXPECT_EQ(status(id)->finished_at, started + Duration::seconds(7));
}

TEST_F(Machine, StoppingWhatDoesNotRunIsDone) {
  const auto created = create(sandbox("a"), {.name = "c"});
  EXPECT_TRUE(stop(*created, Duration::seconds(30)));
  EXPECT_TRUE(stop("nobody", Duration::seconds(30)));
  const std::string id = running("b", {{"berth.dev/run-for", "1s"}});
  run(Duration::seconds(5));
  EXPECT_TRUE(stop(id, Duration::seconds(30)));
  EXPECT_EQ(end_of(id), "Completed 0 after 1s");
}

TEST_F(Machine, AStoppedSandboxKillsAndLetsItsAddressGo) {
  const auto first = make_sandbox({.name = "a", .ns = "n", .uid = "u"});
  const auto id = create(first->id, {.name = "c"});
  ASSERT_TRUE(start(*id));
  ASSERT_TRUE(stop_sandbox(first->id));
  EXPECT_EQ(end_of(*id), "Error 137 after 0s");
  EXPECT_EQ(list().sandboxes.at(0).state, SandboxState::NotReady);
  EXPECT_TRUE(stop_sandbox(first->id));
  EXPECT_TRUE(stop_sandbox("nobody"));
  EXPECT_EQ(make_sandbox({.name = "b", .ns = "n", .uid = "v"})->ip, first->ip);
}

TEST_F(Machine, ARemovedSandboxTakesItsContainersAlong) {
  const std::string in = sandbox("a");
  const auto id = create(in, {.name = "c"});
  ASSERT_TRUE(start(*id));
  ASSERT_TRUE(remove_sandbox(in));
  run(Duration::seconds(1));
  EXPECT_THAT(heard_, ElementsAre("created c", "started c", "stopped c", "deleted c"));
  EXPECT_THAT(list().sandboxes, IsEmpty());
  EXPECT_THAT(list().containers, IsEmpty());
  EXPECT_TRUE(remove_sandbox(in));
  EXPECT_EQ(runtime_.log(*id), std::nullopt);
}

TEST_F(Machine, ListsByCreation) {
  const std::string b = sandbox("b");
  const std::string a = sandbox("a");
  const auto first = create(a, {.name = "x"});
  const auto second = create(b, {.name = "w"});
  const Listing listing = list();
  ASSERT_THAT(listing.sandboxes, SizeIs(2));
  EXPECT_EQ(listing.sandboxes[0].id, b);
  EXPECT_EQ(listing.sandboxes[1].id, a);
  ASSERT_THAT(listing.containers, SizeIs(2));
  EXPECT_EQ(listing.containers[0].id, *first);
  EXPECT_EQ(listing.containers[1].id, *second);
}

TEST_F(Machine, FactsAreOfTheLatestAttempt) {
  const std::string in = sandbox("a");
  ASSERT_TRUE(create(in, {.name = "c", .attempt = 0, .envs = {{"N", "0"}}}));
  ASSERT_TRUE(create(in, {.name = "d", .envs = {{"N", "d"}}}));
  ASSERT_TRUE(create(in, {.name = "c", .attempt = 1, .envs = {{"N", "1"}}}));
  const auto facts = runtime_.facts("uid-a");
  ASSERT_THAT(facts, SizeIs(2));
  EXPECT_EQ(facts[0].container, "c");
  EXPECT_THAT(facts[0].env, ::testing::Contains(::testing::Pair("N", "1")));
  EXPECT_EQ(facts[1].container, "d");
  EXPECT_THAT(runtime_.facts("uid-b"), IsEmpty());
}

TEST_F(Machine, APowerCutEndsEverythingAndAnswersNobody) {
  const std::string boot = runtime_.boot_id();
  const std::string id = running("a", {{"berth.dev/run-for", "forever"}});
  const auto waits = create(sandbox("b"), {.name = "c"});
  bool answered = false;
  runtime_.run_pod_sandbox({.name = "late", .ns = "n", .uid = "u"},
                           [&](const Result<SandboxStatus>&) { answered = true; });
  runtime_.stop_container(id, Duration::seconds(10), [&](const Result<void>&) { answered = true; });
  run(Duration::millis(1));
  const std::size_t heard = heard_.size();
  runtime_.power_off();
  EXPECT_THAT(runtime_.running(), IsEmpty());
  run(Duration::minutes(1));
  EXPECT_FALSE(answered);
  EXPECT_EQ(heard_.size(), heard);
  runtime_.power_on();
  runtime_.power_on();
  EXPECT_NE(runtime_.boot_id(), boot);
  for (const std::string& each : {id, *waits}) {
    const auto now_is = status(each);
    EXPECT_EQ(now_is->state, ContainerState::Exited);
    EXPECT_EQ(now_is->exit_code, 255);
    EXPECT_EQ(now_is->reason, "Unknown");
  }
  const Listing listing = list();
  ASSERT_THAT(listing.sandboxes, SizeIs(2)) << "what was being made is not there";
  for (const SandboxStatus& each : listing.sandboxes) {
    EXPECT_EQ(each.state, SandboxState::NotReady);
  }
  EXPECT_TRUE(make_sandbox({.name = "late", .ns = "n", .uid = "u"}));
}

TEST_F(Machine, ACallToAMachineWithoutPowerLeavesNothingBehind) {
  runtime_.power_off();
  bool answered = false;
  runtime_.run_pod_sandbox({.name = "a", .ns = "n", .uid = "u"},
                           [&](const Result<SandboxStatus>&) { answered = true; });
  runtime_.power_on();
  run(Duration::seconds(10));
  EXPECT_FALSE(answered);
  EXPECT_TRUE(make_sandbox({.name = "a", .ns = "n", .uid = "u"}));
}

TEST_F(Machine, ADroppedStreamHearsNothing) {
  const std::string in = sandbox("a");
  int other = 0;
  const auto second = runtime_.events([&](const ContainerEvent&) { ++other; });
  runtime_.create_container(in, {.name = "c"}, [](const Result<std::string>&) {});
  run(Duration::millis(99));
  stream_.reset();
  run(Duration::seconds(1));
  EXPECT_THAT(heard_, IsEmpty());
  EXPECT_EQ(other, 1);
}

// Any order of calls: a container's events come in the order of its life, each once, and the list
// agrees with the last of them.
TEST(SimulatedRuntime, EventsTellTheLifeOfEveryContainer) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    VirtualLoop loop(TimePoint::from_unix_seconds(1));
    const cdi::Registry cdi;
    SimulatedRuntime runtime(loop, cdi, {.machine = "n1", .default_run_for = Duration::seconds(4)});
    std::map<std::string, ContainerState> known;
    const auto stream = runtime.events([&](const ContainerEvent& event) {
      const std::string& id = event.status.id;
      switch (event.type) {
      case ContainerEvent::Type::Created:
        EXPECT_TRUE(known.emplace(id, ContainerState::Created).second);
        return;
      case ContainerEvent::Type::Started:
        EXPECT_EQ(known.at(id), ContainerState::Created);
        known[id] = ContainerState::Running;
        return;
      case ContainerEvent::Type::Stopped:
        EXPECT_EQ(known.at(id), ContainerState::Running);
        known[id] = ContainerState::Exited;
        return;
      case ContainerEvent::Type::Deleted:
        EXPECT_NE(known.at(id), ContainerState::Running);
        known.erase(id);
        return;
      }
    });
    std::vector<std::string> sandboxes;
    std::vector<std::string> containers;
    const auto pick = [&](const std::vector<std::string>& ids) {
      return ids.empty() ? std::string("none") : ids[rng.below(ids.size())];
    };
    const auto ignore = [](const auto&) {};
    for (int turn = 0; turn < 200; ++turn) {
      switch (rng.below(8)) {
      case 0:
        runtime.run_pod_sandbox({.name = "p", .ns = "n", .uid = fmt::format("u{}", rng.below(5))},
                                [&](const Result<SandboxStatus>& made) {
                                  if (made) {
                                    sandboxes.push_back(made->id);
                                  }
                                });
        break;
      case 1:
      case 2:
        runtime.create_container(pick(sandboxes),
                                 {.name = fmt::format("c{}", rng.below(3)),
                                  .attempt = static_cast<std::uint32_t>(rng.below(3))},
                                 [&](const Result<std::string>& made) {
                                   if (made) {
                                     containers.push_back(*made);
                                   }
                                 });
        break;
      case 3:
      case 4:
        runtime.start_container(pick(containers), ignore);
        break;
      case 5:
        runtime.stop_container(pick(containers), Duration::seconds(rng.between(0, 3)), ignore);
        break;
      case 6:
        if (rng.chance(1, 3)) {
          runtime.remove_container(pick(containers), ignore);
        }
        break;
      default:
        if (rng.chance(1, 3)) {
          runtime.remove_pod_sandbox(pick(sandboxes), ignore);
        } else if (rng.chance(1, 3)) {
          runtime.stop_pod_sandbox(pick(sandboxes), ignore);
        }
        break;
      }
      loop.run_until(loop.now() + Duration::millis(rng.between(0, 1500)));
    }
    loop.run_until(loop.now() + Duration::hours(1));
    bool listed = false;
    runtime.list([&](const Result<Listing>& listing) {
      listed = true;
      EXPECT_EQ(listing->containers.size(), known.size());
      for (const ContainerStatus& each : listing->containers) {
        EXPECT_EQ(known.at(each.id), each.state);
      }
    });
    loop.run_until(loop.now() + Duration::seconds(1));
    EXPECT_TRUE(listed);
    EXPECT_THAT(runtime.running(), IsEmpty());
  }
}

} // namespace
} // namespace berth::runtime
