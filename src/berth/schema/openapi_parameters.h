// The parameters that requests may have, as OpenAPI documents tell them.
#pragma once

#include <string_view>

namespace berth::schema {

struct Parameter {
  std::string_view name;
  std::string_view type;
  std::string_view description;
};

/// `name` must be one that is known.
const Parameter& parameter_of(std::string_view name);

} // namespace berth::schema
