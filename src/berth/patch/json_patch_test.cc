#include "berth/patch/json_patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "berth/patch/random_objects.h"

namespace berth::patch {
namespace {

using test::from;

struct Case {
  std::string name;
  std::string document;
  std::string patch;
  std::string want; ///< the document, or the error
};

class JsonPatch : public ::testing::TestWithParam<Case> {};

TEST_P(JsonPatch, DoesWhatEvanphxDoes) {
  const auto done = json_patch(from(GetParam().document), from(GetParam().patch));
  EXPECT_EQ(done ? api::to_json(*done) : done.error().message, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Operations, JsonPatch,
    ::testing::Values(
        Case{"Add", R"({"a":1})", R"([{"op":"add","path":"/b","value":{"c":2}}])",
             R"({"a":1,"b":{"c":2}})"},
        Case{"AddReplaces", R"({"a":1})", R"([{"op":"add","path":"/a","value":2}])", R"({"a":2})"},
        Case{"AddInto", R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])",
             R"({"a":[1,2,3]})"},
        Case{"AddLast", R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])",
             R"({"a":[1,2]})"},
        Case{"AddAtEnd", R"({"a":[1]})", R"([{"op":"add","path":"/a/1","value":2}])",
             R"({"a":[1,2]})"},
        Case{"AddFromTheEnd", R"({"a":[1,2]})", R"([{"op":"add","path":"/a/-1","value":3}])",
             R"({"a":[1,2,3]})"},
        Case{"AddBeyond", R"({"a":[1]})", R"([{"op":"add","path":"/a/2","value":2}])",
             "error in add for path: '/a/2': Unable to access invalid index: 2: invalid index "
             "referenced"},
        Case{"AddNoIndex", R"({"a":[1]})", R"([{"op":"add","path":"/a/x","value":2}])",
             "error in add for path: '/a/x': value was not a proper array index: 'x': "
             "strconv.Atoi: parsing \"x\": invalid syntax"},
        Case{"AddWithoutParent", R"({"a":1})", R"([{"op":"add","path":"/b/c","value":2}])",
             "add operation does not apply: doc is missing path: \"/b/c\": missing value"},
        Case{"AddBelowScalar", R"({"a":1})", R"([{"op":"add","path":"/a/c","value":2}])",
             "add operation does not apply: doc is missing path: \"/a/c\": missing value"},
        Case{"AddNull", R"({"a":1})", R"([{"op":"add","path":"/b"}])", R"({"a":1,"b":null})"},
        Case{"Escapes", R"({"a/b":{"m~n":1}})",
             R"([{"op":"replace","path":"/a~1b/m~0n","value":2}])", R"({"a/b":{"m~n":2}})"},
        Case{"Remove", R"({"a":1,"b":2,"c":3})", R"([{"op":"remove","path":"/a"}])",
             R"({"b":2,"c":3})"},
        Case{"RemoveElement", R"({"a":[1,2,3]})", R"([{"op":"remove","path":"/a/-1"}])",
             R"({"a":[1,2]})"},
        Case{"RemoveMissing", R"({"a":1})", R"([{"op":"remove","path":"/b"}])",
             "error in remove for path: '/b': Unable to remove nonexistent key: b: missing value"},
        Case{"RemoveBeyond", R"({"a":[1]})", R"([{"op":"remove","path":"/a/1"}])",
             "error in remove for path: '/a/1': Unable to access invalid index: 1: invalid index "
             "referenced"},
        Case{"RemoveWithoutPath", R"({"a":1})", R"([{"op":"remove"}])",
             "remove operation failed to decode path: missing value"},
        Case{"Replace", R"({"a":1})", R"([{"op":"replace","path":"/a","value":[2]}])",
             R"({"a":[2]})"},
        Case{"ReplaceMakes", R"({"a":1})", R"([{"op":"replace","path":"/b","value":2}])",
             R"({"a":1,"b":2})"},
        Case{"ReplaceAll", R"({"a":1})", R"([{"op":"replace","path":"","value":{"b":2}}])",
             R"({"b":2})"},
        Case{"ReplaceAllByScalar", R"({"a":1})", R"([{"op":"replace","path":"","value":2}])",
             "replace operation value must be object or array"},
        Case{"ReplaceBeyond", R"({"a":[1]})", R"([{"op":"replace","path":"/a/1","value":2}])",
             "replace operation does not apply: doc is missing key: /a/1: missing value"},
        Case{
            "ReplaceWithoutPath", R"({"a":1})", R"([{"op":"replace","value":2}])",
            "replace operation failed to decode path: operation missing path field: missing value"},
        Case{"Move", R"({"a":{"b":1},"c":{}})", R"([{"op":"move","from":"/a/b","path":"/c/d"}])",
             R"({"a":{},"c":{"d":1}})"},
        Case{"MoveInList", R"({"a":[1,2,3]})", R"([{"op":"move","from":"/a/0","path":"/a/-"}])",
             R"({"a":[2,3,1]})"},
        Case{"MoveMissing", R"({"a":1})", R"([{"op":"move","from":"/b/c","path":"/d"}])",
             "move operation does not apply: doc is missing from path: /b/c: missing value"},
        Case{"MoveIntoItself", R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/b"}])",
             "move operation does not apply: doc is missing destination path: /a/b: missing value"},
        Case{"Copy", R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/c"}])",
             R"({"a":{"b":1},"c":{"b":1}})"},
        Case{"CopyMissing", R"({"a":{}})", R"([{"op":"copy","from":"/b/c","path":"/c"}])",
             "copy operation does not apply: doc is missing from path: /b/c: missing value"},
        Case{"Test", R"({"a":{"x":1,"y":[2]}})",
             R"([{"op":"test","path":"/a","value":{"y":[2],"x":1}}])", R"({"a":{"x":1,"y":[2]}})"},
        Case{"TestMissingIsNull", R"({"a":1})", R"([{"op":"test","path":"/b","value":null}])",
             R"({"a":1})"},
        Case{"TestFails", R"({"a":1})", R"([{"op":"test","path":"/a","value":"1"}])",
             "testing value /a failed: test failed"},
        Case{"TestAll", R"({"a":1})", R"([{"op":"test","path":"","value":{"a":2}}])",
             "testing value  failed: test failed"},
        Case{"Unknown", R"({"a":1})", R"([{"op":"frob","path":"/x"}])", "Unexpected kind: frob"},
        Case{"NoOperation", R"({"a":1})", R"([{"path":"/x"}])", "Unexpected kind: unknown"},
        Case{"AllOrNothing", R"({"a":1})",
             R"([{"op":"remove","path":"/a"},{"op":"remove","path":"/a"}])",
             "error in remove for path: '/a': Unable to remove nonexistent key: a: missing value"}),
    [](const auto& param) { return param.param.name; });

