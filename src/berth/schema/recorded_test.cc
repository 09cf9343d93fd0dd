// Conversations recorded from a real kube-apiserver: what it says of bodies that it cannot decode,
// which fields it warns of, and how it writes the objects that it has stored.
#include <algorithm>
#include <map>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/schema/body.h"
#include "berth/schema/catalogue.h"
#include "berth/schema/decode.h"
#include "berth/schema/inputs_fixture.h"

namespace berth::schema {
namespace {

namespace json = boost::json;
using ::testing::IsSupersetOf;

/// Kinds that a path names: "/apis/apps/v1/namespaces/x/deployments/y/status?a=b".
struct Target {
  const Resource* resource = nullptr;
  bool subresource = false;
  std::string query;
};

Target target_of(std::string path) {
  Target out;
  if (const std::size_t question = path.find('?'); question != std::string::npos) {
    out.query = path.substr(question + 1);
    path.resize(question);
  }
  std::vector<std::string> parts;
  std::istringstream in(path);
  for (std::string part; std::getline(in, part, '/');) {
    parts.push_back(part);
  }
  const bool core = parts.size() > 1 && parts[1] == "api";
  const std::size_t after = core ? 3 : 4;
  if (parts.size() <= after) {
    return out;
  }
  const std::string group = core ? "" : parts[2];
  const std::string version = parts[after - 1];
  std::size_t at = after;
  if (parts[at] == "namespaces" && parts.size() > at + 2 && parts[at + 2] != "status" &&
      parts[at + 2] != "finalize") {
    at += 2;
  }
  out.resource = Catalogue::builtin().resource(group, version, parts[at]);
  out.subresource = parts.size() > at + 2;
  return out;
}

FieldValidation validation_of(const std::string& query) {
  if (query.find("fieldValidation=Strict") != std::string::npos) {
    return FieldValidation::Strict;
  }
  return query.find("fieldValidation=Ignore") != std::string::npos ? FieldValidation::Ignore
                                                                   : FieldValidation::Warn;
}

std::vector<std::string> recorded_warnings(const json::object& step) {
  std::vector<std::string> out;
  if (const json::value* given = step.if_contains("warning")) {
    for (const json::value& header : given->as_array()) {
      const auto inner = api::parse_json(std::string_view(header.as_string()).substr(6));
      out.emplace_back(inner->as_string());
    }
  }
  return out;
}

/// Times and numbers that differ each time stand as words in the recordings.
json::value with_times(std::string text) {
  text = std::regex_replace(
      text, std::regex(R"re("(renewTime|acquireTime|eventTime|lastObservedTime)":"<time>")re"),
      R"("$1":"2026-01-02T03:04:05.000006Z")");
  text = std::regex_replace(text, std::regex("<time>"), "2026-01-02T03:04:05Z");
  return *api::parse_json(text);
}

/// Order does not count, and null managedFields entries are none of ours.
json::value sorted(const json::value& value) {
  if (const auto* object = value.if_object()) {
    std::map<std::string, json::value> members;
    for (const auto& [key, member] : *object) {
      members[key] = sorted(member);
    }
    json::object out;
    for (auto& [key, member] : members) {
      out[key] = std::move(member);
    }
    return out;
  }
  if (const auto* array = value.if_array()) {
    json::array out;
    for (const json::value& element : *array) {
      out.push_back(sorted(element));
    }
    return out;
  }
  return value;
}

struct Step {
  std::string name;
  json::object said;
};

std::vector<Step> steps() {
  std::vector<Step> out;
  for (const auto& file : test::files_below(test::shared_folder() / "golden-api")) {
    if (file.extension() != ".json") {
      continue;
    }
    int number = 0;
    const json::value recorded = test::read_json_file(file);
    for (const json::value& step : recorded.as_array()) {
      out.push_back(
          {file.filename().string() + " step " + std::to_string(++number), step.as_object()});
    }
  }
  return out;
}

bool is_decoding_error(std::string_view message) {
  return message.find("cannot be handled as") != std::string_view::npos ||
         message.starts_with("the object provided is unrecognized");
}

void check_request(const Step& step, const Target& target) {
  const json::value* given = step.said.if_contains("body");
  const std::string bytes = given == nullptr     ? ""
                            : given->is_string() ? std::string(given->as_string())
                                                 : api::to_json(*given);
  const auto body = decode_body(bytes, {target.resource->gvk(), *target.resource->type},
                                validation_of(target.query));
  const json::value& response = step.said.at("response");
  const std::string message(api::string_at(response, "message"));
  if (is_decoding_error(message)) {
    ASSERT_FALSE(body) << step.name << ": " << message;
    EXPECT_EQ(body.error().message, message) << step.name;
    EXPECT_EQ(to_string(body.error().code), api::string_at(response, "reason")) << step.name;
    return;
  }
  ASSERT_TRUE(body) << step.name << ": " << body.error().message;
  // The recorder kept one header of each name.
  EXPECT_THAT(body->warnings, IsSupersetOf(recorded_warnings(step.said))) << step.name;
  EXPECT_EQ(body->warnings.empty(), recorded_warnings(step.said).empty()) << step.name;
}

TEST(Recorded, BodiesAreDecodedOrRefusedInTheSameWords) {
  BERTH_NEED_SHARED("golden-api");
  int bodies = 0;
  for (const Step& step : steps()) {
    const std::string method(step.said.at("method").as_string());
    const Target target = target_of(std::string(step.said.at("path").as_string()));
    const json::value* headers = step.said.if_contains("headers");
    const bool json_body = headers == nullptr || !headers->as_object().contains("Content-Type");
    if ((method == "POST" || method == "PUT") && target.resource != nullptr &&
        !target.subresource && json_body) {
      check_request(step, target);
      ++bodies;
    }
  }
  EXPECT_GT(bodies, 100);
}

TEST(Recorded, StoredObjectsComeBackAsTheyAre) {
  BERTH_NEED_SHARED("golden-api");
  int objects = 0;
  for (const Step& step : steps()) {
    const json::value* response = step.said.if_contains("response");
    if (response == nullptr || !response->is_object()) {
      continue;
    }
    const api::GroupVersionKind gvk =
        api::make_gvk(api::string_at(*response, "apiVersion"), api::string_at(*response, "kind"));
    const TypePtr type = Catalogue::builtin().type(gvk);
    if (!type || gvk.kind == "APIGroupList" || gvk.kind == "Status") {
      continue;
    }
    const json::value object = with_times(api::to_json(*response));
    const auto decoded = decode_value(object, *type);
    ASSERT_TRUE(decoded) << step.name << ": " << decoded.error().message;
    EXPECT_THAT(decoded->strict, ::testing::IsEmpty()) << step.name;
    EXPECT_EQ(api::to_json(sorted(decoded->value)), api::to_json(sorted(object))) << step.name;
    ++objects;
  }
  EXPECT_GT(objects, 100);
}

} // namespace
} // namespace berth::schema
