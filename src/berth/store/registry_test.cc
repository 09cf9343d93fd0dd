// What every Registry over every Store must do. A new Store joins by a line in the last statement.
#include "berth/store/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/model/pod.h"
#include "berth/store/memory_store.h"

namespace berth::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

struct StoreKind {
  std::string name;
  std::function<std::unique_ptr<Store>()> make;
};

const GroupKind kConfigMaps{"", "ConfigMap"};

api::Object parsed(const std::string& text) {
  return api::Object::parse(text).value();
}

class RegistryTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  static api::Object pod(std::string_view name, std::string_view more_meta = "",
                         std::string_view more_spec = "") {
    return parsed(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}"{}}},"spec":{{"containers":[{{"name":"c","image":"x"}}]{}}}}})",
        name, more_meta, more_spec));
  }
  static api::Object config_map(std::string_view name, std::string_view value = "1",
                                std::string_view more_meta = "") {
    return parsed(fmt::format(
        R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"{}}},"data":{{"v":"{}"}}}})",
        name, more_meta, value));
  }
  api::Object create(const api::Object& object) {
    auto made = registry->create(object, now);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return made.value_or(object);
  }
  Result<api::Object> patch(const api::Object& object, const std::string& text,
                            Subresource subresource = Subresource::None) {
    return registry->patch(group_kind(object), object.key(), api::parse_json(text).value(),
                           subresource, now);
  }
  Result<api::Object> remove(const api::Object& object, const DeleteOptions& options = {}) {
    return registry->remove(group_kind(object), object.key(), options, now);
  }
  bool exists(const api::Object& object) {
    return registry->get(group_kind(object), object.key()).has_value();
  }
  api::Object stored(const api::Object& object) {
    return registry->get(group_kind(object), object.key()).value();
  }
  api::Object bound(std::string_view name, std::string_view more_spec = "") {
    const api::Object made = create(pod(name, "", more_spec));
    return registry->bind({.pod = made.key(), .node = "n1"}, now).value();
  }
  void pass(std::int64_t seconds) { now = now + Duration::seconds(seconds); }

  TimePoint now = TimePoint::from_unix_seconds(1'700'000'000); // 2023-11-14T22:13:20Z
  std::unique_ptr<Store> store = GetParam().make();
  std::unique_ptr<Registry> registry = std::make_unique<Registry>(*store, Rng(1));
};

// ---- creation
// --------------------------------------------------------------------------------------------------

TEST_P(RegistryTest, CreationFillsInWhatTheServerOwns) {
  const api::Object made = create(pod("a"));
  EXPECT_EQ(made.meta().ns, "default");
  EXPECT_THAT(made.meta().uid, MatchesRegex("[0-9a-f-]{36}"));
  EXPECT_EQ(made.meta().creation_timestamp, now);
  EXPECT_EQ(made.meta().generation, 1);
  EXPECT_GT(made.meta().resource_version, 0u);
  EXPECT_EQ(stored(made).bytes(), made.bytes());
}

TEST_P(RegistryTest, ADumpedObjectIsCreatedAnew) {
  const api::Object made = create(parsed(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"t","uid":"old","resourceVersion":"99",)"
      R"("generation":7,"creationTimestamp":"2001-01-01T00:00:00Z","deletionTimestamp":"2001-01-01T00:00:00Z",)"
      R"("deletionGracePeriodSeconds":5,"selfLink":"/x"},"spec":{"nodeName":"n1","containers":[{"name":"c",)"
      R"("image":"x"}]},"status":{"phase":"Running"}})"));
  EXPECT_NE(made.meta().uid, "old");
  EXPECT_NE(made.meta().resource_version, 99u);
  EXPECT_EQ(made.meta().generation, 1);
  EXPECT_EQ(made.meta().creation_timestamp, now);
  EXPECT_FALSE(made.meta().deletion_timestamp);
  EXPECT_EQ(api::string_at(made.json(), "status.phase"), "Pending");
  EXPECT_EQ(node_of(made), "n1");
}

