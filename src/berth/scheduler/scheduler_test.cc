// The scheduler process against an API that refuses, loses answers and changes under its hands.
#include "berth/scheduler/scheduler.h"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/client/passing_client.h"
#include "berth/model/storage.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"

namespace berth::scheduler {
namespace {

namespace json = api::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What becomes of one write.
struct Fate {
  bool made = true;          ///< it reaches the API
  std::optional<Error> told; ///< what the caller hears instead of the API's answer
  Duration delay;            ///< before it reaches the API
};

Fate lost_answer() {
  return {.made = true, .told = Error{.code = Code::Timeout, .message = "no answer"}, .delay = {}};
}
Fate lost_request() {
  return {.made = false, .told = Error{.code = Code::Timeout, .message = "no answer"}, .delay = {}};
}
Fate refused(Code code) {
  return {.made = false, .told = Error{.code = code, .message = "refused by script"}, .delay = {}};
}
Fate late(std::int64_t ms) {
  return {.made = true, .told = {}, .delay = Duration::millis(ms)};
}

/// Bindings, patches of pods and of volumes and claims, and removals meet the fates queued for
/// them; all else passes.
class ScriptedClient final : public client::PassingClient {
 public:
  ScriptedClient(client::Client& inner, Loop& loop) : PassingClient(inner), loop_(loop) {}

  std::deque<Fate> bindings;
  std::deque<Fate> patches;
  std::deque<Fate> volume_patches;
  std::deque<Fate> removals;
  int bindings_sent = 0;

  void patch(const client::GroupKind& kind, const api::Key& key, json::value merge_patch,
             client::Subresource subresource, client::Done<api::Object> done) override {
    const bool of_volumes = kind == client::kVolumes || kind == client::kVolumeClaims;
    meet(kind == client::kPods ? &patches
         : of_volumes          ? &volume_patches
                               : nullptr,
         std::move(done), [=, this](client::Done<api::Object> answered) {
           inner_.patch(kind, key, merge_patch, subresource, std::move(answered));
         });
  }
  void remove(const client::GroupKind& kind, const api::Key& key,
              const client::DeleteOptions& options, client::Done<api::Object> done) override {
    meet(&removals, std::move(done), [=, this](client::Done<api::Object> answered) {
      inner_.remove(kind, key, options, std::move(answered));
    });
  }
  void bind(const client::Binding& binding, client::Done<api::Object> done) override {
    ++bindings_sent;
    meet(&bindings, std::move(done), [=, this](client::Done<api::Object> answered) {
      inner_.bind(binding, std::move(answered));
    });
  }

 private:
  using Send = std::function<void(client::Done<api::Object>)>;

  void meet(std::deque<Fate>* fates, client::Done<api::Object> done, Send send) {
    Fate fate;
    if (fates != nullptr && !fates->empty()) {
      fate = std::move(fates->front());
      fates->pop_front();
    }
    const auto answered = [told = fate.told, done](Result<api::Object> answer) {
      done(told ? Result<api::Object>(tl::unexpected(*told)) : std::move(answer));
    };
    if (!fate.made) {
      loop_.post([answered] { answered(tl::unexpected(Error{})); });
    } else if (fate.delay == Duration()) {
      send(answered);
    } else {
      loop_.after(fate.delay, [send = std::move(send), answered] { send(answered); });
    }
  }

  Loop& loop_;
};

class SchedulerTest : public ::testing::Test {
 protected:
  SchedulerTest() : line(plane.client, plane.loop) {}

