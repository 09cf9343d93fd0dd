// Any text: parsing never crashes, the canonical form is the same number, and canonical forms come
// to rest. Kubernetes' rest at the second: 62.5Ki is written 64000, which has lost its binary
// suffix and is written 64k.
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
  const std::string second = again->to_string();
  const auto third = api::Quantity::parse(second);
  BERTH_ASSERT(third.has_value() && *third == *quantity && third->to_string() == second, second);
  const api::Quantity twice = *quantity + *quantity;
  BERTH_ASSERT(quantity->sign() == twice.sign(), canonical);
  return 0;
}