TEST_P(RegistryTest, ANodeKeepsTheStatusItRegistersWith) {
  const api::Object node = create(parsed(
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"status":{"capacity":{"cpu":"4"}}})"));
  EXPECT_EQ(api::string_at(node.json(), "status.capacity.cpu"), "4");
  EXPECT_EQ(node.meta().generation, 0);
  EXPECT_EQ(node.meta().ns, "");
}

TEST_P(RegistryTest, UnknownFieldsSurvive) {
  const api::Object made = create(parsed(
      R"({"apiVersion":"x.io/v1","kind":"Widget","metadata":{"name":"w","annotations":{"a":"b"},"odd":1},"spec":{"deep":[1,{"x":null}]},"extra":true})"));
  EXPECT_THAT(made.bytes(), HasSubstr(R"("odd":1)"));
  EXPECT_THAT(made.bytes(), HasSubstr(R"("spec":{"deep":[1,{"x":null}]},"extra":true)"));
  EXPECT_EQ(made.meta().generation, 1);
}

TEST_P(RegistryTest, GeneratesNames) {
  const auto one = create(
      parsed(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"gen-"}})"));
  const auto two = create(
      parsed(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"gen-"}})"));
  EXPECT_THAT(one.meta().name, MatchesRegex("gen-[bcdfghjklmnpqrstvwxz2456789]{5}"));
  EXPECT_NE(one.meta().name, two.meta().name);
  const auto cut = create(parsed(
      fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"generateName":"{}"}}}})",
                  std::string(80, 'g'))));
  EXPECT_EQ(cut.meta().name.size(), 63u);
}

TEST_P(RegistryTest, ANamelessObjectIsInvalid) {
  const auto made =
      registry->create(parsed(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{}})"), now);
  EXPECT_EQ(
      made.error().message,
      "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required");
}

TEST_P(RegistryTest, CreatingTwiceConflicts) {
  create(config_map("a"));
  const auto again = registry->create(config_map("a"), now);
  EXPECT_EQ(again.error().code, Code::AlreadyExists);
  EXPECT_EQ(again.error().message, "configmaps \"a\" already exists");
}

TEST_P(RegistryTest, NamespacesAreMadeOnDemand) {
  create(config_map("a", "1", R"(,"namespace":"team")"));
  const auto ns = registry->get(kNamespaces, {"", "team"});
  ASSERT_TRUE(ns);
  EXPECT_EQ(api::string_at(ns->json(), "status.phase"), "Active");
  EXPECT_EQ(ns->meta().labels.at("kubernetes.io/metadata.name"), "team");
}

TEST_P(RegistryTest, NamespacesMustExistWhereThatIsAsked) {
  Registry strict(*store, Rng(1), {.namespaces = Registry::Namespaces::MustExist});
  const auto made = strict.create(config_map("a", "1", R"(,"namespace":"team")"), now);
  EXPECT_EQ(made.error().code, Code::NotFound);
  EXPECT_EQ(made.error().message, "namespaces \"team\" not found");
}

TEST_P(RegistryTest, ARefusedObjectLeavesNothingBehind) {
  EXPECT_FALSE(registry->create(pod("Bad", R"(,"namespace":"team")"), now));
  EXPECT_FALSE(registry->get(kNamespaces, {"", "team"}));
  EXPECT_EQ(store->revision(), 1u);
}

TEST_P(RegistryTest, ATerminatingNamespaceTakesNothingNew) {
  const auto ns =
      create(parsed(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}})"));
  EXPECT_EQ(api::to_json(*api::find_path(ns.json(), "spec.finalizers")), R"(["kubernetes"])");
  ASSERT_TRUE(remove(ns));
  const auto held = registry->get(kNamespaces, {"", "team"});
  ASSERT_TRUE(held);
  EXPECT_EQ(api::string_at(held->json(), "status.phase"), "Terminating");
  const auto made = registry->create(config_map("a", "1", R"(,"namespace":"team")"), now);
  EXPECT_EQ(made.error().code, Code::Forbidden);
  EXPECT_EQ(made.error().message,
            "configmaps \"a\" is forbidden: unable to create new content in namespace team because "
            "it is being terminated");
  ASSERT_EQ(made.error().causes.size(), 1U);
  EXPECT_EQ(made.error().causes[0].message, "namespace team is being terminated");
}

