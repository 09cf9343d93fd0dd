#include "berth/patch/typed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/patch/random_objects.h"

namespace berth::patch {
namespace {

using test::from;

struct Wrong {
  std::string name;
  std::string object;
  std::string want;
};

class Check : public ::testing::TestWithParam<Wrong> {};

TEST_P(Check, SaysWhatIsNotOfTheType) {
  const Target deployment = test::builtin("apps", "v1", "Deployment");
  const auto done = check_typed(*deployment.type, from(GetParam().object), Duplicates::Refused);
  EXPECT_EQ(done ? "" : done.error().message, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Typed, Check,
    ::testing::Values(
        Wrong{"Fits",
              R"({"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"c"}]}}}})", ""},
        Wrong{"NullFits", R"({"spec":{"replicas":null,"template":null}})", ""},
        Wrong{"Unknown", R"({"spec":{"frob":1}})", ".spec.frob: field not declared in schema"},
        Wrong{"Two", R"({"spec":{"frob":1},"metadata":{"frob":2}})",
              "errors:\n  .spec.frob: field not declared in schema\n  .metadata.frob: field not "
              "declared in schema"},
        Wrong{"NoNumber", R"({"spec":{"replicas":"1"}})",
              ".spec.replicas: expected numeric (int or float), got string"},
        Wrong{"NoText", R"({"metadata":{"labels":{"a":1}}})",
              ".metadata.labels.a: expected string, got &value.valueUnstructured{Value:1}"},
        Wrong{"MapForText", R"({"metadata":{"name":{"a":["b"]}}})",
              ".metadata.name: expected string, got &value.valueUnstructured{Value:map[string]"
              "interface {}{\"a\":[]interface {}{\"b\"}}}"},
        Wrong{"NoBoolean", R"({"spec":{"paused":"yes"}})",
              ".spec.paused: expected boolean, got &{yes}"},
        Wrong{"NoList", R"({"spec":{"template":{"spec":{"containers":{"a":1}}}}})",
              ".spec.template.spec.containers: expected list, got &{map[a:1]}"},
        Wrong{"NoMap", R"({"spec":[1]})", ".spec: expected map, got &{[1]}"},
        Wrong{"NoKey", R"({"spec":{"template":{"spec":{"containers":[{"image":"x"}]}}}})",
              ".spec.template.spec.containers: element 0: associative list with keys has an "
              "element that omits key field \"name\" (and doesn't have default value)"},
        Wrong{"Twice",
              R"({"spec":{"template":{"spec":{"containers":[{"name":"c"},{"name":"c"}]}}}})",
              ".spec.template.spec.containers: duplicate entries for key [name=\"c\"]"},
        Wrong{"InElement",
              R"({"spec":{"template":{"spec":{"containers":[{"name":"c","frob":1}]}}}})",
              ".spec.template.spec.containers[name=\"c\"].frob: field not declared in schema"},
        Wrong{"NullElement", R"({"spec":{"template":{"spec":{"containers":[null]}}}})",
              ".spec.template.spec.containers: element 0: associative list with keys may not have "
              "a null element"}),
    [](const auto& param) { return param.param.name; });

TEST(Check, LetsStoredObjectsHaveDuplicates) {
  const Target pod = test::builtin("", "v1", "Pod");
  EXPECT_TRUE(check_typed(*pod.type, from(R"({"spec":{"containers":[{"name":"c"},{"name":"c"}]}})"),
                          Duplicates::Allowed));
}

TEST(FieldsOf, KnowsDefaultKeysAtomicsAndSets) {
  const Target pod = test::builtin("", "v1", "Pod");
  const FieldSet set =
      fields_of(*pod.type, from(R"({"metadata":{"finalizers":["f"],"labels":{"a":"b"}},
      "spec":{"nodeSelector":{"a":"b"},"tolerations":[{"key":"t"}],"containers":[{"name":"c",
      "ports":[{"containerPort":80}],"args":["x"],"env":[{"name":"E"},{"name":"E"}]}]}})"));
  EXPECT_EQ(to_string(set),
            ".metadata.finalizers[=\"f\"]\n.metadata.labels.a\n.spec.nodeSelector\n"
            ".spec.tolerations\n.spec.containers[name=\"c\"]\n.spec.containers[name=\"c\"].args\n"
            ".spec.containers[name=\"c\"].name\n.spec.containers[name=\"c\"].env[name=\"E\"]\n"
            ".spec.containers[name=\"c\"].ports[containerPort=80,protocol=\"TCP\"]\n"
            ".spec.containers[name=\"c\"].ports[containerPort=80,protocol=\"TCP\"].containerPort");
}

