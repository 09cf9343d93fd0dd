// Kubernetes resource.Quantity: exact arithmetic and the canonical text form. Rules: apimachinery
// resource.Quantity (finer than nano rounds away from zero, magnitude saturates at 2^63-1).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "berth/base/result.h"

namespace berth::api {

/// A decimal number with up to nine fraction digits and the format it was written in. Value
/// semantics, 32 bytes or less.
class Quantity {
 public:
  enum class Format { DecimalSI, BinarySI, DecimalExponent };

  Quantity() = default;
  static Result<Quantity> parse(std::string_view text);
  static Quantity from_int(std::int64_t value, Format format = Format::DecimalSI);
  static Quantity from_milli(std::int64_t value, Format format = Format::DecimalSI);

  /// Integer value, rounded up (away from zero); saturates.
  std::int64_t value() const;
  /// Thousandths, rounded up; saturates.
  std::int64_t milli_value() const;
  bool is_zero() const;
  /// -1, 0 or 1.
  int sign() const;
  Format format() const { return format_; }

  /// Canonical form, e.g. "1500m", "2Gi", "0".
  std::string to_string() const;

  /// The left operand's format is kept unless it is zero, then the right one's is adopted.
  /// Saturating.
  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  friend Quantity operator+(Quantity a, const Quantity& b) { return a += b; }
  friend Quantity operator-(Quantity a, const Quantity& b) { return a -= b; }

  /// Numeric comparison; the format does not count.
  std::strong_ordering operator<=>(const Quantity& other) const;
  bool operator==(const Quantity& other) const { return (*this <=> other) == 0; }

 private:
  __extension__ using Nanos = __int128; // value * 10^9
  Nanos nanos_ = 0;
  Format format_ = Format::DecimalSI;
};

} // namespace berth::api
