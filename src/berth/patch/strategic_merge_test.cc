#include "berth/patch/strategic_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/patch/random_objects.h"

namespace berth::patch {
namespace {

using test::from;

struct Case {
  std::string name;
  std::string original;
  std::string patch;
  std::string want; ///< the object, or the error with its code
};

std::string outcome(const Result<json::value>& done) {
  return done ? api::to_json(*done)
              : std::string(to_string(done.error().code)) + " " + done.error().message;
}

class StrategicMerge : public ::testing::TestWithParam<Case> {};

TEST_P(StrategicMerge, DoesWhatApimachineryDoes) {
  const schema::TypePtr type = test::toy_type();
  EXPECT_EQ(outcome(strategic_merge(from(GetParam().original), from(GetParam().patch), *type)),
            GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Maps, StrategicMerge,
    ::testing::Values(
        Case{"Members", R"({"name":"a","labels":{"x":"1","y":"2"}})",
             R"({"labels":{"x":"3","z":"4"}})",
             R"({"name":"a","labels":{"x":"3","y":"2","z":"4"}})"},
        Case{"NullDeletes", R"({"name":"a","labels":{"x":"1","y":"2"}})",
             R"({"name":null,"labels":{"x":null,"q":null}})", R"({"labels":{"y":"2"}})"},
        Case{"NewIsTakenWithoutNulls", R"({})", R"({"labels":{"x":"1","y":null}})",
             R"({"labels":{"x":"1"}})"},
        Case{"OtherFormReplaces", R"({"labels":{"x":"1"}})", R"({"labels":["x"]})",
             R"({"labels":["x"]})"},
        Case{"DirectiveReplace", R"({"name":"a","labels":{"x":"1"}})",
             R"({"labels":{"$patch":"replace","z":"4"}})", R"({"name":"a","labels":{"z":"4"}})"},
        Case{"DirectiveDelete", R"({"name":"a","labels":{"x":"1"}})",
             R"({"labels":{"$patch":"delete"}})", R"({"name":"a","labels":{}})"},
        Case{"RootDirective", R"({"name":"a","count":1})", R"({"$patch":"replace","count":2})",
             R"({"count":2})"},
        Case{"DirectiveMerge", R"({"labels":{"x":"1"}})", R"({"labels":{"$patch":"merge"}})",
             "InternalError unknown patch type: merge in map: map[$patch:merge]"},
        Case{"UnknownDirective", R"({"labels":{"x":"1"}})",
             R"({"labels":{"$patch":"frob","a":{"b":[1,null]}}})",
             "InternalError unknown patch type: frob in map: map[$patch:frob a:map[b:[1 <nil>]]]"},
        Case{"RetainKeys", R"({"labels":{"x":"1","y":"2"},"name":"a"})",
             R"({"$retainKeys":["name","count"],"count":2})", R"({"name":"a","count":2})"},
        Case{"RetainKeysLacksOne", R"({"name":"a"})", R"({"$retainKeys":["count"],"name":"b"})",
             "BadRequest invalid patch format of retainKeys"},
        Case{"RetainKeysNoList", R"({"name":"a"})", R"({"$retainKeys":"name"})",
             "BadRequest invalid patch format of retainKeys"},
        Case{"UntypedMerges", R"({"free":{"a":{"b":1,"c":2}}})", R"({"free":{"a":{"b":3}}})",
             R"({"free":{"a":{"b":3,"c":2}}})"},
        Case{"UnknownField", R"({"frob":1})", R"({"frob":2})",
             "InternalError unable to find api field in struct Toy for the json field \"frob\""}),
    [](const auto& param) { return param.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Lists, StrategicMerge,
    ::testing::Values(
        Case{"MergedByKey", R"({"items":[{"name":"a","image":"1"},{"name":"b","image":"2"}]})",
             R"({"items":[{"name":"b","image":"3"}]})",
             R"({"items":[{"name":"a","image":"1"},{"name":"b","image":"3"}]})"},
        Case{"NewOneComesFirst", R"({"items":[{"name":"a"}]})", R"({"items":[{"name":"b"}]})",
             R"({"items":[{"name":"b"},{"name":"a"}]})"},
        Case{"PatchOrderWins", R"({"items":[{"name":"a"},{"name":"b"},{"name":"c"}]})",
             R"({"items":[{"name":"c"},{"name":"a"}]})",
             R"({"items":[{"name":"b"},{"name":"c"},{"name":"a"}]})"},
        Case{"AtomicListReplaced", R"({"items":[{"name":"a","args":["1","2"]}]})",
             R"({"items":[{"name":"a","args":["3"]}]})",
             R"({"items":[{"name":"a","args":["3"]}]})"},
        Case{"ElementDeleted", R"({"items":[{"name":"a"},{"name":"b"}]})",
             R"({"items":[{"name":"a","$patch":"delete"}]})", R"({"items":[{"name":"b"}]})"},
        Case{"DeletedNotThere", R"({"items":[{"name":"b"}]})",
             R"({"items":[{"name":"a","$patch":"delete"}]})", R"({"items":[{"name":"b"}]})"},
        Case{"ListReplaced", R"({"items":[{"name":"a"},{"name":"b"}]})",
             R"({"items":[{"name":"c"},{"$patch":"replace"}]})", R"({"items":[{"name":"c"}]})"},
        Case{"ListEmptied", R"({"items":[{"name":"a"}]})", R"({"items":[{"$patch":"replace"}]})",
             R"({"items":[]})"},
        Case{"ElementMerge", R"({"items":[{"name":"a"}]})",
             R"({"items":[{"name":"a","$patch":"merge"}]})",
             "InternalError merging lists cannot yet be specified in the patch"},
        Case{"ElementUnknownDirective", R"({"items":[{"name":"a"}]})",
             R"({"items":[{"name":"a","$patch":"frob"}]})",
             "InternalError unknown patch type: frob in map: map[$patch:frob name:a]"},
        Case{"NoMergeKey", R"({"items":[{"name":"a"}]})", R"({"items":[{"image":"1"}]})",
             "InternalError map: map[image:1] does not contain declared merge key: name"},
        Case{"DeleteWithoutKey", R"({"items":[{"name":"a"}]})",
             R"({"items":[{"$patch":"delete"}]})",
             "InternalError map: map[$patch:delete] does not contain declared merge key: name"},
        Case{"MixedElements", R"({"items":[{"name":"a"}]})", R"({"items":["a"]})",
             "InternalError list element types are not identical: [[map[name:a]] [a]]"},
        Case{"ListOfLists", R"({"tags":["a"]})", R"({"tags":[["a"]]})",
             "InternalError list element types are not identical: [[a] [[a]]]"},
        Case{"OnlyListOfLists", R"({"tags":[]})", R"({"tags":[["a"]]})",
             "Invalid lists of lists are not supported"},
        Case{"ScalarsMerged", R"({"tags":["a","b"]})", R"({"tags":["c","b"]})",
             R"({"tags":["c","a","b"]})"},
        Case{"ScalarsDeleted", R"({"tags":["a","b","c"]})",
             R"({"$deleteFromPrimitiveList/tags":["a","c","x"]})", R"({"tags":["b"]})"},
        Case{"ScalarsDeletedNowhere", R"({"name":"a"})",
             R"({"$deleteFromPrimitiveList/tags":["a"]})", R"({"name":"a"})"},
        Case{"BadDeleteDirective", R"({"tags":["a"]})", R"({"$deleteFromPrimitiveList":["a"]})",
             "BadRequest invalid patch format of primitive list"}),
    [](const auto& param) { return param.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Orders, StrategicMerge,
    ::testing::Values(
        Case{"Reorders", R"({"items":[{"name":"a"},{"name":"b"},{"name":"c"}]})",
             R"({"$setElementOrder/items":[{"name":"c"},{"name":"b"},{"name":"a"}]})",
             R"({"items":[{"name":"c"},{"name":"b"},{"name":"a"}]})"},
        Case{"LiveOnesStayBetween", R"({"items":[{"name":"a"},{"name":"live"},{"name":"b"}]})",
             R"({"$setElementOrder/items":[{"name":"a"},{"name":"n"},{"name":"b"}],)"
             R"("items":[{"name":"n","image":"1"}]})",
             R"({"items":[{"name":"a"},{"name":"n","image":"1"},{"name":"live"},{"name":"b"}]})"},
        Case{"WithDeletion", R"({"items":[{"name":"a"},{"name":"b"}]})",
             R"({"$setElementOrder/items":[{"name":"b"}],)"
             R"("items":[{"name":"a","$patch":"delete"}]})",
             R"({"items":[{"name":"b"}]})"},
        Case{"Scalars", R"({"tags":["a","b"]})",
             R"({"$setElementOrder/tags":["c","b","a"],"tags":["c"]})",
             R"({"tags":["c","b","a"]})"},
        Case{"NewList", R"({})", R"({"$setElementOrder/tags":["a","b"],"tags":["a","b"]})",
             R"({"tags":["a","b"]})"},
        Case{"NothingToOrder", R"({"name":"a"})", R"({"$setElementOrder/tags":["a"]})",
             R"({"name":"a"})"},
        Case{"OutOfOrder", R"({"tags":["x"]})",
             R"({"$setElementOrder/tags":["a","b"],"tags":["b","a"]})",
             "InternalError The order in patch list:\n[b a]\n doesn't match $setElementOrder "
             "list:\n[a b]\n"},
        Case{"NoList", R"({"tags":["x"]})", R"({"$setElementOrder/tags":"a"})",
             "InternalError expected a []interface {}, but received a string"},
        Case{"BadDirective", R"({"tags":["x"]})", R"({"$setElementOrder":["a"]})",
             "BadRequest invalid patch format of setElementOrder list"},
        Case{"OrderWithoutKey", R"({"items":[{"name":"a"}]})",
             R"({"$setElementOrder/items":[{"image":"1"}],"items":[{"name":"a"}]})",
             "InternalError map: map[image:1] does not contain declared merge key: name"}),
    [](const auto& param) { return param.param.name; });

TEST(StrategicMergeOfBuiltins, KnowsTheirKeys) {
  const Target pod = test::builtin("", "v1", "Pod");
  const auto done =
      strategic_merge(from(R"({"spec":{"containers":[{"name":"a","env":[{"name":"X","value":"1"}],
               "ports":[{"containerPort":80,"protocol":"UDP"}]},{"name":"b"}],
               "tolerations":[{"key":"t"}],"volumes":[{"name":"v","emptyDir":{}}]}})"),
                      from(R"({"spec":{"containers":[{"name":"a","env":[{"name":"Y","value":"2"}],
               "ports":[{"containerPort":80,"name":"web"}]}],"tolerations":[{"key":"u"}],
               "volumes":[{"name":"v","$retainKeys":["name","hostPath"],"hostPath":{"path":"/"}}]}})"),
                      *pod.type);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(json::value(*done),
            from(R"({"spec":{"containers":[{"name":"a","env":[{"name":"Y","value":"2"},
                     {"name":"X","value":"1"}],"ports":[{"containerPort":80,"protocol":"UDP",
                     "name":"web"}]},{"name":"b"}],"tolerations":[{"key":"u"}],
                     "volumes":[{"name":"v","hostPath":{"path":"/"}}]}})"));
}