  void start() {
    auto started =
        Scheduler::start(line, plane.loop, Rng(5), {.profiles = {berth_profile()}, .queue = {}});
    ASSERT_TRUE(started.has_value()) << to_string(started.error());
    scheduler = *std::move(started);
  }
  void wait(std::int64_t ms) { plane.run_for(Duration::millis(ms)); }
  void dgx(const std::string& name) {
    plane.create(test::node(name).platform("dgx-h100").gpus(8).cpu("200").memory("2Ti").pods(110));
  }
  api::Object pod(const std::string& name) const {
    return plane.find(client::kPods, {"default", name});
  }
  std::string node_of(const std::string& name) const {
    return std::string(api::string_at(pod(name).json(), "spec.nodeName"));
  }
  std::string gpus_of(const std::string& name) const {
    const auto& annotations = pod(name).meta().annotations;
    const auto it = annotations.find(model::kGpuIndicesAnnotation);
    return it == annotations.end() ? "" : it->second;
  }
  void delete_now(const std::string& name) {
    plane.remove(client::kPods, {"default", name}, {.grace_period_seconds = 0});
  }
  // "FailedScheduling p": reason and pod of every event.
  std::vector<std::string> events() const {
    std::vector<std::string> out;
    for (const api::Object& event : plane.all(client::kEvents)) {
      out.push_back(fmt::format("{} {}", api::string_at(event.json(), "reason"),
                                api::string_at(event.json(), "involvedObject.name")));
    }
    return out;
  }
  const model::Condition* condition(const std::string& name, std::string_view type) {
    held = model::pod_view(pod(name)).value();
    return held->status.condition(type);
  }