TEST_P(RegistryTest, ANamespaceGoesWhenItsFinalizersAre) {
  const auto ns =
      create(parsed(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}})"));
  const auto without = [](const api::Object& from) {
    return from.edit([](api::json::object& document) { document.erase("spec"); });
  };
  const auto kept = registry->update(without(ns), Subresource::None, now);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->json(), ns.json()) << "nobody may skip the controller";
  ASSERT_TRUE(remove(ns));
  ASSERT_TRUE(
      registry->update(without(*registry->get(kNamespaces, {"", "team"})), Subresource::None, now));
  EXPECT_FALSE(registry->get(kNamespaces, {"", "team"}));
}

TEST_P(RegistryTest, SystemNamespacesStay) {
  ASSERT_TRUE(bootstrap(*registry, now));
  const auto refused = registry->remove(kNamespaces, {"", "default"}, {}, now);
  EXPECT_EQ(refused.error().message,
            "namespaces \"default\" is forbidden: this namespace may not be deleted");
}

// ---- replacing
// -------------------------------------------------------------------------------------------------

TEST_P(RegistryTest, AnUpdateNeedsTheCurrentVersionIfItNamesOne) {
  const api::Object first = create(config_map("a"));
  const auto edit = [](const api::Object& from, std::string_view value) {
    return from.edit(
        [&](api::json::object& document) { document["data"].as_object()["v"] = value; });
  };
  const auto second = registry->update(edit(first, "2"), Subresource::None, now);
  ASSERT_TRUE(second);
  EXPECT_GT(second->meta().resource_version, first.meta().resource_version);
  const auto stale = registry->update(edit(first, "3"), Subresource::None, now);
  EXPECT_EQ(stale.error().code, Code::Conflict);
  EXPECT_EQ(stale.error().message,
            "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; "
            "please apply your changes to the latest version and try again");
  EXPECT_TRUE(
      registry->update(config_map("a", "4", R"(,"namespace":"default")"), Subresource::None, now));
  EXPECT_EQ(registry->update(config_map("b"), Subresource::None, now).error().code, Code::NotFound);
}

TEST_P(RegistryTest, AnUpdateForAnotherUidConflicts) {
  create(config_map("a"));
  const auto other = config_map("a", "2", R"(,"namespace":"default","uid":"else")");
  EXPECT_EQ(registry->update(other, Subresource::None, now).error().code, Code::Conflict);
}

TEST_P(RegistryTest, WhatChangesNothingIsNotWritten) {
  const api::Object a = create(pod("a"));
  const auto revision = store->revision();
  EXPECT_EQ(registry->update(a, Subresource::None, now)->meta().resource_version,
            a.meta().resource_version);
  EXPECT_EQ(patch(a, R"({"metadata":{"labels":null}})")->bytes(), a.bytes());
  EXPECT_EQ(patch(a, R"({"status":{"phase":"Pending"}})", Subresource::Status)->bytes(), a.bytes());
  EXPECT_EQ(
      registry->update(pod("a", R"(,"namespace":"default")"), Subresource::None, now)->bytes(),
      a.bytes());
  EXPECT_EQ(store->revision(), revision);
}

TEST_P(RegistryTest, StatusAndTheRestAreWrittenApart) {
  const api::Object a = create(pod("a"));
  const auto spec_write =
      patch(a, R"({"metadata":{"labels":{"x":"y"}},"status":{"phase":"Failed"}})");
  EXPECT_EQ(api::string_at(spec_write->json(), "status.phase"), "Pending");
  EXPECT_EQ(spec_write->meta().labels.at("x"), "y");
  const auto status_write = patch(
      a, R"({"metadata":{"labels":{"x":"z"}},"status":{"phase":"Running"}})", Subresource::Status);
  EXPECT_EQ(api::string_at(status_write->json(), "status.phase"), "Running");
  EXPECT_EQ(status_write->meta().labels.at("x"), "y");

  const api::Object both = status_write->edit([](api::json::object& document) {
    document["status"].as_object()["phase"] = "Succeeded";
    document["metadata"].as_object()["labels"].as_object()["x"] = "w";
  });
  const auto put_status = registry->update(both, Subresource::Status, now);
  EXPECT_EQ(api::string_at(put_status->json(), "status.phase"), "Succeeded");
  EXPECT_EQ(put_status->meta().labels.at("x"), "w") << "metadata goes with either";
}