// What `kubectl apply` sends: changes, deletions, and the order of every merged list.
json::object difference(const json::object& a, const json::object& b, const schema::Type& type);

json::array keyed_difference(const json::array& a, const json::array& b, const schema::Type& item) {
  json::array out;
  const auto named = [](const json::array& list, const json::value& name) -> const json::value* {
    const auto at =
        std::ranges::find_if(list, [&](const json::value& one) { return one.at("name") == name; });
    return at == list.end() ? nullptr : &*at;
  };
  for (const json::value& element : b) {
    const json::value* before = named(a, element.at("name"));
    json::object change = before == nullptr
                              ? element.get_object()
                              : difference(before->get_object(), element.get_object(), item);
    change["name"] = element.at("name");
    out.push_back(std::move(change));
  }
  for (const json::value& element : a) {
    if (named(b, element.at("name")) == nullptr) {
      out.push_back(json::object{{"name", element.at("name")}, {"$patch", "delete"}});
    }
  }
  return out;
}

void list_difference(std::string_view key, const json::array& a, const json::array& b,
                     const schema::Type& type, json::object& out) {
  if (!type.merges) {
    out[key] = b;
    return;
  }
  json::array order;
  if (type.merge_key.empty()) {
    json::array gone;
    std::ranges::copy_if(a, std::back_inserter(gone), [&](const json::value& one) {
      return std::ranges::find(b, one) == b.end();
    });
    out["$deleteFromPrimitiveList/" + std::string(key)] = gone;
    order = b;
    out[key] = b;
  } else {
    for (const json::value& element : b) {
      order.push_back(json::object{{"name", element.at("name")}});
    }
    out[key] = keyed_difference(a, b, *type.element);
  }
  out["$setElementOrder/" + std::string(key)] = order;
}

