// Patches, applies and other writes of conversations recorded from a real kube-apiserver, replayed
// on values: the document before is the one that it showed last. What it refuses for other reasons
// than the patch (validation, other objects' state) is skipped by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "berth/patch/atom.h"
#include "berth/patch/managed_fields.h"
#include "berth/patch/patch_fixture.h"
#include "berth/patch/request.h"

namespace berth::patch {
namespace {

using schema::Type;

std::string shared_folder() {
  const char* named = std::getenv("BERTH_SHARED");
  return named != nullptr ? named : std::string(BERTH_SOURCE_DIR) + "/../shared";
}

std::optional<json::value> conversation(const std::string& name) {
  std::ifstream in(shared_folder() + "/golden-api/" + name + ".json", std::ios::binary);
  if (!in) {
    return std::nullopt;
  }
  std::ostringstream text;
  text << in.rdbuf();
  return test::from(text.str());
}

/// What decoding writes for what was not said (Go's tags).
json::value decoded(const Type& type, json::value value) {
  if (json::array* array = value.if_array()) {
    for (json::value& item : *array) {
      item = decoded(*type.element, std::move(item));
    }
  }
  json::object* object = value.if_object();
  if (object == nullptr || type.form == schema::Form::Any) {
    return value;
  }
  for (auto& [key, member] : *object) {
    if (const schema::Field* field = type.field(key)) {
      member = decoded(*field->type, std::move(member));
    } else if (type.form == schema::Form::Map) {
      member = decoded(*type.element, std::move(member));
    }
  }
  const json::value zero = zero_object(type, "", "");
  for (const schema::Field& field : type.fields) {
    if (field.when_empty != schema::WhenEmpty::Kept && !object->contains(field.name)) {
      if (const json::value* empty = zero.get_object().if_contains(field.name)) {
        (*object)[field.name] = *empty;
      }
    }
  }
  return value;
}

struct Named {
  std::string object; ///< path without subresource and query
  std::string plural;
  std::string group;
  std::string version;
  std::string subresource;
  std::string manager;
  bool force = false;
};

Named named(std::string path, std::string_view method) {
  Named out;
  if (const std::size_t mark = path.find('?'); mark != std::string::npos) {
    const std::string query = path.substr(mark);
    out.force = query.find("force=true") != std::string::npos;
    if (const std::size_t at = query.find("fieldManager="); at != std::string::npos) {
      out.manager = query.substr(at + 13, query.find('&', at) - at - 13);
    }
    path.resize(mark);
  }
  std::vector<std::string> parts;
  std::istringstream in(path.substr(1));
  for (std::string part; std::getline(in, part, '/');) {
    parts.push_back(part);
  }
  std::size_t at = parts[0] == "api" ? 1 : 2;
  out.group = parts[0] == "api" ? "" : parts[1];
  out.version = at < parts.size() ? parts[at++] : "";
  if (at + 2 < parts.size() && parts[at] == "namespaces") {
    at += 2;
  }
  out.plural = at < parts.size() ? parts[at] : "";
  const bool create = method == "POST";
  if (!create && at + 2 < parts.size()) {
    out.subresource = parts[at + 2];
    path.resize(path.rfind('/'));
  }
  out.object = path;
  return out;
}

/// `step`'s object as it is stored before managedFields are looked at.
class Conversation : public ::testing::TestWithParam<std::string> {
 protected:
  void replay(const json::value& step, const std::string& label) {
    SCOPED_TRACE(label);
    if (label.starts_with("quota-limits step 10:")) {
      return; // LimitRanger adds requests and limits after managedFields are made
    }
    const std::string method(api::string_at(step, "method"));
    const Named name = named(std::string(api::string_at(step, "path")), method);
    const json::value* response = api::find(step, "response");
    const std::int64_t status = step.at("status").to_number<std::int64_t>();
    if (response == nullptr || !response->is_object()) {
      return;
    }
    if (method == "PATCH") {
      patch(step, name, *response, status);
    } else if (method == "POST" && status == 201 && name.subresource.empty()) {
      create(step.at("body"), name, *response);
    }
    if (status < 300 && api::find_path(*response, "metadata.uid") != nullptr &&
        name.subresource != "scale") {
      const std::string key =
          method == "POST"
              ? name.object + "/" + std::string(api::string_at(*response, "metadata.name"))
              : name.object;
      live_[key] = *response;
    }
  }

