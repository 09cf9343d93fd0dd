// Replays conversations recorded from a real kube-apiserver against the registry: equal codes,
// messages, causes and objects. What the registry cannot be asked (HTTP, strategic lists, eviction)
// is skipped by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/store/memory_store.h"
#include "berth/store/registry.h"

namespace berth::store {
namespace {

using api::json::value;

std::string shared_folder() {
  const char* named = std::getenv("BERTH_SHARED");
  return named != nullptr ? named : std::string(BERTH_SOURCE_DIR) + "/../shared";
}

std::optional<std::string> read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return std::nullopt;
  }
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// Text with <uid>, <time>, ... matches anything of one word there.
bool text_matches(std::string_view want, std::string_view got) {
  const std::size_t open = want.find('<');
  const std::size_t close = open == std::string_view::npos ? open : want.find('>', open);
  if (close == std::string_view::npos) {
    return want == got;
  }
  if (got.substr(0, open) != want.substr(0, open)) {
    return false;
  }
  const std::string_view rest = want.substr(close + 1);
  for (std::size_t end = open; end <= got.size(); ++end) {
    if (text_matches(rest, got.substr(end))) {
      return true;
    }
  }
  return false;
}

void differences(const value& want, const value& got, const std::string& path,
                 std::vector<std::string>& out) {
  if (want.is_object() && got.is_object()) {
    for (const auto& member : want.get_object()) {
      const std::string at = path + "." + std::string(member.key());
      if (member.key() == "managedFields") {
        continue;
      }
      if (const value* other = got.get_object().if_contains(member.key())) {
        differences(member.value(), *other, at, out);
      } else {
        out.push_back(fmt::format("{} is missing, want {}", at, api::to_json(member.value())));
      }
    }
    for (const auto& member : got.get_object()) {
      if (!want.get_object().contains(member.key())) {
        out.push_back(fmt::format("{}.{} is not wanted: {}", path, std::string_view(member.key()),
                                  api::to_json(member.value())));
      }
    }
    return;
  }
  if (want.is_array() && got.is_array() && want.get_array().size() == got.get_array().size()) {
    for (std::size_t i = 0; i < want.get_array().size(); ++i) {
      differences(want.get_array()[i], got.get_array()[i], fmt::format("{}[{}]", path, i), out);
    }
    return;
  }
  const bool same = want.is_string() && got.is_string()
                        ? text_matches(want.get_string(), got.get_string())
                        : want == got;
  if (!same) {
    out.push_back(fmt::format("{}: want {}, got {}", path, api::to_json(want), api::to_json(got)));
  }
}

struct Target {
  GroupKind kind;
  api::Key key;
  std::string subresource;
  std::map<std::string, std::string> query;
};

std::optional<Target> target_of(std::string path) {
  static const std::map<std::string, std::string, std::less<>> kKinds = {
      {"pods", "Pod"},
      {"nodes", "Node"},
      {"jobs", "Job"},
      {"resourcequotas", "ResourceQuota"},
      {"limitranges", "LimitRange"},
      {"priorityclasses", "PriorityClass"},
      {"leases", "Lease"}};
  Target target;
  if (const std::size_t mark = path.find('?'); mark != std::string::npos) {
    std::istringstream pairs(path.substr(mark + 1));
    for (std::string pair; std::getline(pairs, pair, '&');) {
      target.query[pair.substr(0, pair.find('='))] = pair.substr(pair.find('=') + 1);
    }
    path.resize(mark);
  }
  std::vector<std::string> parts;
  std::istringstream in(path.substr(1));
  for (std::string part; std::getline(in, part, '/');) {
    parts.push_back(part);
  }
  std::size_t at = 2;
  if (parts.at(0) == "apis") {
    target.kind.group = parts.at(1);
    at = 3;
  }
  if (at + 1 < parts.size() && parts[at] == "namespaces") {
    target.key.ns = parts[at + 1];
    at += 2;
  }
  if (at >= parts.size() || !kKinds.contains(parts[at])) {
    return std::nullopt;
  }
  target.kind.kind = kKinds.find(parts[at])->second;
  target.key.name = at + 1 < parts.size() ? parts[at + 1] : "";
  target.subresource = at + 2 < parts.size() ? parts[at + 2] : "";
  return target;
}

class GoldenApi : public ::testing::TestWithParam<std::string> {
 protected:
  std::optional<Result<api::Object>> answer(const std::string& method, const Target& to,
                                            const value& step) {
    const value* body = api::find(step, "body");
    if (method == "GET" && !to.key.name.empty() && to.query.empty()) {
      return registry.get(to.kind, to.key);
    }
    if (method == "DELETE") {
      return remove(to, body);
    }
    if (body == nullptr || !body->is_object()) {
      return std::nullopt;
    }
    if (method == "POST" && to.subresource == "binding") {
      return registry.bind(
          {.pod = to.key, .node = std::string(api::string_at(*body, "target.name"))}, now);
    }
    if (method == "PATCH") {
      const value* headers = api::find(step, "headers");
      const value* type = headers == nullptr ? nullptr : api::find(*headers, "Content-Type");
      const bool merge = type != nullptr && type->get_string() == "application/merge-patch+json";
      if (!merge) {
        return std::nullopt;
      }
      return registry.patch(to.kind, to.key, *body,
                            to.subresource == "status" ? Subresource::Status : Subresource::None,
                            now);
    }
    auto object = api::Object::from_json(*body);
    if (!object || group_kind(*object) != to.kind || object->gvk().version == "v2" ||
        !to.query.empty()) {
      return std::nullopt;
    }
    value document = object->json();
    if (!to.key.ns.empty()) {
      document.as_object()["metadata"].as_object()["namespace"] = to.key.ns;
    }
    if (method == "PUT" && object->meta().name != to.key.name) {
      return std::nullopt;
    }
    object = api::Object::from_json(document);
    if (method == "PUT") {
      return registry.update(*object, Subresource::None, now);
    }
    return to.key.name.empty() ? std::optional(registry.create(*object, now)) : std::nullopt;
  }

