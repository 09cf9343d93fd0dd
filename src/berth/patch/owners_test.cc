#include "berth/patch/owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "berth/patch/atom.h"
#include "berth/patch/managed_fields.h"
#include "berth/patch/patch_fixture.h"

namespace berth::patch {
namespace {

using test::from;
using ::testing::HasSubstr;

/// One stored object and those who write it, a second after each other.
class Owners : public ::testing::Test {
 protected:
  Owners() { start(test::builtin("", "v1", "ConfigMap")); }

  void start(Target target) {
    target_ = std::move(target);
    live_ = target_.zero;
  }

  json::object header() const {
    return {{"apiVersion", target_.api_version()},
            {"kind", target_.kind},
            {"metadata", {{"name", "o"}, {"namespace", "ns"}}}};
  }

  /// A whole object with these members beside its header.
  json::value object(std::string_view members) const {
    json::value out = header();
    api::merge_patch(out, from(members));
    return out;
  }

  Writer writer(std::string_view manager, std::string_view subresource = "") {
    return {.manager = std::string(manager),
            .subresource = std::string(subresource),
            .now = TimePoint::from_unix_seconds(++clock_)};
  }

  void store(json::value object) {
    live_ = std::move(object);
    live_.at("metadata").as_object()["uid"] = "u";
  }

  void update(std::string_view manager, std::string_view members) {
    json::value next = live_;
    api::merge_patch(next, header());
    api::merge_patch(next, from(members));
    store(track_update(target_, live_, next, writer(manager)));
  }

  /// "" or the error.
  std::string apply_as(std::string_view manager, std::string_view members,
                       Conflicts conflicts = Conflicts::Refused) {
    auto done = apply(target_, live_, object(members), writer(manager), conflicts);
    if (!done) {
      last_error_ = done.error();
      return done.error().message;
    }
    store(std::move(*done));
    return "";
  }

  /// "one Apply v1: .data.a .data.b; two ..."
  std::string owners() const {
    std::string out;
    const json::value* entries = api::find_path(live_, "metadata.managedFields");
    const auto managers = read_managed_fields(live_);
    EXPECT_TRUE(managers);
    for (std::size_t i = 0; entries != nullptr && i < entries->get_array().size(); ++i) {
      const json::value& entry = entries->get_array()[i];
      const bool applies = api::string_at(entry, "operation") == "Apply";
      const ManagerId id{.manager = std::string(api::string_at(entry, "manager")),
                         .operation = applies ? Operation::Apply : Operation::Update,
                         .api_version =
                             applies ? "" : std::string(api::string_at(entry, "apiVersion")),
                         .subresource = std::string(api::string_at(entry, "subresource"))};
      out += fmt::format("{}{} {}{}:", out.empty() ? "" : "; ", id.manager,
                         applies ? "Apply" : "Update",
                         id.subresource.empty() ? "" : " " + id.subresource);
      managers->at(id).fields.each([&](const Path& path) { out += " " + to_string(path); });
    }
    return out;
  }

  std::string at(std::string_view dotted) const {
    const json::value* value = api::find_path(live_, dotted);
    return value == nullptr ? "" : api::to_json(*value);
  }