TEST(JsonPatchLimits, RefusesTooManyOperations) {
  const json::value operation = from(R"({"op":"test","path":"/a","value":1})");
  json::array operations(kMostOperations, operation);
  EXPECT_TRUE(json_patch(from(R"({"a":1})"), operations));
  operations.push_back(operation);
  const auto done = json_patch(from(R"({"a":1})"), operations);
  ASSERT_FALSE(done);
  EXPECT_EQ(http_status(done.error().code), 413);
  EXPECT_EQ(done.error().message,
            "Request entity is too large: The allowed maximum operations in a "
            "JSON patch is 10000, got 10001");
}

TEST(JsonPatchLimits, RefusesCopiesThatGrow) {
  // Doubling: 40 operations would make terabytes.
  json::array operations;
  for (int i = 0; i < 40; ++i) {
    operations.push_back(from(R"({"op":"copy","from":"/a","path":"/a/-"})"));
  }
  const auto done = json_patch(from(R"({"a":["0123456789"]})"), operations);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message,
              ::testing::StartsWith("Unable to complete the copy, the accumulated size increase of "
                                    "copy is "));
}

TEST(JsonPatchLimits, RefusesDocumentsThatNestTooDeep) {
  json::array operations; // each copy doubles the depth of /a
  std::string deepest = "/a";
  for (std::size_t depth = 1; depth <= 8; ++depth) {
    operations.push_back(json::object{{"op", "copy"}, {"from", "/a"}, {"path", deepest + "/a"}});
    const std::string below = deepest;
    deepest += below;
  }
  const auto done = json_patch(from(R"({"a":{}})"), operations);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "error while adding value during copy: exceeded max depth");
}

std::string escaped(std::string_view name) {
  std::string out;
  for (const char c : name) {
    out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return out;
}

// The plainest diff there is.
void difference(const json::value& a, const json::value& b, const std::string& at,
                json::array& out) {
  if (same_value(a, b)) {
    return;
  }
  if (!a.is_object() || !b.is_object()) {
    out.push_back(json::object{{"op", "replace"}, {"path", at}, {"value", b}});
    return;
  }
  for (const auto& [key, value] : a.get_object()) {
    const std::string below = at + "/" + escaped(key);
    if (const json::value* other = b.get_object().if_contains(key)) {
      difference(value, *other, below, out);
    } else {
      out.push_back(json::object{{"op", "remove"}, {"path", below}});
    }
  }
  for (const auto& [key, value] : b.get_object()) {
    if (!a.get_object().contains(key)) {
      out.push_back(
          json::object{{"op", "add"}, {"path", at + "/" + escaped(key)}, {"value", value}});
    }
  }
}

TEST(JsonPatchProperties, ADifferenceMakesOneOfTheOther) {
  EXPECT_TRUE(rc::check([] {
    const json::value a = test::any_toy();
    const json::value b = test::any_toy();
    json::array operations;
    difference(a, b, "", operations);
    const auto done = json_patch(a, operations);
    RC_ASSERT(done.has_value());
    RC_ASSERT(same_value(*done, b));
  }));
}

json::value merge_difference(const json::value& a, const json::value& b) {
  if (!a.is_object() || !b.is_object()) {
    return b;
  }
  json::object out;
  for (const auto& [key, value] : a.get_object()) {
    const json::value* other = b.get_object().if_contains(key);
    if (other == nullptr) {
      out[key] = nullptr;
    } else if (!same_value(value, *other)) {
      out[key] = merge_difference(value, *other);
    }
  }
  for (const auto& [key, value] : b.get_object()) {
    if (!a.get_object().contains(key)) {
      out[key] = value;
    }
  }
  return out;
}

TEST(MergePatchProperties, ADifferenceMakesOneOfTheOther) {
  EXPECT_TRUE(rc::check([] {
    json::value a = test::any_toy();
    const json::value b = test::any_toy();
    api::merge_patch(a, merge_difference(a, b));
    RC_ASSERT(same_value(a, b));
  }));
}

} // namespace
} // namespace berth::patch