  std::map<std::string, int> checked_;

 private:
  std::optional<Target> target(const Named& name) const {
    if (name.plural == "gangs") {
      return gang(name);
    }
    const schema::Resource* resource =
        schema::Catalogue::builtin().resource(name.group, name.version, name.plural);
    return resource == nullptr ? std::nullopt
                               : std::optional(test::builtin(name.group, name.version,
                                                             resource->kind, name.subresource));
  }

  // The custom resource of crd.json, whose schema says nothing that matters here but `tags`.
  // Conversion of pods keeps podIP and podIPs together; what a node may give is what it has.
  static void add_defaults(json::value& object, const std::string& kind) {
    static const std::map<std::string, std::pair<std::string, std::string>, std::less<>> kFrom = {
        {"Pod", {"podIP", "podIPs"}}, {"Node", {"capacity", "allocatable"}}};
    const auto rule = kFrom.find(kind);
    if (rule == kFrom.end()) {
      return;
    }
    json::object& status = object.at("status").get_object();
    const auto& [given, made] = rule->second;
    if (const json::value* value = status.if_contains(given);
        value != nullptr && !status.contains(made)) {
      status[made] = kind == "Pod" ? json::value(json::array{json::object{{"ip", *value}}})
                                   : json::value(*value);
    }
  }

  static Target gang(const Named& name) {
    Target target{.type = &deduced_type(),
                  .group = name.group,
                  .version = name.version,
                  .kind = "Gang",
                  .zero = {},
                  .resets = reset_fields(name.group, "Gang", name.subresource, true)};
    target.zero = zero_object(*target.type, target.api_version(), "Gang");
    return target;
  }

  static json::value managed(const json::value& object) {
    json::value out = json::array();
    if (const json::value* entries = api::find_path(object, "metadata.managedFields")) {
      out = *entries;
      for (json::value& entry : out.get_array()) {
        entry.get_object().erase("time");
      }
    }
    return out;
  }

  void expect_managed(const json::value& got, const json::value& want) {
    EXPECT_EQ(managed(got), managed(want));
    ++checked_["managedFields"];
  }

  void create(const json::value& request, const Named& name, const json::value& response) {
    const auto to = target(name);
    if (!to || api::find_path(response, "metadata.uid") == nullptr) {
      return; // reviews are answered, not stored
    }
    json::value object = response;
    remove_managed_fields(object);
    take_back(request, object, to->kind);
    const json::value done = track_update(*to, to->zero, object, {.manager = "unknown", .now = {}});
    expect_managed(done, response);
  }

  // What admission and strategies add after managedFields are made.
  static void take_back(const json::value& request, json::value& object, const std::string& kind) {
    static const std::multimap<std::string, std::string, std::less<>> kAdded = {
        {"Pod", "spec.tolerations"},      {"Pod", "spec.priority"},
        {"Pod", "spec.preemptionPolicy"}, {"Job", "metadata.labels"},
        {"Job", "spec.selector"},         {"Job", "spec.template.metadata.labels"},
        {"Node", "spec.taints"},          {"Service", "spec.clusterIPs"},
        {"Service", "spec.ipFamilies"},   {"Service", "spec.ipFamilyPolicy"}};
    for (auto [at, end] = kAdded.equal_range(kind); at != end; ++at) {
      if (api::find_path(request, at->second) != nullptr) {
        continue;
      }
      const std::size_t dot = at->second.rfind('.');
      if (const json::value* parent = api::find_path(object, at->second.substr(0, dot))) {
        const_cast<json::value*>(parent)->as_object().erase(at->second.substr(dot + 1));
      }
    }
  }

