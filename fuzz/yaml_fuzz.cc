// Any bytes: parsing never crashes, errors have a place, and what is read is written and read again
// the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "berth/api/json.h"
#include "berth/api/yaml.h"
#include "berth/base/assert.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto documents = api::parse_yaml(text, "fuzz");
  if (!documents) {
    BERTH_ASSERT(documents.error().where && documents.error().where->line > 0,
                 to_string(documents.error()));
    return 0;
  }
  for (const api::YamlDocument& document : *documents) {
    const std::string written = api::to_yaml(document.value);
    const auto again = api::parse_yaml(written, "again");
    BERTH_ASSERT(again.has_value() && again->size() == 1, written);
    BERTH_ASSERT(api::to_json(again->front().value) == api::to_json(document.value), written);
  }
  return 0;
}