  Target target_;
  json::value live_;
  Error last_error_;
  std::int64_t clock_ = 1'000;
};

TEST_F(Owners, AnUpdaterOwnsWhatItChanges) {
  update("one", R"({"data":{"a":"1","b":"2"}})");
  EXPECT_EQ(owners(), "one Update: .data .data.a .data.b");
  update("two", R"({"data":{"b":"3"}})");
  EXPECT_EQ(owners(), "one Update: .data .data.a; two Update: .data.b");
  update("two", R"({"data":{"a":null}})");
  EXPECT_EQ(owners(), "one Update: .data; two Update: .data.b");
}

TEST_F(Owners, AnIdleUpdateChangesNothing) {
  update("one", R"({"data":{"a":"1"}})");
  const json::value before = live_;
  update("two", R"({"data":{"a":"1"}})");
  EXPECT_EQ(live_, before);
  update("one", R"({})");
  EXPECT_EQ(live_, before);
}

TEST_F(Owners, ApplyMakesAnObject) {
  EXPECT_EQ(apply_as("one", R"({"data":{"a":"1"}})"), "");
  EXPECT_EQ(owners(), "one Apply: .data.a");
  EXPECT_EQ(at("data"), R"({"a":"1"})");
  EXPECT_EQ(api::string_at(live_.at("metadata").at("managedFields").at(0), "time"),
            "1970-01-01T00:16:41Z");
}

TEST_F(Owners, ApplyTwiceChangesNothingNotEvenTheTime) {
  apply_as("one", R"({"data":{"a":"1"}})");
  const json::value before = live_;
  EXPECT_EQ(apply_as("one", R"({"data":{"a":"1"}})"), "");
  EXPECT_EQ(live_, before);
}

TEST_F(Owners, WhatIsNoLongerAppliedGoes) {
  apply_as("one", R"({"data":{"a":"1","b":"2"}})");
  apply_as("two", R"({"data":{"b":"2","c":"3"}})");
  EXPECT_EQ(owners(), "one Apply: .data.a .data.b; two Apply: .data.b .data.c");
  EXPECT_EQ(apply_as("one", R"({})"), "");
  EXPECT_EQ(at("data"), R"({"b":"2","c":"3"})") << "a was one's alone, b is two's too";
  EXPECT_EQ(owners(), "two Apply: .data.b .data.c");
  EXPECT_EQ(apply_as("two", R"({})"), "");
  EXPECT_EQ(at("data"), "");
  EXPECT_EQ(owners(), "");
}

TEST_F(Owners, WhatAnUpdaterTookStays) {
  apply_as("one", R"({"data":{"a":"1","b":"2"}})");
  update("two", R"({"data":{"b":"9"}})");
  EXPECT_EQ(owners(), "one Apply: .data.a; two Update: .data.b");
  EXPECT_EQ(apply_as("one", R"({})"), "");
  EXPECT_EQ(at("data"), R"({"b":"9"})");
}

TEST_F(Owners, ConflictsNameTheOwnerAndTheField) {
  apply_as("one", R"({"data":{"a":"1","b":"2"}})");
  EXPECT_EQ(apply_as("two", R"({"data":{"a":"2"}})"),
            "Apply failed with 1 conflict: conflict with \"one\": .data.a");
  EXPECT_EQ(last_error_.code, Code::Conflict);
  ASSERT_EQ(last_error_.causes.size(), 1U);
  EXPECT_EQ(last_error_.causes[0].message, "conflict with \"one\"");
  EXPECT_EQ(last_error_.causes[0].where->field, ".data.a");
  update("kubectl-edit", R"({"data":{"c":"3"}})");
  EXPECT_EQ(apply_as("two", R"({"data":{"a":"2","b":"3","c":"4"}})"),
            "Apply failed with 3 conflicts: conflicts with \"kubectl-edit\" using v1:\n- .data.c\n"
            "conflicts with \"one\":\n- .data.a\n- .data.b");
  EXPECT_EQ(at("data.a"), R"("1")") << "nothing is done";
}

TEST_F(Owners, EqualValuesAreShared) {
  apply_as("one", R"({"data":{"a":"1"}})");
  EXPECT_EQ(apply_as("two", R"({"data":{"a":"1"}})"), "");
  EXPECT_EQ(owners(), "two Apply: .data.a; one Apply: .data.a")
      << "nothing changed: two has no time";
}

TEST_F(Owners, ForceTakesOver) {
  apply_as("one", R"({"data":{"a":"1","b":"2"}})");
  EXPECT_EQ(apply_as("two", R"({"data":{"a":"2"}})", Conflicts::Forced), "");
  EXPECT_EQ(owners(), "one Apply: .data.b; two Apply: .data.a");
  EXPECT_EQ(at("data"), R"({"a":"2","b":"2"})");
}

TEST_F(Owners, FieldsFromBeforeTheFirstApplyHaveAnOwner) {
  store(object(R"({"data":{"a":"1"}})"));
  EXPECT_EQ(apply_as("one", R"({"data":{"a":"2"}})"),
            "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.a");
  EXPECT_EQ(apply_as("one", R"({"data":{"b":"2"}})"), "");
  EXPECT_EQ(owners(), "one Apply: .data.b; before-first-apply Update: .data .data.a");
}

TEST_F(Owners, ListsWithKeysAreSharedByElement) {
  start(test::builtin("", "v1", "Service"));
  apply_as("one", R"({"spec":{"ports":[{"port":80,"name":"a"}]}})");
  EXPECT_EQ(apply_as("two", R"({"spec":{"ports":[{"port":80,"protocol":"UDP","name":"b"}]}})"), "");
  EXPECT_EQ(owners(), "one Apply: .spec.ports[port=80,protocol=\"TCP\"] "
                      ".spec.ports[port=80,protocol=\"TCP\"].name "
                      ".spec.ports[port=80,protocol=\"TCP\"].port; "
                      "two Apply: .spec.ports[port=80,protocol=\"UDP\"] "
                      ".spec.ports[port=80,protocol=\"UDP\"].name "
                      ".spec.ports[port=80,protocol=\"UDP\"].port "
                      ".spec.ports[port=80,protocol=\"UDP\"].protocol");
  EXPECT_EQ(apply_as("two", R"({})"), "");
  EXPECT_EQ(at("spec.ports"), R"([{"port":80,"name":"a"}])");
}

TEST_F(Owners, AtomicMapsAndListsHaveOneOwner) {
  start(test::builtin("", "v1", "Pod"));
  apply_as("one", R"({"spec":{"nodeSelector":{"a":"b"},"tolerations":[{"key":"t"}]}})");
  EXPECT_EQ(owners(), "one Apply: .spec.nodeSelector .spec.tolerations");
  EXPECT_EQ(apply_as("two", R"({"spec":{"nodeSelector":{"c":"d"}}})"),
            "Apply failed with 1 conflict: conflict with \"one\": .spec.nodeSelector");
  EXPECT_EQ(apply_as("one", R"({"spec":{"nodeSelector":{"c":"d"}}})"), "");
  EXPECT_EQ(at("spec.nodeSelector"), R"({"c":"d"})");
  EXPECT_EQ(at("spec.tolerations"), "");
}

TEST_F(Owners, SetsAreSharedByValue) {
  apply_as("one", R"({"metadata":{"finalizers":["a.io/x","a.io/y"]}})");
  apply_as("two", R"({"metadata":{"finalizers":["a.io/y","a.io/z"]}})");
  EXPECT_EQ(at("metadata.finalizers"), R"(["a.io/x","a.io/y","a.io/z"])");
  apply_as("one", R"({})");
  EXPECT_EQ(at("metadata.finalizers"), R"(["a.io/y","a.io/z"])");
}

TEST_F(Owners, TheStatusSubresourceHasItsOwnEntries) {
  start(test::builtin("", "v1", "Pod", "status"));
  json::value next = object(R"({"status":{"phase":"Running"},"spec":{"nodeName":"n"}})");
  store(track_update(target_, live_, next, writer("kubelet", "status")));
  EXPECT_EQ(owners(), "kubelet Update status: .status.phase") << "spec is reset there";
  EXPECT_EQ(apply_as("one", R"({"status":{"phase":"Failed"}})"),
            "Apply failed with 1 conflict: conflict with \"kubelet\" with subresource \"status\" "
            "using v1: .status.phase");
}

TEST_F(Owners, NobodyOwnsWhatTheStrategyResets) {
  start(test::builtin("", "v1", "Pod"));
  apply_as("one", R"({"spec":{"nodeName":"n"},"status":{"phase":"Failed"}})");
  EXPECT_EQ(owners(), "one Apply: .spec.nodeName");
  update("two", R"({"status":{"phase":"Running"}})");
  EXPECT_EQ(owners(), "one Apply: .spec.nodeName");
}

TEST_F(Owners, ARequestMayClearOrSetThem) {
  update("one", R"({"data":{"a":"1"}})");
  update("two", R"({"metadata":{"managedFields":null},"data":{"b":"1"}})");
  EXPECT_EQ(owners(), "one Update: .data .data.a; two Update: .data.b") << "null is not asked for";
  update("two", R"({"metadata":{"managedFields":[{}]}})");
  EXPECT_EQ(owners(), "");
  update("two", R"({"data":{"c":"1"}})");
  EXPECT_EQ(owners(), "") << "not tracked until it is applied to";
  update("two", R"({"metadata":{"managedFields":[{"manager":"set","operation":"Update",
      "apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}}]}})");
  EXPECT_EQ(owners(), "set Update: .data.a");
  update("two", R"({"metadata":{"managedFields":[{"manager":"bad","operation":"Frob"}]}})");
  EXPECT_EQ(owners(), "set Update: .data.a") << "what cannot be read is ignored";
  update("two", R"({"metadata":{"managedFields":[]}})");
  EXPECT_EQ(owners(), "");
}

TEST_F(Owners, SubresourcesMayNotSetThem) {
  start(test::builtin("", "v1", "Pod", "status"));
  store(track_update(target_, live_, object(R"({"status":{"phase":"Running"}})"),
                     writer("one", "status")));
  json::value next = live_;
  api::merge_patch(next, from(R"({"metadata":{"managedFields":[]},"status":{"message":"m"}})"));
  store(track_update(target_, live_, next, writer("one", "status")));
  EXPECT_EQ(owners(), "one Update status: .status.message .status.phase");
}

TEST_F(Owners, OldUpdatersBecomeOne) {
  for (int i = 0; i < 13; ++i) {
    update(fmt::format("m{:02}", i), fmt::format(R"({{"data":{{"k{:02}":"1"}}}})", i));
  }
  EXPECT_EQ(live_.at("metadata").at("managedFields").as_array().size(), 10U);
  EXPECT_THAT(owners(), HasSubstr("ancient-changes Update: .data .data.k00 .data.k01 .data.k02 "
                                  ".data.k03; m04 Update: .data.k04"));
}

TEST_F(Owners, KubectlTakesOverItsClientSideApplies) {
  constexpr std::string_view kLast =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"o"},"data":{"a":"1"}})";
  json::value annotated = object(R"({"data":{"a":"1","b":"1"}})");
  annotated.at("metadata").as_object()["annotations"] =
      json::object{{"kubectl.kubernetes.io/last-applied-configuration", kLast}};
  store(track_update(target_, live_, annotated, writer("kubectl-client-side-apply")));
  EXPECT_EQ(apply_as("other", R"({"data":{"a":"2"}})"),
            "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using v1: "
            ".data.a");
  EXPECT_EQ(apply_as("kubectl", R"({"data":{"a":"2","b":"2"}})"),
            "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using v1: "
            ".data.b")
      << "b is not in the annotation";
  EXPECT_EQ(apply_as("kubectl", R"({"data":{"a":"2"}})"), "");
  EXPECT_EQ(at("data.a"), R"("2")");
  const json::value* annotations = api::find_path(live_, "metadata.annotations");
  EXPECT_EQ(
      annotations->at("kubectl.kubernetes.io/last-applied-configuration"),
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"o","namespace":"ns"},"data":{"a":"2"}})"
      "\n");
}

