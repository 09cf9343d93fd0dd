// Replays the tables of conversations with a real kube-apiserver: the objects that it answered with
// must give its columns and cells.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/schema/catalogue.h"
#include "berth/schema/custom_resource.h"
#include "berth/server/tables/table_fixture.h"

namespace berth::server {
namespace {

namespace json = boost::json;

/// The conversation with its stand-ins filled in; nullopt if there is none. Objects are made now.
std::optional<json::value> conversation(std::string_view name) {
  const char* named = std::getenv("BERTH_SHARED");
  const std::string folder =
      named != nullptr ? named : std::string(BERTH_SOURCE_DIR) + "/../shared";
  std::ifstream in(fmt::format("{}/golden-api/{}", folder, name), std::ios::binary);
  if (!in) {
    return std::nullopt;
  }
  std::ostringstream whole;
  whole << in.rdbuf();
  std::string text = whole.str();
  const std::pair<std::string_view, std::string> filled[] = {
      {"<ns>", "ns"}, {"<uid>", "u"}, {"<rv>", "7"}, {"<time>", to_rfc3339(test::kTableNow)}};
  for (const auto& [mark, value] : filled) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
      text.replace(at, mark.size(), value);
    }
  }
  return *api::parse_json(text);
}

/// "/api/v1/namespaces/ns/pods/a/status?x" and the body's name: "/api/v1/namespaces/ns/pods", "a".
struct Place {
  std::string list;
  std::string name; ///< "" for the whole list
};

Place place_of(std::string path) {
  path = path.substr(0, path.find('?'));
  if (path.ends_with("/status")) {
    path.resize(path.size() - std::string_view("/status").size());
  }
  std::size_t words = static_cast<std::size_t>(std::ranges::count(path, '/'));
  words -= path.starts_with("/apis/") ? 3 : 2; // without group and version
  const bool namespaced = path.find("/namespaces/") != std::string::npos && words > 2;
  if (words == (namespaced ? 4U : 2U)) {
    const std::size_t slash = path.rfind('/');
    return {path.substr(0, slash), path.substr(slash + 1)};
  }
  return {path, ""};
}

/// What the conversation has made so far.
struct World {
  std::map<std::string, std::map<std::string, json::value>> objects; // by list, by name
  std::vector<schema::Resource> custom;

  void note(const json::value& step) {
    const json::value* made = api::find(step, "response");
    const std::string_view method = api::string_at(step, "method");
    if (made == nullptr || step.at("status").as_int64() >= 300 ||
        (method != "POST" && method != "PATCH")) {
      return;
    }
    const Place place = place_of(std::string(api::string_at(step, "path")));
    objects[place.list][std::string(api::string_at(*made, "metadata.name"))] = *made;
    if (api::string_at(*made, "kind") == "CustomResourceDefinition") {
      const auto defined = schema::resources_of(*made);
      ASSERT_TRUE(defined) << to_string(defined.error());
      custom.insert(custom.end(), defined->begin(), defined->end());
    }
  }

  schema::Resource resource(const std::string& list) const {
    const std::string plural = list.substr(list.rfind('/') + 1);
    for (const schema::Resource& one : custom) {
      if (one.plural == plural) {
        return one;
      }
    }
    const bool core = list.starts_with("/api/");
    const std::string rest = list.substr(core ? 5 : 6);
    const std::string group = core ? "" : rest.substr(0, rest.find('/'));
    return *schema::Catalogue::builtin().resource(group, "v1", plural);
  }
};

std::string definitions_text(const json::value& table) {
  std::string out;
  for (const json::value& column : table.at("columnDefinitions").as_array()) {
    out +=
        fmt::format("{} {} {} {}\n", api::string_at(column, "name"), api::string_at(column, "type"),
                    api::string_at(column, "format"), column.at("priority").as_int64());
  }
  return out;
}

/// Returns how many tables were compared; the others are named.
int replay(const json::value& steps) {
  World world;
  int compared = 0;
  for (const json::value& step : steps.as_array()) {
    world.note(step);
    const json::value* table = api::find(step, "response");
    if (table == nullptr || api::string_at(*table, "kind") != "Table") {
      continue;
    }
    const std::string path(api::string_at(step, "path"));
    const Place place = place_of(path);
    const auto known = world.objects.find(place.list);
    if (known == world.objects.end()) {
      fmt::print("skipped: {}: of an object that the conversation did not make\n", path);
      continue;
    }
    const TableShape shape = table_shape(world.resource(place.list));
    EXPECT_EQ(definitions_text(json::object{{"columnDefinitions", column_definitions(shape)}}),
              definitions_text(*table))
        << path;
    for (const json::value& row : table->at("rows").as_array()) {
      const json::value& cells = row.at("cells");
      const auto object =
          api::Object::from_json(known->second.at(std::string(cells.at(0).as_string())));
      EXPECT_TRUE(object) << path;
      if (object) {
        const TableRow got = table_row(shape, *object, test::kTableNow);
        const json::value* conditions = api::find(row, "conditions");
        EXPECT_EQ(api::to_json(got.cells), api::to_json(cells)) << path;
        EXPECT_EQ(api::to_json(got.conditions),
                  conditions == nullptr ? "[]" : api::to_json(*conditions))
            << path;
      }
    }
    ++compared;
  }
  return compared;
}

TEST(RecordedTables, OfBuiltInKindsAreEqual) {
  const auto steps = conversation("tables.json");
  if (!steps) {
    GTEST_SKIP() << "no golden-api/tables.json: set BERTH_SHARED";
  }
  EXPECT_EQ(replay(*steps), 9);
}

TEST(RecordedTables, OfCustomResourcesAreEqual) {
  const auto steps = conversation("crd.json");
  if (!steps) {
    GTEST_SKIP() << "no golden-api/crd.json: set BERTH_SHARED";
  }
  EXPECT_EQ(replay(*steps), 1);
}

} // namespace
} // namespace berth::server
