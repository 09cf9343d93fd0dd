// Objects in, cells out, for every kind but pods.
#include <gtest/gtest.h>

#include "berth/server/tables/cells.h"
#include "berth/server/tables/table_examples.h"
#include "berth/server/tables/table_fixture.h"

namespace berth::server {
namespace {

class Tables : public testing::TestWithParam<test::TableExample> {};

TEST_P(Tables, ShowsCells) {
  EXPECT_EQ(test::cells_text(GetParam().kind, GetParam().object), GetParam().cells);
}

INSTANTIATE_TEST_SUITE_P(All, Tables, testing::ValuesIn(test::table_examples()),
                         [](const auto& test) { return test.param.name; });

/// Every document that has `poison` in the place of one value of `document`, metadata and type
/// aside.
void poisoned(const json::value& document, const json::value& poison,
              const std::function<void(const json::value&)>& use) {
  json::value copy = document;
  const std::function<void(json::value&)> walk = [&](json::value& at) {
    const json::value kept = at;
    at = poison;
    use(copy);
    at = kept;
    if (json::array* list = at.if_array()) {
      for (json::value& element : *list) {
        walk(element);
      }
    } else if (json::object* members = at.if_object()) {
      for (auto& member : *members) {
        walk(member.value());
      }
    }
  };
  for (auto& member : copy.as_object()) {
    if (member.key() != "metadata" && member.key() != "kind" && member.key() != "apiVersion") {
      walk(member.value());
    }
  }
}

TEST(TablesOfBrokenObjects, HaveAllCellsWhateverIsInAField) {
  const json::value poisons[] = {nullptr,
                                 true,
                                 -7,
                                 1e300,
                                 18446744073709551615ULL,
                                 "",
                                 "<&\n\xc3\xa9",
                                 json::array{},
                                 json::array{nullptr, 1, json::array{}, json::object{}},
                                 json::object{},
                                 json::object{{"type", 1}, {"name", json::array{}}}};
  std::size_t rows = 0;
  for (const test::TableExample& example : test::table_examples()) {
    const schema::Resource resource = test::table_resource(example.kind);
    const TableShape shape = table_shape(resource, GpuColumns::Shown);
    const api::Object good = test::table_object(resource, example.object);
    for (const json::value& poison : poisons) {
      poisoned(good.json(), poison, [&](const json::value& document) {
        const auto object = api::Object::from_json(document);
        ASSERT_TRUE(object) << example.name;
        const TableRow row = table_row(shape, *object, test::kTableNow);
        ASSERT_EQ(row.cells.size(), shape.columns.size()) << example.name;
        for (const json::value& cell : row.cells) {
          ASSERT_TRUE(cell.is_primitive() && !cell.is_null())
              << example.name << ": " << api::to_json(document);
        }
        ++rows;
      });
    }
  }
  EXPECT_GT(rows, 1000U);
}

TEST(TableAges, AreThoseOfKubectl) {
  const auto age_of = [](std::string_view created) {
    return test::cells_text("resource.k8s.io/DeviceClass",
                            "metadata: {creationTimestamp: " + std::string(created) + "}");
  };
  EXPECT_EQ(age_of("'2026-01-01T00:59:59Z'"), R"(["x","1s"])");
  EXPECT_EQ(age_of("'2026-01-01T01:00:01Z'"), R"(["x","0s"])"); // clocks differ a little
  EXPECT_EQ(age_of("'2026-01-01T01:00:02Z'"), R"(["x","<invalid>"])");
  EXPECT_EQ(age_of("'2025-12-31T21:59:00Z'"), R"(["x","3h1m"])");
  EXPECT_EQ(age_of("'2025-12-29T00:00:00Z'"), R"(["x","3d1h"])");
  EXPECT_EQ(age_of("null"), R"(["x","<unknown>"])");
  EXPECT_EQ(age_of("'1700-01-01T00:00:00Z'"), R"(["x","292y"])"); // as far as Go's durations reach
}

TEST(TableSelectors, AreWrittenAsKubernetesDoes) {
  const auto text = [](std::string_view selector) {
    const json::value parsed = *api::parse_json(selector);
    return tables::formatted_selector(&parsed);
  };
  EXPECT_EQ(text(R"({})"), "<none>");
  EXPECT_EQ(text(R"({"matchLabels":{"b":"1","a":""}})"), "a=,b=1");
  EXPECT_EQ(
      text(
          R"({"matchLabels":{"m":"1"},"matchExpressions":[{"key":"z","operator":"In","values":["y","x"]},{"key":"a","operator":"NotIn","values":["q"]},{"key":"n","operator":"Exists"},{"key":"l","operator":"DoesNotExist"}]})"),
      "a notin (q),!l,m=1,n,z in (x,y)");
  EXPECT_EQ(text(R"({"matchExpressions":[{"key":"a","operator":"In","values":[]}]})"), "<error>");
  EXPECT_EQ(text(R"({"matchExpressions":[{"key":"a","operator":"Like"}]})"), "<error>");
  EXPECT_EQ(tables::formatted_selector(nullptr), "<none>");
}

} // namespace
} // namespace berth::server
