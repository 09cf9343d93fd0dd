// Any bytes: parsing never crashes, errors have a place, and what is read is written and read again
// the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "berth/api/json.h"
#include "berth/base/assert.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = api::parse_json(text, "fuzz");
  if (!value) {
    BERTH_ASSERT(value.error().where && value.error().where->line > 0, to_string(value.error()));
    return 0;
  }
  const std::string written = api::to_json(*value);
  const auto again = api::parse_json(written);
  BERTH_ASSERT(again.has_value(), written);
  BERTH_ASSERT(api::to_json(*again) == written, written);
  BERTH_ASSERT(api::parse_json(api::to_pretty_json(*value)).has_value(), written);
  return 0;
}