  std::optional<Result<api::Object>> remove(const Target& to, const value* body) {
    DeleteOptions options;
    if (const auto grace = to.query.find("gracePeriodSeconds"); grace != to.query.end()) {
      options.grace_period_seconds = std::stoll(grace->second);
    }
    std::string policy(body == nullptr ? "" : api::string_at(*body, "propagationPolicy"));
    if (const auto asked = to.query.find("propagationPolicy"); asked != to.query.end()) {
      policy = asked->second;
    }
    if (policy == "Sideways") {
      return std::nullopt;
    }
    options.propagation = policy == "Foreground" ? Propagation::Foreground
                          : policy == "Orphan"   ? Propagation::Orphan
                                                 : Propagation::Background;
    const std::string uid(body == nullptr ? "" : api::string_at(*body, "preconditions.uid"));
    if (!uid.empty()) {
      options.uid = uid;
    }
    return registry.remove(to.kind, to.key, options, now);
  }

  /// The Status that an HTTP server would make of an error.
  static value status_of(const Error& error) {
    api::json::object status{{"message", error.message}, {"code", http_status(error.code)}};
    api::json::array causes;
    for (const Error& cause : error.causes) {
      causes.push_back(
          api::json::object{{"message", cause.message}, {"field", cause.where->field}});
    }
    status["causes"] = causes;
    return status;
  }
  static value wanted_status(const value& response) {
    // What follows a refused spec change is a diff of Go structs.
    const std::string message(api::string_at(response, "message"));
    api::json::object status{{"message", message.substr(0, message.find("\n@@"))},
                             {"code", *api::find(response, "code")}};
    api::json::array causes;
    const value* listed = api::find_path(response, "details.causes");
    if (listed != nullptr) {
      for (const value& cause : listed->get_array()) {
        const std::string text(api::string_at(cause, "message"));
        causes.push_back(api::json::object{{"message", text.substr(0, text.find("\n@@"))},
                                           {"field", api::string_at(cause, "field")}});
      }
    }
    status["causes"] = causes;
    return status;
  }

