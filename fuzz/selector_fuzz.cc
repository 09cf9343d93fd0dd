// Any text: parsing never crashes, and the printed selector parses to one that prints the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "berth/api/selector.h"
#include "berth/base/assert.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto selector = api::parse_selector_text(text);
  if (!selector) {
    return 0;
  }
  const std::string printed = api::to_string(*selector);
  const auto again = api::parse_selector_text(printed);
  BERTH_ASSERT(again.has_value(), printed);
  BERTH_ASSERT(api::to_string(*again) == printed, printed);
  selector->matches({{"a", "1"}, {"b", ""}});
  return 0;
}