TEST_F(Owners, CustomResourcesWithoutSchemaAreDeduced) {
  Target gang{.type = &deduced_type(),
              .group = "x.io",
              .version = "v1",
              .kind = "Gang",
              .zero = zero_object(deduced_type(), "x.io/v1", "Gang"),
              .resets = {}};
  start(std::move(gang));
  apply_as("one", R"({"spec":{"min":1,"list":[{"a":1}],"map":{"x":1}}})");
  EXPECT_EQ(owners(), "one Apply: .spec .spec.list .spec.map .spec.min .spec.map.x");
  EXPECT_EQ(apply_as("two", R"({"spec":{"list":[{"b":1}]}})"),
            "Apply failed with 1 conflict: conflict with \"one\": .spec.list");
  EXPECT_EQ(apply_as("two", R"({"spec":{"map":{"y":1}}})"), "");
  apply_as("one", R"({"spec":{"min":1}})");
  EXPECT_EQ(at("spec"), R"({"min":1,"map":{"y":1}})");
}

TEST_F(Owners, ApplyRefusesWhatIsNoApply) {
  const auto refused = [&](std::string_view body) {
    const auto done = apply(target_, live_, from(body), writer("one"), Conflicts::Refused);
    return done ? "" : std::string(to_string(done.error().code)) + " " + done.error().message;
  };
  EXPECT_EQ(refused(R"({"apiVersion":"apps/v1","kind":"Deployment"})"),
            "BadRequest invalid object type: apps/v1, Kind=Deployment");
  EXPECT_EQ(refused(R"({"apiVersion":"v1","kind":"Pod"})"),
            "BadRequest invalid object type: /v1, Kind=Pod");
  EXPECT_EQ(refused(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"managedFields":[]}})"),
            "BadRequest metadata.managedFields must be nil");
  EXPECT_EQ(refused(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"o",
                        "namespace":"ns"},"frob":1})"),
            "InternalError failed to create typed patch object (ns/o; /v1, Kind=ConfigMap): .frob: "
            "field not declared in schema");
  json::value broken = object(R"({"metadata":{"managedFields":[{"operation":"Frob"}]}})");
  live_ = broken;
  EXPECT_EQ(refused(R"({"apiVersion":"v1","kind":"ConfigMap"})"),
            "InternalError failed to decode managed fields: operation must be `Apply` or `Update`");
}