TEST_P(RegistryTest, OnlyTheDesiredStateCountsAsAGeneration) {
  const api::Object a = create(pod("a"));
  EXPECT_EQ(patch(a, R"({"metadata":{"labels":{"x":"y"}}})")->meta().generation, 1);
  EXPECT_EQ(patch(a, R"({"status":{"phase":"Running"}})", Subresource::Status)->meta().generation,
            1);
  EXPECT_EQ(patch(a, R"({"spec":{"activeDeadlineSeconds":60}})")->meta().generation, 2);
  EXPECT_EQ(patch(a, R"({"metadata":{"generation":77}})")->meta().generation, 2);
  EXPECT_EQ(patch(create(config_map("m")), R"({"data":{"v":"2"}})")->meta().generation, 0);
}

TEST_P(RegistryTest, ServerFieldsCannotBeChanged) {
  const api::Object a = create(config_map("a"));
  const auto patched = patch(
      a,
      R"({"metadata":{"creationTimestamp":null,"deletionTimestamp":"2001-01-01T00:00:00Z","namespace":"other"}})");
  ASSERT_TRUE(patched);
  EXPECT_EQ(patched->bytes(), a.bytes());
  EXPECT_EQ(patch(a, R"({"metadata":{"uid":"x"}})").error().message,
            "ConfigMap \"a\" is invalid: metadata.uid: Invalid value: \"x\": field is immutable");
  EXPECT_EQ(patch(a, R"({"metadata":{"name":"q"}})").error().message,
            "the name of the object (q) does not match the name on the URL (a)");
}

TEST_P(RegistryTest, APatchMayNameTheVersionItIsFor) {
  const api::Object a = create(config_map("a"));
  const std::string version = fmt::to_string(a.meta().resource_version);
  ASSERT_TRUE(
      patch(a, R"({"metadata":{"resourceVersion":")" + version + R"("},"data":{"v":"2"}})"));
  EXPECT_EQ(patch(a, R"({"metadata":{"resourceVersion":")" + version + R"("},"data":{"v":"3"}})")
                .error()
                .code,
            Code::Conflict);
}

TEST_P(RegistryTest, AMergePatchMergesObjectsAndReplacesLists) {
  const api::Object a = create(parsed(
      R"({"apiVersion":"x.io/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"a":{"b":1,"c":2},"l":[1,2]}})"));
  const auto patched =
      patch(a, R"({"spec":{"a":{"b":null,"d":{"e":1,"f":null}},"l":[3]},"new":{"x":null,"y":1}})");
  EXPECT_EQ(api::to_json(*api::find(patched->json(), "spec")),
            R"({"a":{"c":2,"d":{"e":1}},"l":[3]})");
  EXPECT_EQ(api::to_json(*api::find(patched->json(), "new")), R"({"y":1})");
  EXPECT_EQ(patch(a, R"([])").error().code, Code::BadRequest);
}

TEST_P(RegistryTest, AWriteThatCannotBeDecodedIsRefused) {
  const api::Object a = create(pod("a"));
  const auto wrong = patch(a, R"({"status":{"conditions":"none"}})", Subresource::Status);
  EXPECT_EQ(wrong.error().code, Code::BadRequest);
  EXPECT_THAT(wrong.error().message,
              HasSubstr("Pod in version \"v1\" cannot be handled as a Pod: status.conditions"));
  EXPECT_EQ(stored(a).bytes(), a.bytes());
}

