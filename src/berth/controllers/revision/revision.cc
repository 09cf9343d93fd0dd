#include "berth/controllers/revision/revision.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <boost/json/object.hpp>

#include "berth/api/json.h"
#include "berth/base/assert.h"
#include "berth/controllers/fields.h"
#include "berth/controllers/template_hash.h"

namespace berth::controllers {

using api::Object;

namespace {

namespace json = api::json;

constexpr std::size_t kLongestPrefix = 223;

} // namespace

std::int64_t revision_number(const Object& revision) {
  return number_at(revision, "revision", 0);
}

void sort_revisions(std::vector<Object>& revisions) {
  std::ranges::sort(revisions, {}, [](const Object& one) {
    return std::tuple(revision_number(one), one.meta().creation_timestamp.value_or(TimePoint()),
                      one.meta().name);
  });
}

json::value revision_data(const Object& set) {
  const json::value* held = api::find_path(set.json(), "spec.template");
  json::object copy =
      held == nullptr || !held->is_object() ? json::object() : json::object(held->get_object());
  copy["$patch"] = "replace";
  return json::object{{"spec", json::object{{"template", std::move(copy)}}}};
}

Object make_revision(const Object& set, const NewRevision& how) {
  json::value data = revision_data(set);
  const std::string hash = template_hash(data, how.collisions);
  json::object labels;
  const json::value* held = api::find_path(set.json(), "spec.template.metadata.labels");
  if (held != nullptr && held->is_object()) {
    labels = held->get_object();
  }
  labels[how.hash_label] = hash;
  json::object annotations;
  for (const auto& [name, text] : set.meta().annotations) {
    annotations[name] = text;
  }
  json::object meta{{"name", set.meta().name.substr(0, kLongestPrefix) + "-" + hash},
                    {"namespace", set.meta().ns},
                    {"labels", std::move(labels)}};
  if (!annotations.empty()) {
    meta["annotations"] = std::move(annotations);
  }
  json::object document{{"apiVersion", "apps/v1"},
                        {"kind", "ControllerRevision"},
                        {"metadata", std::move(meta)},
                        {"data", std::move(data)},
                        {"revision", how.number}};
  api::set_controller(document, set);
  auto made = Object::from_json(std::move(document));
  BERTH_ASSERT(made.has_value(), to_string(made.error()));
  return *std::move(made);
}

std::vector<Object> surplus_revisions(const std::vector<Object>& sorted,
                                      const std::vector<std::string>& live, std::int64_t limit) {
  std::vector<Object> out;
  for (const Object& one : sorted) {
    if (std::ranges::find(live, one.meta().name) == live.end()) {
      out.push_back(one);
    }
  }
  const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(limit, 0));
  out.resize(out.size() > kept ? out.size() - kept : 0);
  return out;
}

} // namespace berth::controllers
