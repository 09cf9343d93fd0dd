#include "berth/patch/field_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "berth/patch/fields_v1.h"
#include "berth/patch/random_objects.h"

namespace berth::patch {
namespace {

using test::any_below;
using test::from;

// The obvious reference: every member's path.
using Reference = std::set<std::string>;

PathElement any_element() {
  switch (any_below(4)) {
  case 0:
    return PathElement::field(std::string_view(test::any_word()));
  case 1:
    return PathElement::key({{"name", test::any_word()}, {"port", any_below(2)}});
  case 2:
    return PathElement::item(test::any_word());
  default:
    return PathElement::at(any_below(2));
  }
}

std::vector<Path> any_paths() {
  std::vector<Path> out;
  for (int count = any_below(12); count > 0; --count) {
    Path path;
    for (int depth = 1 + any_below(3); depth > 0; --depth) {
      path.push_back(any_element());
    }
    out.push_back(std::move(path));
  }
  return out;
}

FieldSet set_of(const std::vector<Path>& paths) {
  FieldSet out;
  for (const Path& path : paths) {
    out.insert(path);
  }
  return out;
}

Reference reference_of(const FieldSet& set) {
  Reference out;
  set.each([&](const Path& path) { out.insert(to_string(path)); });
  return out;
}

Reference texts(const std::vector<Path>& paths) {
  Reference out;
  for (const Path& path : paths) {
    out.insert(to_string(path));
  }
  return out;
}

Reference kept(const Reference& in, const std::function<bool(const std::string&)>& keep) {
  Reference out;
  std::ranges::copy_if(in, std::inserter(out, out.end()), keep);
  return out;
}

bool below_any(const std::string& path, const std::vector<Path>& roots) {
  return std::ranges::any_of(roots, [&](const Path& root) {
    const std::string prefix = to_string(root);
    return path == prefix ||
           (path.starts_with(prefix) && (path[prefix.size()] == '.' || path[prefix.size()] == '['));
  });
}

TEST(FieldSet, AgreesWithSetsOfPaths) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<Path> left = any_paths();
    const std::vector<Path> right = any_paths();
    const FieldSet a = set_of(left);
    const FieldSet b = set_of(right);
    const Reference as = texts(left);
    const Reference bs = texts(right);
    RC_ASSERT(reference_of(a) == as);
    RC_ASSERT(a.size() == as.size());
    RC_ASSERT(a.empty() == as.empty());
    Reference both = as;
    both.insert(bs.begin(), bs.end());
    RC_ASSERT(reference_of(FieldSet::united(a, b)) == both);
    RC_ASSERT(reference_of(FieldSet::common(a, b)) ==
              kept(as, [&](const std::string& path) { return bs.contains(path); }));
    RC_ASSERT(reference_of(FieldSet::without(a, b)) ==
              kept(as, [&](const std::string& path) { return !bs.contains(path); }));
    RC_ASSERT(reference_of(FieldSet::without_trees(a, b)) ==
              kept(as, [&](const std::string& path) { return !below_any(path, right); }));
    for (const Path& path : right) {
      RC_ASSERT(a.has(path) == as.contains(to_string(path)));
    }
  }));
}

TEST(FieldSet, KeepsTheLawsOfSets) {
  EXPECT_TRUE(rc::check([] {
    const FieldSet a = set_of(any_paths());
    const FieldSet b = set_of(any_paths());
    RC_ASSERT(FieldSet::united(a, b) == FieldSet::united(b, a));
    RC_ASSERT(FieldSet::united(a, a) == a);
    RC_ASSERT(FieldSet::common(a, b) == FieldSet::common(b, a));
    RC_ASSERT(FieldSet::without(a, a).empty());
    RC_ASSERT(FieldSet::united(FieldSet::without(a, b), FieldSet::common(a, b)) == a);
    RC_ASSERT(FieldSet::common(FieldSet::without(a, b), b).empty());
  }));
}

TEST(FieldsV1, ReadsWhatItWrites) {
  EXPECT_TRUE(rc::check([] {
    const FieldSet set = set_of(any_paths());
    const auto read = read_fields_v1(write_fields_v1(set));
    RC_ASSERT(read.has_value());
    RC_ASSERT(*read == set);
  }));
}

TEST(FieldsV1, KeepsTheTextOfRealSets) {
  constexpr std::string_view kPod = R"({"f:metadata":{"f:finalizers":{".":{},"v:\"a\"":{}},)"
                                    R"("f:labels":{".":{},"f:x":{}}},"f:spec":{"f:ports":{)"
                                    R"("k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},)"
                                    R"("f:containerPort":{}}},"f:x":{"i:0":{}}}})";
  const auto set = read_fields_v1(from(kPod));
  ASSERT_TRUE(set);
  EXPECT_EQ(to_string(*set), ".metadata.finalizers\n.metadata.labels\n"
                             ".metadata.finalizers[=\"a\"]\n.metadata.labels.x\n"
                             ".spec.ports[containerPort=80,protocol=\"TCP\"]\n"
                             ".spec.ports[containerPort=80,protocol=\"TCP\"].containerPort\n"
                             ".spec.x[0]");
  EXPECT_EQ(api::to_json(write_fields_v1(*set)), kPod);
}

TEST(FieldsV1, OrdersByKindAndName) {
  FieldSet set;
  for (PathElement element :
       {PathElement::at(1), PathElement::item("b"), PathElement::item(2), PathElement::item(1),
        PathElement::key({{"name", "<c>"}}), PathElement::field("b"), PathElement::field("a")}) {
    set.insert(Path{std::move(element)});
  }
  EXPECT_EQ(api::to_json(write_fields_v1(set)),
            R"({"f:a":{},"f:b":{},"k:{\"name\":\"\\u003cc\\u003e\"}":{},)"
            R"("v:1":{},"v:2":{},"v:\"b\"":{},"i:1":{}})");
}

struct Bad {
  std::string name;
  std::string fields;
  std::string want;
};

class UnreadableFields : public ::testing::TestWithParam<Bad> {};

TEST_P(UnreadableFields, SaysWhy) {
  const auto read = read_fields_v1(from(GetParam().fields));
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, ::testing::HasSubstr(GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    FieldsV1, UnreadableFields,
    ::testing::Values(Bad{"Short", R"({"f":{}})", "it must be 2 characters long"},
                      Bad{"NoColon", R"({"fx":{}})", "missing colon"},
                      Bad{"Key", R"({"k:{":{}})", "no JSON object follows"},
                      Bad{"Value", R"({"v:x":{}})", "no JSON value follows"},
                      Bad{"Index", R"({"f:a":{"i:x":{}}})", "no number follows"}),
    [](const auto& param) { return param.param.name; });

TEST(FieldsV1, LeavesOutKindsItDoesNotKnow) {
  const auto read = read_fields_v1(from(R"({"x:new":{"f:a":{}},"f:b":{"x:new":{}}})"));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_string(*read), ".b");
}

} // namespace
} // namespace berth::patch