TEST(FieldsOf, DeducesWhatNoSchemaDescribes) {
  const FieldSet set =
      fields_of(deduced_type(), from(R"({"a":{"b":[1,2],"c":{}},"d":null,"e":true})"));
  EXPECT_EQ(to_string(set), ".a\n.d\n.e\n.a.b\n.a.c");
}

std::string text(const Comparison& comparison) {
  std::string out;
  for (const auto& [sign, set] :
       {std::pair("-", &comparison.removed), std::pair("~", &comparison.modified),
        std::pair("+", &comparison.added)}) {
    set->each([&](const Path& path) { out += sign + to_string(path) + " "; });
  }
  return out;
}

struct Pair {
  std::string name;
  std::string left;
  std::string right;
  std::string want;
};

class Compare : public ::testing::TestWithParam<Pair> {};

TEST_P(Compare, FindsWhatDiffers) {
  const schema::TypePtr type = test::toy_type();
  EXPECT_EQ(text(compare_typed(*type, from(GetParam().left), from(GetParam().right))),
            GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Typed, Compare,
    ::testing::Values(
        Pair{"Same", R"({"name":"a","items":[{"name":"x"}]})",
             R"({"items":[{"name":"x"}],"name":"a"})", ""},
        Pair{"Scalars", R"({"name":"a","count":1})", R"({"name":"b","count":1})", "~.name "},
        Pair{"NewMap", R"({})", R"({"labels":{"a":"b"}})", "+.labels +.labels.a "},
        Pair{"GoneMap", R"({"labels":{"a":"b"}})", R"({})", "-.labels -.labels.a "},
        Pair{"EmptyMap", R"({})", R"({"labels":{}})", "+.labels "},
        Pair{"NullAndEmpty", R"({"labels":null})", R"({"labels":{}})", "~.labels "},
        Pair{"FilledMap", R"({"labels":{}})", R"({"labels":{"a":"b"}})", "+.labels.a "},
        Pair{"AtomicMap", R"({"whole":{"a":"b"}})", R"({"whole":{"a":"b","c":"d"}})", "~.whole "},
        Pair{"Elements", R"({"items":[{"name":"x","image":"1"},{"name":"y"}]})",
             R"({"items":[{"name":"z"},{"name":"x","image":"2"}]})",
             "-.items[name=\"y\"] -.items[name=\"y\"].name ~.items[name=\"x\"].image "
             "+.items[name=\"z\"] +.items[name=\"z\"].name "},
        Pair{"OrderIsNothing", R"({"items":[{"name":"x"},{"name":"y"}]})",
             R"({"items":[{"name":"y"},{"name":"x"}]})", ""},
        Pair{"Set", R"({"tags":["a","b"]})", R"({"tags":["b","c"]})",
             "-.tags[=\"a\"] +.tags[=\"c\"] "},
        Pair{"AtomicList", R"({"items":[{"name":"x","args":["1"]}]})",
             R"({"items":[{"name":"x","args":["1","2"]}]})", "~.items[name=\"x\"].args "},
        Pair{"BecomesTwice", R"({"items":[{"name":"x"}]})",
             R"({"items":[{"name":"x"},{"name":"x"}]})",
             "-.items[name=\"x\"] -.items[name=\"x\"].name +.items[name=\"x\"] "},
        Pair{"TwiceChanges", R"({"items":[{"name":"x"},{"name":"x"}]})",
             R"({"items":[{"name":"x"},{"name":"x","image":"1"}]})", "~.items[name=\"x\"] "},
        Pair{"NoLongerTwice", R"({"items":[{"name":"x"},{"name":"x"}]})",
             R"({"items":[{"name":"x"}]})",
             "-.items[name=\"x\"] +.items[name=\"x\"] +.items[name=\"x\"].name "},
        Pair{"FormChanges", R"({"free":{"a":{"b":1}}})", R"({"free":{"a":1}})",
             "-.free.a.b ~.free.a "}),
    [](const auto& param) { return param.param.name; });

class Merge : public ::testing::TestWithParam<Pair> {};

TEST_P(Merge, JoinsAndOrders) {
  const schema::TypePtr type = test::toy_type();
  EXPECT_EQ(api::to_json(merge_typed(*type, from(GetParam().left), from(GetParam().right))),
            GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Typed, Merge,
    ::testing::Values(
        Pair{"Maps", R"({"name":"a","labels":{"x":"1"}})", R"({"labels":{"y":"2"},"count":1})",
             R"({"name":"a","labels":{"x":"1","y":"2"},"count":1})"},
        Pair{"AtomicReplaced", R"({"whole":{"a":"b"}})", R"({"whole":{"c":"d"}})",
             R"({"whole":{"c":"d"}})"},
        Pair{"Element", R"({"items":[{"name":"x","image":"1"}]})",
             R"({"items":[{"name":"x","args":["a"]}]})",
             R"({"items":[{"name":"x","image":"1","args":["a"]}]})"},
        Pair{"AppliedOrder", R"({"tags":["a","b","c"]})", R"({"tags":["c","a"]})",
             R"({"tags":["b","c","a"]})"},
        Pair{"LiveKeepsItsPlace", R"({"tags":["a","live","b"]})", R"({"tags":["a","b","new"]})",
             R"({"tags":["a","live","b","new"]})"},
        Pair{"NewOneInItsPlace", R"({"tags":["a","b"]})", R"({"tags":["a","n","b"]})",
             R"({"tags":["a","n","b"]})"},
        Pair{"AppliedReplacesTwice", R"({"items":[{"name":"x","image":"1"},{"name":"x"}]})",
             R"({"items":[{"name":"x","args":["a"]}]})",
             R"({"items":[{"name":"x","args":["a"]}]})"},
        Pair{"OthersStayTwice", R"({"items":[{"name":"y"},{"name":"x"},{"name":"y"}]})",
             R"({"items":[{"name":"x"}]})",
             R"({"items":[{"name":"y"},{"name":"x"},{"name":"y"}]})"},
        Pair{"EmptyApplied", R"({"labels":{"a":"b"},"tags":["a"]})", R"({"labels":{},"tags":[]})",
             R"({"labels":{"a":"b"},"tags":["a"]})"},
        Pair{"NullApplied", R"({"labels":{}})", R"({"labels":null})", R"({"labels":null})"},
        Pair{"FormChanges", R"({"free":{"a":{"b":1}}})", R"({"free":{"a":[1]}})",
             R"({"free":{"a":[1]}})"}),
    [](const auto& param) { return param.param.name; });

TEST(RemoveFields, TakesOutFieldsAndElements) {
  const schema::TypePtr type = test::toy_type();
  FieldSet set;
  set.insert({"name"});
  set.insert({"labels", "a"});
  set.insert(Path{PathElement::field("items"), PathElement::key({{"name", "x"}})});
  set.insert(Path{PathElement::field("items"), PathElement::key({{"name", "y"}}),
                  PathElement::field("image")});
  EXPECT_EQ(api::to_json(remove_fields(
                *type, from(R"({"name":"n","count":1,"labels":{"a":"b"},"whole":{"a":"b"},
                         "items":[{"name":"x"},{"name":"y","image":"1"}]})"),
                set)),
            R"({"count":1,"labels":null,"whole":{"a":"b"},"items":[{"name":"y"}]})");
}

TEST(UnderType, FollowsASchemaThatChanged) {
  const schema::TypePtr type = test::toy_type();
  FieldSet set;
  set.insert({"whole", "a"}); // shared once, atomic now
  set.insert({"items"});      // atomic once, shared now
  const json::value live = from(R"({"whole":{"a":"b"},"items":[{"name":"x","image":"1"}]})");
  EXPECT_EQ(
      to_string(under_type(set, *type, live)),
      ".items\n.whole\n.items[name=\"x\"]\n.items[name=\"x\"].image\n.items[name=\"x\"].name");
}

TEST(TypedProperties, WhatIsSaidIsWhatIsAdded) {
  const schema::TypePtr type = test::toy_type();
  EXPECT_TRUE(rc::check([&] {
    const json::value a = test::any_toy();
    const json::value b = test::any_toy();
    const json::value merged = merge_typed(*type, a, b);
    RC_ASSERT(check_typed(*type, merged, Duplicates::Refused).has_value());
    // A merge removes nothing, and changes nothing but what was applied.
    const Comparison change = compare_typed(*type, a, merged);
    RC_ASSERT(change.removed.empty());
    const FieldSet applied = with_named_parents(fields_of(*type, b), *type);
    RC_ASSERT(FieldSet::without(change.modified, applied).empty());
    // Applying it again changes nothing more.
    RC_ASSERT(same_value(merge_typed(*type, merged, b), merged));
    RC_ASSERT(compare_typed(*type, a, a).same());
    // Removal of all that a value mentions leaves nothing of it.
    RC_ASSERT(fields_of(*type, remove_fields(*type, a, fields_of(*type, a))).empty());
  }));
}

} // namespace
} // namespace berth::patch
