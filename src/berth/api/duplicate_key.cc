#include "berth/api/duplicate_key.h"

#include <fmt/format.h>

namespace berth::api {

std::string field_path(std::span<const PathStep> steps) {
  std::string out;
  for (const PathStep& step : steps) {
    if (!step.is_member) {
      out += fmt::format("[{}]", step.index);
    } else if (step.name.find_first_of("./[]") != std::string_view::npos) {
      out += fmt::format("[{}]", step.name);
    } else {
      out += fmt::format("{}{}", out.empty() ? "" : ".", step.name);
    }
  }
  return out;
}

} // namespace berth::api
