#include "berth/node/startup_taint.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

namespace berth::node {
namespace {

namespace json = boost::json;

bool has_its_place(const json::value& taint) {
  return api::string_at(taint, "key") == kStartupTaintKey &&
         api::string_at(taint, "effect") == kStartupTaintEffect;
}

json::array taints_of(const json::value& node) {
  const json::value* list = api::find_path(node, "spec.taints");
  return list && list->is_array() ? list->get_array() : json::array();
}

} // namespace

void add_startup_taint(json::value& node) {
  json::array taints = taints_of(node);
  if (std::ranges::any_of(taints, has_its_place)) {
    return;
  }
  taints.push_back(json::object{
      {"key", kStartupTaintKey}, {"value", kStartupTaintValue}, {"effect", kStartupTaintEffect}});
  json::object& object = node.get_object();
  api::object_at(object, "spec")["taints"] = std::move(taints);
  api::object_at(api::object_at(object, "metadata"), "annotations")[kStartupTaintAnnotation] =
      fmt::format("{}={}:{}", kStartupTaintKey, kStartupTaintValue, kStartupTaintEffect);
}

std::optional<json::value> without_startup_taint(const json::value& stored) {
  const json::value* annotations = api::find_path(stored, "metadata.annotations");
  if (!annotations || !api::find(*annotations, kStartupTaintAnnotation)) {
    return std::nullopt;
  }
  json::array left;
  std::ranges::copy_if(taints_of(stored), std::back_inserter(left), [](const json::value& taint) {
    return !has_its_place(taint) || api::string_at(taint, "value") != kStartupTaintValue;
  });
  // The last taint takes the list along, as typed clients leave empty lists out.
  json::value list = left.empty() ? json::value() : json::value(std::move(left));
  json::object metadata{{"uid", api::string_at(stored, "metadata.uid")},
                        {"resourceVersion", api::string_at(stored, "metadata.resourceVersion")},
                        {"annotations", json::object{{kStartupTaintAnnotation, nullptr}}}};
  return json::object{{"metadata", std::move(metadata)},
                      {"spec", json::object{{"taints", std::move(list)}}}};
}

} // namespace berth::node