  void patch(const json::value& step, const Named& name, const json::value& response,
             std::int64_t status) {
    const auto to = target(name);
    ASSERT_TRUE(to) << name.plural;
    const json::value* headers = api::find(step, "headers");
    const std::string content_type(api::find(*headers, "Content-Type")->get_string());
    const auto kind =
        patch_kind(content_type, name.plural == "gangs" ? KindOf::CustomResource : KindOf::BuiltIn);
    if (!kind) {
      return expect_error(kind.error(), response, status);
    }
    const auto options = check_options(
        {.field_manager = name.manager, .force = name.force ? std::optional(true) : std::nullopt},
        *kind);
    if (!options) {
      return expect_error(options.error(), response, status);
    }
    const json::value& body = step.at("body");
    const std::string text = body.is_string() ? std::string(body.get_string()) : api::to_json(body);
    const auto found = live_.find(name.object);
    const bool is_new = found == live_.end();
    const json::value before = is_new ? to->zero : found->second;
    const Writer writer{
        .manager = manager_name(name.manager, ""), .subresource = name.subresource, .now = {}};
    if (*kind == PatchKind::Apply) {
      const auto applied = applied_object(text);
      ASSERT_TRUE(applied);
      const auto done =
          apply(*to, before, *applied, writer, name.force ? Conflicts::Forced : Conflicts::Refused);
      return outcome(done, *to, before, response, status, is_new);
    }
    auto done = patched(*kind, before, text, *to->type);
    if (done && to->type->form == schema::Form::Struct) {
      done = decoded(*to->type, std::move(*done));
    }
    if (done) {
      add_defaults(*done, to->kind);
    }
    if (done) {
      done = track_update(*to, before, std::move(*done), writer);
    }
    outcome(done, *to, before, response, status, is_new);
  }

  void outcome(const Result<json::value>& done, const Target& to, const json::value& before,
               const json::value& response, std::int64_t status, bool is_new) {
    if (!done) {
      return expect_error(done.error(), response, status);
    }
    if (status >= 300) {
      ++checked_["refused elsewhere"]; // validation, preconditions
      return;
    }
    expect_managed(*done, response);
    if (!is_new) {
      expect_object(*done, to, before, response);
    }
  }

  // The part of the object that this (sub)resource writes.
  void expect_object(json::value done, const Target& to, const json::value& before,
                     json::value response) {
    for (const char* reset : {"status", "spec"}) {
      if (to.resets.has(Path{PathElement::field(reset)})) {
        if (const json::value* kept = before.get_object().if_contains(reset)) {
          done.get_object()[reset] = *kept;
        } else {
          done.get_object().erase(reset);
        }
      }
    }
    for (json::value* object : {&done, &response}) {
      json::object& metadata = object->at("metadata").get_object();
      for (const std::string_view counted : {"managedFields", "generation", "resourceVersion"}) {
        metadata.erase(counted);
      }
    }
    if (to.kind == "Pod" && api::find_path(before, "spec.tolerations") != nullptr) {
      // Admission gives back the tolerations that every pod has.
      done.at("spec").get_object()["tolerations"] = response.at("spec").at("tolerations");
    }
    EXPECT_EQ(json::value(done), json::value(response));
    ++checked_["objects"];
  }

  void expect_error(const Error& error, const json::value& response, std::int64_t status) {
    EXPECT_EQ(http_status(error.code), status) << to_string(error);
    EXPECT_EQ(error.message, api::string_at(response, "message"));
    json::array causes;
    for (const Error& cause : error.causes) {
      causes.push_back(json::object{{"message", cause.message}, {"field", cause.where->field}});
    }
    json::array wanted;
    if (const json::value* given = api::find_path(response, "details.causes")) {
      for (const json::value& cause : given->get_array()) {
        wanted.push_back(
            json::object{{"message", cause.at("message")}, {"field", cause.at("field")}});
      }
    }
    EXPECT_EQ(json::value(causes), json::value(wanted));
    ++checked_["errors"];
  }

  std::map<std::string, json::value> live_;
};

TEST_P(Conversation, PatchesAsRecorded) {
  const auto steps = conversation(GetParam());
  if (!steps) {
    GTEST_SKIP() << "no recorded conversations in " << shared_folder();
  }
  std::size_t index = 0;
  for (const json::value& step : steps->get_array()) {
    const json::value* body = api::find(step, "body");
    replay(step, fmt::format("{} step {}: {} {} {}", GetParam(), index++,
                             api::string_at(step, "method"), api::string_at(step, "path"),
                             body == nullptr ? "" : api::to_json(*body).substr(0, 200)));
  }
  int all = 0;
  for (const auto& [what, count] : checked_) {
    RecordProperty(what, count);
    all += count;
  }
  EXPECT_GT(all, 0);
}

INSTANTIATE_TEST_SUITE_P(Recorded, Conversation,
                         ::testing::Values("apply", "patches", "conflicts", "crd", "jobs",
                                           "bind-evict", "quota-limits", "tables", "lists",
                                           "leases-misc", "pod-defaults", "pod-decoding", "rbac"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::erase(name, '-');
                           return name;
                         });

} // namespace
} // namespace berth::patch