json::object difference(const json::object& a, const json::object& b, const schema::Type& type) {
  json::object out;
  for (const auto& [key, value] : a) {
    if (!b.contains(key)) {
      out[key] = nullptr;
    }
  }
  for (const auto& [key, value] : b) {
    const json::value* before = a.if_contains(key);
    const schema::Type* of = member_type(type, key);
    if (before == nullptr || before->kind() != value.kind()) {
      out[key] = value;
    } else if (value.is_object()) {
      out[key] = difference(before->get_object(), value.get_object(), *of);
    } else if (value.is_array()) {
      list_difference(key, before->get_array(), value.get_array(), *of, out);
    } else {
      out[key] = value;
    }
  }
  return out;
}

TEST(StrategicMergeProperties, ADifferenceMakesOneOfTheOtherInOrder) {
  const schema::TypePtr type = test::toy_type();
  EXPECT_TRUE(rc::check([&] {
    const json::object a = test::any_toy();
    const json::object b = test::any_toy();
    const auto done = strategic_merge(a, difference(a, b, *type), *type);
    RC_ASSERT(done.has_value());
    RC_ASSERT(same_value(*done, b));
  }));
}

TEST(StrategicMergeProperties, TwiceIsOnce) {
  const schema::TypePtr type = test::toy_type();
  EXPECT_TRUE(rc::check([&] {
    const json::value patch = test::any_toy();
    const auto once = strategic_merge(test::any_toy(), patch, *type);
    RC_ASSERT(once.has_value());
    const auto twice = strategic_merge(*once, patch, *type);
    RC_ASSERT(twice.has_value());
    RC_ASSERT(same_value(*once, *twice));
  }));
}

} // namespace
} // namespace berth::patch