TEST_F(Owners, IdleWritesKeepTheirTimes) {
  update("one", R"({"data":{"a":"1"}})");
  json::value later = live_;
  later.at("metadata").at("managedFields").at(0).as_object()["time"] = "2030-01-01T00:00:00Z";
  json::value changed = later;
  keep_idle_times(live_, later);
  EXPECT_EQ(later, live_);
  changed.at("data").as_object()["a"] = "2";
  const json::value before = changed;
  keep_idle_times(live_, changed);
  EXPECT_EQ(changed, before) << "this is a write";
}

TEST(ManagerName, ComesFromTheOptionOrTheUserAgent) {
  EXPECT_EQ(manager_name("mine", "kubectl/v1.34"), "mine");
  EXPECT_EQ(manager_name("", "kubectl/v1.34 (linux)"), "kubectl");
  EXPECT_EQ(manager_name("", ""), "unknown");
  EXPECT_EQ(manager_name("", "a\tb/1"), "ab");
  EXPECT_EQ(manager_name("", std::string(200, 'x')).size(), 128U);
}

TEST(ZeroObject, HasWhatGoWrites) {
  EXPECT_EQ(test::builtin("", "v1", "Pod").zero.at("spec"), from(R"({"containers":null})"));
  EXPECT_EQ(test::builtin("", "v1", "ConfigMap").zero,
            from(R"({"metadata":{},"apiVersion":"v1","kind":"ConfigMap"})"));
}

} // namespace
} // namespace berth::patch