  TimePoint now = TimePoint::from_unix_seconds(1'700'000'000);
  MemoryStore store;
  Registry registry{store, Rng(1)};
};

/// Steps whose answers differ for a reason: "file: method path body" beginnings.
bool is_excused(const std::string& step) {
  static const std::vector<std::string> kExcused = {
      "bind-evict: POST /api/v1/nodes", // a taint by condition and zeroed kubelet fields
      "pod-invalid: POST /api/v1/namespaces/talk/pods "
      "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
      "\"a\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\",\"resources\":{\"limits\":{"
      "\"cpu\":\"1\","
      "\"memory\":\"1Qi\"", // our decoder's words name the field
      "bind-evict: POST /api/v1/namespaces/talk/pods/b1/binding "
      "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":"
      "{\"name\":\"b1\"},\"target\":{\"kind\":\"Node\"}}", // Invalid here, not an internal error
      "conflicts: PATCH /api/v1/namespaces/talk/pods/a {\"metadata\":{\"uid\":\"x\"}}", // the cause
                                                                                        // twice
  };
  return std::ranges::any_of(kExcused,
                             [&](const std::string& prefix) { return step.starts_with(prefix); });
}

TEST_P(GoldenApi, AnswersAsKubeApiserverDid) {
  const auto text = read(shared_folder() + "/golden-api/" + GetParam() + ".json");
  if (!text) {
    GTEST_SKIP() << "no recorded conversations below " << shared_folder();
  }
  const value steps = api::parse_json(replaced(*text, "<ns>", "talk")).value();
  int compared = 0;
  int skipped = 0;
  std::set<std::string> adrift;
  for (const value& step : steps.get_array()) {
    const std::string method(api::string_at(step, "method"));
    const std::string path(api::string_at(step, "path"));
    const value* body = api::find(step, "body");
    const std::string name = fmt::format("{}: {} {} {}", GetParam(), method, path,
                                         body == nullptr ? "" : api::to_json(*body));
    const auto target = target_of(path);
    const auto got = target ? answer(method, *target, step) : std::nullopt;
    now = now + Duration::seconds(1);
    const std::int64_t status = api::find(step, "status")->to_number<std::int64_t>();
    const std::string about = target ? target->kind.kind + "/" + target->key.name : path;
    if (!got && method != "GET" && status < 300) {
      adrift.insert(about); // a change was not made: what follows about it cannot agree
    }
    if (!got || is_excused(name) || adrift.contains(about)) {
      ++skipped;
      continue;
    }
    SCOPED_TRACE(name);
    ++compared;
    const value& want = *api::find(step, "response");
    std::vector<std::string> wrong;
    if (!*got) {
      if (status < 400) {
        ADD_FAILURE() << "refused: " << got->error().message;
        continue;
      }
      differences(wanted_status(want), status_of(got->error()), "", wrong);
    } else if (status >= 400) {
      wrong.push_back("accepted, want " + std::string(api::string_at(want, "message")));
    } else if (api::string_at(want, "kind") != "Status") {
      differences(want, (*got)->json(), "", wrong);
    }
    EXPECT_THAT(wrong, ::testing::IsEmpty());
  }
  std::cout << GetParam() << ": " << compared << " steps compared, " << skipped << " skipped\n";
  EXPECT_GT(compared, 1);
}

INSTANTIATE_TEST_SUITE_P(Recorded, GoldenApi,
                         ::testing::Values("pod-defaults", "pod-invalid", "conflicts", "bind-evict",
                                           "patches", "quota-limits", "jobs"),
                         [](const auto& conversation) {
                           return replaced(conversation.param, "-", "_");
                         });

} // namespace
} // namespace berth::store