TEST_P(RegistryTest, APodKeepsItsSpecButForAFewFields) {
  const api::Object a = create(pod("a"));
  EXPECT_EQ(patch(a, R"({"spec":{"priority":9}})").error().code, Code::Invalid);
  EXPECT_EQ(patch(a, R"({"spec":{"nodeName":"n"}})").error().code, Code::Invalid);
  EXPECT_TRUE(patch(a, R"({"spec":{"containers":[{"name":"c","image":"y"}]}})"));
}

// ---- deletion
// --------------------------------------------------------------------------------------------------

TEST_P(RegistryTest, WhatNothingHoldsGoesAtOnce) {
  const api::Object a = create(config_map("a"));
  const auto gone = remove(a);
  ASSERT_TRUE(gone);
  EXPECT_FALSE(exists(a));
  EXPECT_EQ(remove(a).error().message, "configmaps \"a\" not found");
}

TEST_P(RegistryTest, AnUnboundPodGoesAtOnce) {
  const api::Object a = create(pod("a"));
  const auto gone = remove(a);
  EXPECT_EQ(gone->meta().deletion_grace_period_seconds, 0);
  EXPECT_EQ(gone->meta().deletion_timestamp, now);
  EXPECT_FALSE(exists(a));
}

TEST_P(RegistryTest, ABoundPodGetsItsGraceUntilItsAgentLetsGo) {
  const api::Object a = bound("a");
  const auto dying = remove(a);
  ASSERT_TRUE(exists(a));
  EXPECT_EQ(dying->meta().deletion_timestamp, now + Duration::seconds(30));
  EXPECT_EQ(dying->meta().deletion_grace_period_seconds, 30);
  EXPECT_EQ(dying->meta().generation, 2);
  EXPECT_EQ(remove(a)->bytes(), dying->bytes()); // nothing new
  ASSERT_TRUE(remove(a, {.grace_period_seconds = 0}));
  EXPECT_FALSE(exists(a));
}

TEST_P(RegistryTest, GraceComesFromTheRequestElseFromThePod) {
  EXPECT_EQ(remove(bound("a", R"(,"terminationGracePeriodSeconds":90)"))
                ->meta()
                .deletion_grace_period_seconds,
            90);
  EXPECT_EQ(remove(bound("b"), {.grace_period_seconds = 5})->meta().deletion_grace_period_seconds,
            5);
  EXPECT_EQ(remove(bound("c"), {.grace_period_seconds = -3})->meta().deletion_grace_period_seconds,
            1);
  const auto d = bound("d");
  ASSERT_TRUE(remove(d, {.grace_period_seconds = 0}));
  EXPECT_FALSE(exists(d));
}

TEST_P(RegistryTest, GraceMayOnlyBeShortened) {
  const api::Object a = bound("a");
  ASSERT_TRUE(remove(a));
  pass(10);
  EXPECT_EQ(remove(a, {.grace_period_seconds = 60})->meta().deletion_grace_period_seconds, 30);
  const auto shorter = remove(a, {.grace_period_seconds = 5});
  EXPECT_EQ(shorter->meta().deletion_grace_period_seconds, 5);
  EXPECT_EQ(shorter->meta().deletion_timestamp, now - Duration::seconds(5));
  EXPECT_EQ(shorter->meta().generation, 2);
}

TEST_P(RegistryTest, AFinishedPodGoesAtOnce) {
  for (const std::string_view phase : {"Succeeded", "Failed"}) {
    const api::Object a = bound(fmt::format("p-{}", phase == "Failed" ? "f" : "s"));
    ASSERT_TRUE(
        patch(a, fmt::format(R"({{"status":{{"phase":"{}"}}}})", phase), Subresource::Status));
    ASSERT_TRUE(remove(a));
    EXPECT_FALSE(exists(a)) << phase;
  }
}

