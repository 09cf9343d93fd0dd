// Values and types for tests of patches.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/base/assert.h"
#include "berth/patch/owners.h"
#include "berth/schema/arena.h"
#include "berth/schema/catalogue.h"

namespace berth::patch::test {

inline json::value from(std::string_view text) {
  auto value = api::parse_json(text);
  BERTH_ASSERT(value.has_value(), std::string(text));
  return std::move(*value);
}

/// A built-in kind and its target.
inline Target builtin(std::string_view group, std::string_view version, std::string_view kind,
                      std::string_view subresource = "") {
  const schema::Resource* resource = schema::Catalogue::builtin().resource_of(
      {std::string(group), std::string(version), std::string(kind)});
  BERTH_ASSERT(resource != nullptr, std::string(kind));
  Target target{
      .type = resource->type.get(),
      .group = std::string(group),
      .version = std::string(version),
      .kind = std::string(kind),
      .zero = {},
      .resets = reset_fields(group, kind, subresource, resource->subresource("status") != nullptr)};
  target.zero = zero_object(*resource->type, target.api_version(), kind);
  return target;
}

} // namespace berth::patch::test
