#include "berth/node/readiness_gates.h"

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "berth/node/contents/spec_field.h"

namespace berth::node {
namespace {

const api::json::value* condition(const api::json::value& status, std::string_view type) {
  for (const api::json::value& each : list_at(status, "conditions")) {
    if (api::string_at(each, "type") == type) {
      return &each;
    }
  }
  return nullptr;
}

} // namespace

std::vector<std::string> missing_gates(const api::json::value& pod,
                                       const api::json::value* stored) {
  std::vector<std::string> missing;
  for (const api::json::value& gate : list_at(pod, "spec.readinessGates")) {
    const std::string_view type = api::string_at(gate, "conditionType");
    const api::json::value* found = stored ? condition(*stored, type) : nullptr;
    if (!found) {
      missing.push_back(fmt::format(
          "corresponding condition of pod readiness gate \"{}\" does not exist.", type));
    } else if (api::string_at(*found, "status") != "True") {
      missing.push_back(
          fmt::format("the status of pod readiness gate \"{}\" is not \"True\", but {}", type,
                      api::string_at(*found, "status")));
    }
  }
  return missing;
}

} // namespace berth::node