  test::ControlPlane plane;
  ScriptedClient line;
  std::unique_ptr<Scheduler> scheduler;
  std::shared_ptr<const model::Pod> held; ///< what condition() points into
};

TEST_F(SchedulerTest, APodGetsANodeGpusAndAnEvent) {
  dgx("n1");
  start();
  plane.create(test::pod("p").gpus(2));
  wait(10);
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_EQ(gpus_of("p"), "0,1");
  EXPECT_THAT(events(), Contains("Scheduled p"));
  EXPECT_TRUE(scheduler->idle());
  EXPECT_EQ(scheduler->stats().bound, 1U);
}

// The binding was made, but nobody said so: it is asked for again, and found.
TEST_F(SchedulerTest, ALostAnswerHidesABinding) {
  dgx("n1");
  start();
  line.bindings = {lost_answer()};
  plane.create(test::pod("p").gpus(8));
  wait(10);
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_FALSE(scheduler->idle()) << "it does not know yet";
  wait(2'000);
  EXPECT_TRUE(scheduler->idle());
  EXPECT_EQ(line.bindings_sent, 2);
  EXPECT_EQ(scheduler->stats().bound, 1U);
  EXPECT_EQ(scheduler->stats().bind_failures, 0U);
}

TEST_F(SchedulerTest, RoomStaysTakenWhileABindingsFateIsUnknown) {
  dgx("n1");
  start();
  line.bindings = {lost_request(), lost_request(), lost_request()};
  plane.create(test::pod("p").gpus(8));
  wait(10);
  plane.create(test::pod("q").gpus(8));
  wait(2'500);
  EXPECT_EQ(node_of("p"), "");
  EXPECT_EQ(node_of("q"), "") << "the GPUs are promised";
  wait(1'000);
  EXPECT_EQ(node_of("p"), "n1");
  wait(60'000);
  EXPECT_EQ(node_of("q"), "");
  ASSERT_NE(condition("q", "PodScheduled"), nullptr);
  EXPECT_THAT(condition("q", "PodScheduled")->message, HasSubstr("Insufficient nvidia.com/gpu"));
}

TEST_F(SchedulerTest, AnotherSchedulerWasFaster) {
  dgx("n1");
  dgx("n2");
  start();
  line.bindings = {late(500)};
  plane.create(test::pod("p").gpus(8));
  wait(10);
  plane.client.bind({.pod = {"default", "p"}, .uid = "", .node = "n2", .annotations = {}},
                    [](const Result<api::Object>& answer) { ASSERT_TRUE(answer.has_value()); });
  wait(1'000);
  EXPECT_EQ(node_of("p"), "n2");
  EXPECT_TRUE(scheduler->idle());
  EXPECT_EQ(scheduler->stats().bind_failures, 0U);
  plane.create(test::pod("q").gpus(8));
  wait(10);
  EXPECT_EQ(node_of("q"), "n1") << "what was promised there is free again";
}

TEST_F(SchedulerTest, AConflictThatBoundNothingIsTriedAgain) {
  dgx("n1");
  start();
  line.bindings = {refused(Code::Conflict)};
  plane.create(test::pod("p").gpus(8));
  wait(10);
  EXPECT_EQ(node_of("p"), "");
  EXPECT_EQ(scheduler->stats().bind_failures, 1U);
  ASSERT_NE(condition("p", "PodScheduled"), nullptr);
  EXPECT_EQ(condition("p", "PodScheduled")->reason, "SchedulerError");
  wait(30'000);
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_EQ(condition("p", "PodScheduled")->status, "True");
  EXPECT_TRUE(scheduler->idle());
}

TEST_F(SchedulerTest, NotFoundGivesTheRoomBack) {
  dgx("n1");
  start();
  line.bindings = {late(500)};
  plane.create(test::pod("p").gpus(8));
  wait(10);
  delete_now("p");
  wait(10);
  plane.create(test::pod("q").gpus(8));
  wait(60'000);
  EXPECT_FALSE(pod("p"));
  EXPECT_EQ(node_of("q"), "n1");
  EXPECT_TRUE(scheduler->idle());
}

// A finalizer keeps the pod, so that the binding meets one that is being deleted.
TEST_F(SchedulerTest, APodDeletedWhileItsBindingIsUnderWay) {
  dgx("n1");
  start();
  line.bindings = {late(500)};
  plane.create(test::pod("p").gpus(8).finalizer("example.com/keep"));
  wait(10);
  plane.remove(client::kPods, {"default", "p"});
  wait(1'000);
  EXPECT_TRUE(pod("p").meta().deletion_timestamp.has_value());
  EXPECT_EQ(node_of("p"), "");
  plane.create(test::pod("q").gpus(8));
  wait(60'000);
  EXPECT_EQ(node_of("q"), "n1");
  EXPECT_EQ(node_of("p"), "") << "nobody tries a pod that is on its way out";
  EXPECT_TRUE(scheduler->idle());
}

TEST_F(SchedulerTest, APodOfTheSameNameIsNotTakenForTheOneBeingBound) {
  dgx("n1");
  start();
  line.bindings = {late(500)};
  plane.create(test::pod("p").gpus(8));
  wait(10);
  delete_now("p");
  const api::Object second = plane.create(test::pod("p").gpus(4));
  wait(60'000);
  EXPECT_EQ(pod("p").meta().uid, second.meta().uid);
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_EQ(gpus_of("p"), "0,1,2,3") << "what it asks for, not what the first one did";
  EXPECT_TRUE(scheduler->idle());
}

TEST_F(SchedulerTest, ANodeDeletedWhileABindingToItIsUnderWay) {
  dgx("n1");
  start();
  line.bindings = {late(500)};
  plane.create(test::pod("p").gpus(4));
  wait(10);
  plane.remove(client::kNodes, {"", "n1"});
  wait(2'000);
  EXPECT_EQ(node_of("p"), "n1") << "the binding was on its way";
  EXPECT_TRUE(scheduler->idle());
  plane.create(test::pod("q").gpus(4));
  wait(60'000);
  EXPECT_EQ(node_of("q"), "") << "half of a node that is gone is no room";
  dgx("n2");
  wait(60'000);
  EXPECT_EQ(node_of("q"), "n2");
}

TEST_F(SchedulerTest, ARefusedConditionIsWrittenLater) {
  start();
  line.patches = {refused(Code::Conflict), lost_request()};
  plane.create(test::pod("p").gpus(1));
  wait(10);
  EXPECT_EQ(condition("p", "PodScheduled"), nullptr);
  wait(1'000);
  EXPECT_EQ(condition("p", "PodScheduled"), nullptr) << "lost again";
  wait(1'000);
  ASSERT_NE(condition("p", "PodScheduled"), nullptr);
  EXPECT_EQ(condition("p", "PodScheduled")->reason, "Unschedulable");
  EXPECT_THAT(condition("p", "PodScheduled")->message, HasSubstr("no nodes available"));
}

TEST_F(SchedulerTest, AConditionIsNotWrittenOverABindingMadeMeanwhile) {
  start();
  line.patches = {refused(Code::Unavailable)};
  plane.create(test::pod("p").gpus(1));
  wait(10);
  dgx("n1");
  wait(5'000);
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_EQ(condition("p", "PodScheduled")->status, "True");
}

TEST_F(SchedulerTest, PreemptionEvictsNominatesAndBinds) {
  dgx("n1");
  start();
  plane.create(test::priority_class("high", 1000));
  plane.create(test::pod("low").gpus(8));
  wait(10);
  ASSERT_EQ(node_of("low"), "n1");
  plane.create(test::pod("high").gpus(8).priority_class("high"));
  wait(10);
  EXPECT_TRUE(pod("low").meta().deletion_timestamp.has_value());
  ASSERT_NE(condition("low", "DisruptionTarget"), nullptr);
  EXPECT_EQ(condition("low", "DisruptionTarget")->reason, "PreemptionByScheduler");
  EXPECT_EQ(api::string_at(pod("high").json(), "status.nominatedNodeName"), "n1");
  EXPECT_EQ(node_of("high"), "") << "the victim still runs";
  EXPECT_THAT(events(), Contains("Preempted low"));
  EXPECT_EQ(scheduler->stats().preempted, 1U);
  delete_now("low"); // its agent has stopped it
  wait(30'000);
  EXPECT_EQ(node_of("high"), "n1");
}

TEST_F(SchedulerTest, AVictimThatDidNotGoIsChosenAgain) {
  dgx("n1");
  start();
  plane.create(test::priority_class("high", 1000));
  plane.create(test::pod("low").gpus(8));
  wait(10);
  line.removals = {refused(Code::Unavailable)};
  plane.create(test::pod("high").gpus(8).priority_class("high"));
  wait(10);
  EXPECT_THAT(line.removals, IsEmpty());
  wait(30'000);
  EXPECT_TRUE(!pod("low") || pod("low").meta().deletion_timestamp) << "evicted at the second try";
}

TEST_F(SchedulerTest, AGangThatDoesNotFitHoldsNothing) {
  dgx("n1");
  dgx("n2");
  start();
  plane.create(test::pod_group("g", 3));
  for (const char* name : {"g-0", "g-1", "g-2"}) {
    plane.create(test::pod(name).gpus(8).in_group("g"));
  }
  wait(10);
  for (const char* name : {"g-0", "g-1", "g-2"}) {
    EXPECT_EQ(node_of(name), "") << name;
  }
  EXPECT_EQ(line.bindings_sent, 0);
  plane.create(test::pod("solo").gpus(8));
  wait(10);
  EXPECT_NE(node_of("solo"), "");
  delete_now("solo");
  dgx("n3");
  wait(60'000);
  std::set<std::string> nodes;
  for (const char* name : {"g-0", "g-1", "g-2"}) {
    nodes.insert(node_of(name));
  }
  EXPECT_THAT(nodes, ::testing::ElementsAre("n1", "n2", "n3"));
}

TEST_F(SchedulerTest, AGangMemberLostWhileBindingGivesItsRoomBackAndItsSuccessorJoins) {
  dgx("n1");
  dgx("n2");
  start();
  plane.create(test::pod_group("g", 2));
  line.bindings = {Fate(), late(500)};
  plane.create(test::pod("g-0").gpus(8).in_group("g"));
  plane.create(test::pod("g-1").gpus(8).in_group("g"));
  wait(10);
  const std::string bound = node_of("g-0").empty() ? "g-1" : "g-0";
  const std::string flying = bound == "g-0" ? "g-1" : "g-0";
  ASSERT_NE(node_of(bound), "");
  delete_now(flying);
  wait(1'000);
  plane.create(test::pod("g-2").gpus(8).in_group("g"));
  wait(60'000);
  EXPECT_NE(node_of("g-2"), "");
  EXPECT_NE(node_of("g-2"), node_of(bound));
  EXPECT_TRUE(scheduler->idle());
}

TEST_F(SchedulerTest, AMemberWhoseBindingFailsComesBack) {
  dgx("n1");
  dgx("n2");
  start();
  plane.create(test::pod_group("g", 2));
  line.bindings = {refused(Code::Conflict), refused(Code::Conflict)};
  plane.create(test::pod("g-0").gpus(8).in_group("g"));
  plane.create(test::pod("g-1").gpus(8).in_group("g"));
  wait(60'000);
  EXPECT_NE(node_of("g-0"), "");
  EXPECT_NE(node_of("g-1"), "");
  EXPECT_NE(node_of("g-0"), node_of("g-1"));
  EXPECT_EQ(scheduler->stats().bind_failures, 2U);
}

// ---- volumes before the binding ----------------------------------------------------------------

/// Plays the volume controller: nothing is bound but by these calls.
class VolumesTest : public SchedulerTest {
 protected:
  VolumesTest() {
    plane.create(test::node("n1").label("zone", "a"));
    plane.create(test::storage_class("made").waits());
    plane.create(test::storage_class("hand").provisioner(model::kNoProvisioner).waits());
  }
  void free_volume(const std::string& name) {
    plane.create(test::volume(name).of_class("hand"));
    plane.patch_status(client::kVolumes, {"", name}, json::object{{"phase", "Available"}});
  }
  void bind_claim(const std::string& name, const std::string& volume) {
    plane.patch(
        client::kVolumeClaims, {"default", name},
        json::object{{"metadata", json::object{{"annotations", json::object{{"pv.kubernetes.io/"
                                                                             "bind-completed",
                                                                             "yes"}}}}},
                     {"spec", json::object{{"volumeName", volume}}}});
  }
  std::string selected_node(const std::string& name) const {
    const auto claim = model::claim_view(plane.find(client::kVolumeClaims, {"default", name}));
    return std::string((*claim)->selected_node().value_or(""));
  }
  std::string message(const std::string& name) {
    const auto* scheduled = condition(name, "PodScheduled");
    return scheduled == nullptr ? "" : scheduled->message;
  }
};

TEST_F(VolumesTest, APodIsBoundWhenItsProvisionedClaimIs) {
  start();
  plane.create(test::claim("c").of_class("made"));
  plane.create(test::pod("p").claim("c"));
  wait(100'000);
  EXPECT_EQ(selected_node("c"), "n1");
  EXPECT_EQ(node_of("p"), "");
  EXPECT_FALSE(scheduler->idle()) << "its claim is awaited";
  plane.create(test::volume("v").of_class("made").for_claim("c"));
  bind_claim("c", "v");
  wait(10);
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_TRUE(scheduler->idle());
}

TEST_F(VolumesTest, AChosenVolumeIsGivenToTheClaimFirst) {
  start();
  free_volume("v");
  plane.create(test::claim("c").of_class("hand"));
  plane.create(test::pod("p").claim("c"));
  wait(10);
  const auto volume = *model::volume_view(plane.find(client::kVolumes, {"", "v"}));
  ASSERT_TRUE(volume->claim);
  EXPECT_EQ(volume->claim->name, "c");
  EXPECT_EQ(volume->claim->uid, plane.find(client::kVolumeClaims, {"default", "c"}).meta().uid);
  EXPECT_EQ(volume->meta.annotations.at(std::string(model::kBoundByControllerAnnotation)), "yes");
  EXPECT_EQ(node_of("p"), "");
  bind_claim("c", "v");
  wait(10);
  EXPECT_EQ(node_of("p"), "n1");
}

TEST_F(VolumesTest, ARefusedWriteGivesEverythingBack) {
  start();
  free_volume("v");
  line.volume_patches = {refused(Code::Conflict)};
  plane.create(test::claim("c").of_class("hand"));
  plane.create(test::pod("p").claim("c"));
  wait(10);
  EXPECT_THAT(message("p"), HasSubstr("running PreBind plugin \"VolumeBinding\": refused"));
  EXPECT_EQ(condition("p", "PodScheduled")->reason, "SchedulerError");
  EXPECT_EQ(line.bindings_sent, 0);
  EXPECT_EQ(scheduler->state().pod_count(), 0U);
  EXPECT_FALSE(scheduler->state().storage().volume("v")->claim);
  wait(5'000); // the next attempt
  bind_claim("c", "v");
  wait(10);
  EXPECT_EQ(node_of("p"), "n1");
}

TEST_F(VolumesTest, AVolumeThatSomebodyElseTookIsNotTakenOver) {
  start();
  free_volume("v");
  line.volume_patches = {late(500)};
  plane.create(test::claim("c").of_class("hand"));
  plane.create(test::pod("p").claim("c"));
  wait(10);
  plane.patch(client::kVolumes, {"", "v"},
              json::object{{"spec", json::object{{"claimRef", json::object{{"namespace", "x"},
                                                                           {"name", "other"},
                                                                           {"uid", "u"}}}}}});
  wait(5'000);
  EXPECT_EQ((*model::volume_view(plane.find(client::kVolumes, {"", "v"})))->claim->name, "other");
  EXPECT_EQ(node_of("p"), "");
  EXPECT_THAT(message("p"), HasSubstr("didn't find available persistent volumes to bind"));
}

TEST_F(VolumesTest, ALostAnswerToAWriteIsFoundAgain) {
  start();
  free_volume("v");
  free_volume("w");
  line.volume_patches = {lost_answer()};
  plane.create(test::claim("c").of_class("hand"));
  plane.create(test::pod("p").claim("c"));
  wait(5'000);
  EXPECT_FALSE((*model::volume_view(plane.find(client::kVolumes, {"", "w"})))->claim)
      << "the one that was given stays the claim's";
  bind_claim("c", "v");
  wait(10);
  EXPECT_EQ(node_of("p"), "n1");
}

TEST_F(VolumesTest, AClaimThatIsNotBoundInTimeEndsTheAttempt) {
  start();
  plane.create(test::claim("c").of_class("made"));
  plane.create(test::pod("p").claim("c"));
  wait(599'000);
  EXPECT_EQ(message("p"), "");
  wait(2'000);
  EXPECT_THAT(message("p"), HasSubstr("binding volumes: context deadline exceeded"));
}

TEST_F(VolumesTest, AProvisionerThatGivesUpSendsThePodElsewhere) {
  start();
  plane.create(test::claim("c").of_class("made"));
  plane.create(test::pod("p").claim("c"));
  wait(100);
  plane.create(test::node("n2"));
  plane.patch(client::kNodes, {"", "n1"},
              json::object{{"spec", json::object{{"unschedulable", true}}}});
  plane.patch(client::kVolumeClaims, {"default", "c"},
              json::object{
                  {"metadata",
                   json::object{{"annotations",
                                 json::object{{"volume.kubernetes.io/selected-node", nullptr}}}}}});
  wait(10);
  EXPECT_THAT(message("p"), HasSubstr("provisioning failed for PVC \"c\""));
  wait(20'000);
  EXPECT_EQ(selected_node("c"), "n2");
}

TEST_F(VolumesTest, APodDeletedWhileItsClaimIsAwaitedFreesItsRoom) {
  start();
  plane.create(test::claim("c").of_class("made"));
  plane.create(test::pod("p").claim("c"));
  wait(100);
  delete_now("p");
  wait(100);
  EXPECT_TRUE(scheduler->idle());
  EXPECT_EQ(scheduler->state().pod_count(), 0U);
  EXPECT_EQ(line.bindings_sent, 0);
}

TEST_F(VolumesTest, APodWaitsForItsClaimAndClass) {
  start();
  plane.create(test::pod("p").claim("c"));
  wait(10);
  EXPECT_THAT(message("p"), HasSubstr("persistentvolumeclaim \"c\" not found"));
  plane.create(test::claim("c").of_class("later"));
  wait(10'000);
  EXPECT_THAT(message("p"), HasSubstr("pod has unbound immediate PersistentVolumeClaims"));
  plane.create(test::storage_class("later").waits());
  wait(10'000);
  EXPECT_EQ(selected_node("c"), "n1");
}

TEST_F(VolumesTest, ASuccessorTakesUpAPodWhoseClaimIsAwaited) {
  start();
  plane.create(test::claim("c").of_class("made"));
  plane.create(test::pod("p").claim("c"));
  wait(100);
  scheduler.reset();
  start();
  wait(100);
  plane.create(test::volume("v").of_class("made").for_claim("c"));
  bind_claim("c", "v");
  wait(10'000);
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_TRUE(scheduler->idle());
}

TEST_F(SchedulerTest, PodsOfOtherSchedulersAreLeftAlone) {
  dgx("n1");
  start();
  const api::Object theirs = plane.create(test::pod("theirs").gpus(8).scheduler("volcano"));
  wait(60'000);
  EXPECT_EQ(pod("theirs").bytes(), theirs.bytes());
  EXPECT_THAT(events(), IsEmpty());
  EXPECT_TRUE(scheduler->idle());
  EXPECT_FALSE(scheduler->schedules("volcano"));
  plane.client.bind({.pod = {"default", "theirs"}, .uid = "", .node = "n1", .annotations = {}},
                    [](const Result<api::Object>&) {});
  plane.create(test::pod("ours").gpus(8));
  wait(60'000);
  EXPECT_EQ(node_of("ours"), "") << "what theirs holds is held";
}

TEST_F(SchedulerTest, GatesAreWaitedFor) {
  dgx("n1");
  start();
  plane.create(test::pod("p").gpus(1).gate("example.com/wait"));
  wait(60'000);
  EXPECT_EQ(node_of("p"), "");
  EXPECT_EQ(line.bindings_sent, 0);
  plane.patch(client::kPods, {"default", "p"},
              json::object{{"spec", json::object{{"schedulingGates", nullptr}}}});
  wait(60'000);
  EXPECT_EQ(node_of("p"), "n1");
}

TEST_F(SchedulerTest, ASuccessorLearnsWhatWasInFlight) {
  dgx("n1");
  start();
  line.bindings = {late(500)};
  plane.create(test::pod("p").gpus(8));
  wait(10);
  scheduler.reset();
  plane.create(test::pod("q").gpus(8));
  wait(1'000); // the binding arrives
  start();
  wait(60'000);
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_EQ(node_of("q"), "");
  EXPECT_TRUE(scheduler->idle());
}

TEST(SchedulerStart, RefusesAnUnknownPlugin) {
  test::ControlPlane plane;
  sched::Profile profile = berth_profile();
  profile.plugins.push_back({.name = "NoSuchPlugin", .weight = 1, .args = {}});
  const auto started =
      Scheduler::start(plane.client, plane.loop, Rng(1), {.profiles = {profile}, .queue = {}});
  ASSERT_FALSE(started.has_value());
  EXPECT_THAT(to_string(started.error()), HasSubstr("NoSuchPlugin"));
}

} // namespace
} // namespace berth::scheduler