TEST_P(RegistryTest, FinalizersHoldAnObjectUntilTheLastIsGone) {
  const api::Object a = create(config_map("a", "1", R"(,"finalizers":["x.io/a","x.io/b"])"));
  const auto dying = remove(a);
  EXPECT_EQ(dying->meta().deletion_timestamp, now);
  ASSERT_TRUE(patch(a, R"({"metadata":{"finalizers":["x.io/b"]}})"));
  EXPECT_TRUE(exists(a));
  const auto more = patch(a, R"({"metadata":{"finalizers":["x.io/b","x.io/c"]}})");
  EXPECT_THAT(more.error().message,
              HasSubstr("no new finalizers can be added if the object is being deleted, found "
                        "new finalizers []string{\"x.io/c\"}"));
  ASSERT_TRUE(patch(a, R"({"metadata":{"finalizers":null}})"));
  EXPECT_FALSE(exists(a));
}

TEST_P(RegistryTest, FinalizersAndGraceBothHoldAPod) {
  const api::Object made =
      create(pod("a", R"(,"finalizers":["batch.kubernetes.io/job-tracking"])"));
  const api::Object a = registry->bind({.pod = made.key(), .node = "n1"}, now).value();
  ASSERT_TRUE(remove(a));
  ASSERT_TRUE(patch(a, R"({"metadata":{"finalizers":null}})"));
  EXPECT_TRUE(exists(a)); // its agent has not let go

  const api::Object second =
      create(pod("b", R"(,"finalizers":["batch.kubernetes.io/job-tracking"])"));
  const api::Object b = registry->bind({.pod = second.key(), .node = "n1"}, now).value();
  ASSERT_TRUE(remove(b));
  ASSERT_TRUE(remove(b, {.grace_period_seconds = 0}));
  EXPECT_TRUE(exists(b)); // its finalizer has not been taken off
  ASSERT_TRUE(patch(b, R"({"metadata":{"finalizers":[]}})"));
  EXPECT_FALSE(exists(b));
}

TEST_P(RegistryTest, PreconditionsGuardDeletion) {
  const api::Object a = create(config_map("a"));
  EXPECT_THAT(remove(a, {.uid = "else"}).error().message,
              HasSubstr("Operation cannot be fulfilled on ConfigMap \"a\": the UID in the "
                        "precondition (else) does not "
                        "match the UID in record"));
  EXPECT_EQ(remove(a, {.resource_version = 1}).error().code, Code::Conflict);
  EXPECT_TRUE(remove(a, {.uid = a.meta().uid, .resource_version = a.meta().resource_version}));
}

TEST_P(RegistryTest, PropagationIsLeftToTheCollectorAsAFinalizer) {
  const api::Object a = create(config_map("a"));
  EXPECT_THAT(remove(a, {.propagation = Propagation::Foreground})->meta().finalizers,
              ElementsAre("foregroundDeletion"));
  EXPECT_THAT(remove(a)->meta().finalizers, ElementsAre("foregroundDeletion")); // not taken back
  EXPECT_THAT(remove(a, {.propagation = Propagation::Orphan})->meta().finalizers,
              ElementsAre("orphan"));
  EXPECT_TRUE(exists(a));
  ASSERT_TRUE(patch(a, R"({"metadata":{"finalizers":null}})"));
  EXPECT_FALSE(exists(a));
}

TEST_P(RegistryTest, BackgroundDeletionDropsAnOrphanWish) {
  const api::Object a = create(config_map("a", "1", R"(,"finalizers":["orphan"])"));
  ASSERT_TRUE(remove(a));
  EXPECT_FALSE(exists(a));
}

// ---- binding
// ---------------------------------------------------------------------------------------------------

TEST_P(RegistryTest, BindingSetsTheNodeAndSaysSo) {
  const api::Object a = create(pod("a", R"(,"annotations":{"keep":"1"})"));
  const auto b = registry->bind({.pod = a.key(),
                                 .uid = a.meta().uid,
                                 .node = "n1",
                                 .annotations = {{"berth.dev/gpu-indices", "0,1"}}},
                                now);
  ASSERT_TRUE(b);
  EXPECT_EQ(node_of(*b), "n1");
  EXPECT_EQ(b->meta().annotations, (api::Labels{{"berth.dev/gpu-indices", "0,1"}, {"keep", "1"}}));
  EXPECT_EQ(b->meta().generation, 1);
  const auto view = model::pod_view(*b).value();
  ASSERT_NE(view->status.condition("PodScheduled"), nullptr);
  EXPECT_EQ(view->status.condition("PodScheduled")->status, "True");
  EXPECT_EQ(view->status.condition("PodScheduled")->last_transition_time, now);
}

