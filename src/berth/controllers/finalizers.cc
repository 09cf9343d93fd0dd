#include "berth/controllers/finalizers.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

namespace berth::controllers {

namespace json = api::json;

bool has_finalizer(const api::Object& object, std::string_view finalizer) {
  return std::ranges::find(object.meta().finalizers, finalizer) != object.meta().finalizers.end();
}

bool deletion_complete(const api::ObjectMeta& meta) {
  return meta.deletion_timestamp && meta.finalizers.empty() &&
         meta.deletion_grace_period_seconds.value_or(0) == 0;
}

json::value without_finalizer(const api::Object& object, std::string_view finalizer) {
  json::array rest;
  for (const std::string& held : object.meta().finalizers) {
    if (held != finalizer) {
      rest.emplace_back(held);
    }
  }
  json::object metadata{{"uid", object.meta().uid},
                        {"resourceVersion", fmt::format("{}", object.meta().resource_version)},
                        {"finalizers", std::move(rest)}};
  return json::object{{"metadata", std::move(metadata)}};
}

} // namespace berth::controllers
