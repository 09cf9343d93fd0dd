#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/server/tables/json_path.h"

namespace berth::server::tables {
namespace {

const json::value kDocument = *api::parse_json(R"({
  "a": {"b": 1, "c.d": 2, "e": null, "it's": 3},
  "list": [10, 20, 30],
  "empty": [],
  "conditions": [
    {"type": "Ready", "status": "True", "n": 1, "on": false},
    {"type": "Idle", "status": "False", "n": 2.0},
    {"type": "Idle", "status": "Second"}
  ]
})");

TEST(JsonPath, FindsTheFirstValue) {
  const std::pair<std::string, std::string> cases[] = {
      {".a.b", "1"},
      {"$.a.b", "1"},
      {R"(.a.c\.d)", "2"},
      {R"(.a['c.d'])", "2"},
      {R"(.a['c\.d'])", "2"},
      {R"(.a["b"])", "1"},
      {R"(.a['it\'s'])", "3"},
      {".a.e", "null"},
      {".list[0]", "10"},
      {".list[-1]", "30"},
      {".list[*]", "10"},
      {".list[-1:]", "30"},
      {".list[1:]", "20"},
      {".list[:2]", "10"},
      {".list[1:3:2]", "20"},
      {".list[-2:-1]", "20"},
      {".conditions[-1:].status", "\"Second\""},
      {".a.*", "1"},
      {".conditions[1].status", "\"False\""},
      {".conditions[*].type", "\"Ready\""},
      {R"(.conditions[?(@.type=="Idle")].status)", "\"False\""},
      {R"(.conditions[?(@.type == 'Ready')].status)", "\"True\""},
      {R"(.conditions[?(@.type!="Ready")].status)", "\"False\""},
      {".conditions[?(@.n==2)].type", "\"Idle\""},
      {".conditions[?(@.on==false)].type", "\"Ready\""},
      {".conditions[?(@.n)].type", "\"Ready\""},
  };
  for (const auto& [text, want] : cases) {
    const auto path = JsonPath::parse(text);
    ASSERT_TRUE(path) << to_string(path.error());
    const json::value* found = path->first(kDocument);
    ASSERT_NE(found, nullptr) << text;
    EXPECT_EQ(api::to_json(*found), want) << text;
  }
}

TEST(JsonPath, FindsNothingWhereNothingIs) {
  for (const std::string text :
       {".x", ".a.x.y", ".a.b.c", ".list[3]", ".list[-4]", ".list[-4:]", ".list[1:1]", ".list[2:1]",
        ".list[0:4]", ".empty[-1:]", ".a[0:1]", ".empty[*]", ".list.b", ".a[0]",
        R"(.conditions[?(@.type=="Lost")].status)", ".conditions[?(@.x)]", ".a[?(@.b==1)]"}) {
    const auto path = JsonPath::parse(text);
    ASSERT_TRUE(path) << to_string(path.error());
    EXPECT_EQ(path->first(kDocument), nullptr) << text;
  }
}

TEST(JsonPath, RefusesWhatItCannotRead) {
  for (const std::string text :
       {"",       "a",      ".",      "..a",          ".a.",         ".a[",          ".a[x]",
        ".a['b]", ".a['b'", ".a[0",   ".a[?(@.b==)]", ".a[?(b==1)]", ".a[?(@.b=1)]", ".a[?(@.b==1]",
        ".a b",   "{.a}",   ".a[1:2", ".a[1:2:0]",    ".a[1:x]",     ".a['b','c']"}) {
    const auto path = JsonPath::parse(text);
    ASSERT_FALSE(path) << text;
    EXPECT_NE(path.error().message.find("JSONPath \"" + text + "\""), std::string::npos);
  }
}

} // namespace
} // namespace berth::server::tables
