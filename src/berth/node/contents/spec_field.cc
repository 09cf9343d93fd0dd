#include "berth/node/contents/spec_field.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace berth::node {
namespace {

namespace json = boost::json;

std::optional<std::int64_t> int_of(const json::value& value) {
  if (value.is_int64()) {
    return value.get_int64();
  }
  if (value.is_uint64() && value.get_uint64() <= INT64_MAX) {
    return static_cast<std::int64_t>(value.get_uint64());
  }
  return std::nullopt;
}

} // namespace

std::optional<std::int64_t> int_at(const json::value& value, std::string_view dotted) {
  const json::value* found = api::find_path(value, dotted);
  return found ? int_of(*found) : std::nullopt;
}

std::optional<bool> bool_at(const json::value& value, std::string_view dotted) {
  const json::value* found = api::find_path(value, dotted);
  return found && found->is_bool() ? std::optional(found->get_bool()) : std::nullopt;
}

const json::array& list_at(const json::value& value, std::string_view dotted) {
  static const json::array kNone;
  const json::value* found = api::find_path(value, dotted);
  return found && found->is_array() ? found->get_array() : kNone;
}

std::vector<std::string> strings_at(const json::value& value, std::string_view dotted) {
  std::vector<std::string> strings;
  for (const json::value& each : list_at(value, dotted)) {
    if (each.is_string()) {
      strings.emplace_back(std::string_view(each.get_string()));
    }
  }
  return strings;
}

std::vector<std::int64_t> ints_at(const json::value& value, std::string_view dotted) {
  std::vector<std::int64_t> numbers;
  for (const json::value& each : list_at(value, dotted)) {
    if (const auto number = int_of(each)) {
      numbers.push_back(*number);
    }
  }
  return numbers;
}

const json::value* named_at(const json::value& value, std::string_view dotted,
                            std::string_view name) {
  for (const json::value& each : list_at(value, dotted)) {
    if (api::string_at(each, "name") == name) {
      return &each;
    }
  }
  return nullptr;
}

const json::value* container_spec(const json::value& pod, std::string_view name) {
  const json::value* app = named_at(pod, "spec.containers", name);
  return app ? app : named_at(pod, "spec.initContainers", name);
}

} // namespace berth::node
