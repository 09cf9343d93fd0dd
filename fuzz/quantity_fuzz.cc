// Any text: parsing never crashes, and the canonical form is the same number and a fixed point.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "berth/api/quantity.h"
#include "berth/base/assert.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto quantity = api::Quantity::parse(text);
  if (!quantity) {
    return 0;
  }
  const std::string canonical = quantity->to_string();
  const auto again = api::Quantity::parse(canonical);
  BERTH_ASSERT(again.has_value() && *again == *quantity, canonical);
  BERTH_ASSERT(again->to_string() == canonical, canonical);
  const api::Quantity twice = *quantity + *quantity;
  BERTH_ASSERT(quantity->sign() == twice.sign(), canonical);
  return 0;
}