TEST_P(RegistryTest, BindingReplacesAnEarlierCondition) {
  const api::Object a = create(pod("a"));
  ASSERT_TRUE(patch(
      a,
      R"({"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable"}]}})",
      Subresource::Status));
  const auto b = registry->bind({.pod = a.key(), .node = "n1"}, now);
  EXPECT_THAT(model::pod_view(*b).value()->status.conditions, SizeIs(1));
}

TEST_P(RegistryTest, BindingIsRefusedInKubernetesWords) {
  const auto why = [&](const Binding& binding) {
    return registry->bind(binding, now).error().message;
  };
  const api::Object a = bound("a");
  EXPECT_EQ(why({.pod = a.key(), .node = "n2"}), "Operation cannot be fulfilled on pods/binding "
                                                 "\"a\": pod a is already assigned to node \"n1\"");
  const api::Object b = create(pod("b", R"(,"finalizers":["x.io/f"])"));
  ASSERT_TRUE(remove(b));
  EXPECT_EQ(why({.pod = b.key(), .node = "n2"}),
            "Operation cannot be fulfilled on pods/binding \"b\": pod b is being deleted, cannot "
            "be assigned to a host");
  const api::Object c = create(pod("c"));
  EXPECT_THAT(why({.pod = c.key(), .uid = "else", .node = "n2"}),
              HasSubstr("Precondition failed: UID in precondition"));
  EXPECT_EQ(why({.pod = c.key()}), "target.name: Required value");
  EXPECT_EQ(why({.pod = {"default", "none"}, .node = "n2"}), "pods \"none\" not found");
}

// ---- watching through the registry
// -----------------------------------------------------------------------------

TEST_P(RegistryTest, AWatchTellsTheWholeStoryOfAPod) {
  std::vector<std::string> story;
  const auto watch = registry->watch({.what = {.kind = kPods}}, [&](const WatchEvent& event) {
    if (event.type == WatchEvent::Type::Bookmark) {
      return;
    }
    static constexpr std::string_view kMarks = "+~-";
    story.push_back(
        fmt::format("{}{}", kMarks[static_cast<std::size_t>(event.type)],
                    event.object.meta().deletion_timestamp ? "!" : node_of(event.object)));
  });
  const api::Object a = bound("a");
  ASSERT_TRUE(remove(a));
  ASSERT_TRUE(remove(a, {.grace_period_seconds = 0}));
  EXPECT_THAT(story, ElementsAre("+", "~n1", "~!", "-!"));
}

TEST_P(RegistryTest, BootstrapMayRunTwice) {
  ASSERT_TRUE(bootstrap(*registry, now));
  const auto revision = store->revision();
  ASSERT_TRUE(bootstrap(*registry, now));
  EXPECT_EQ(store->revision(), revision);
  EXPECT_THAT(registry->list({.kind = kNamespaces}).items, SizeIs(4));
  EXPECT_THAT(registry->list({.kind = kPriorityClasses}).items, SizeIs(2));
}

TEST_P(RegistryTest, EqualSeedsGiveEqualBytes) {
  const auto run = [] {
    const auto objects = GetParam().make();
    Registry rules(*objects, Rng(42));
    const TimePoint at = TimePoint::from_unix_seconds(5);
    (void)rules.create(
        parsed(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"g-"}})"), at);
    (void)rules.create(config_map("b"), at);
    std::string all;
    for (const api::Object& object : rules.list({.kind = kConfigMaps}).items) {
      all += object.bytes();
    }
    return all;
  };
  EXPECT_EQ(run(), run());
}

INSTANTIATE_TEST_SUITE_P(Stores, RegistryTest,
                         ::testing::Values(StoreKind{
                             "Memory", [] { return std::make_unique<MemoryStore>(); }}),
                         [](const auto& kind) { return kind.param.name; });

} // namespace
} // namespace berth::store
