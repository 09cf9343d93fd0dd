#include "berth/api/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace berth::api {
namespace {

__extension__ using Int128 = __int128;

constexpr Int128 kNano = 1'000'000'000;
constexpr Int128 kMaxValue = INT64_MAX;
constexpr Int128 kMaxNanos = kMaxValue * kNano;

struct Suffix {
  Quantity::Format format = Quantity::Format::DecimalSI;
  int power_of_ten = 0;
  int power_of_two = 0;
};

constexpr std::string_view kDecimalSuffixes =
    "num kMGTPE";                                      // 10^-9, 10^-6, ... 10^18; blank is none
constexpr std::string_view kBinarySuffixes = "KMGTPE"; // 2^10, 2^20, ... 2^60

std::optional<Suffix> parse_suffix(std::string_view text) {
  using Format = Quantity::Format;
  if (text.empty()) {
    return Suffix{};
  }
  if (text.size() == 1 && text != " ") {
    const std::size_t at = kDecimalSuffixes.find(text[0]);
    return at == std::string_view::npos
               ? std::nullopt
               : std::optional(Suffix{Format::DecimalSI, static_cast<int>(at) * 3 - 9, 0});
  }
  if (text.size() == 2 && text[1] == 'i') {
    const std::size_t at = kBinarySuffixes.find(text[0]);
    return at == std::string_view::npos
               ? std::nullopt
               : std::optional(Suffix{Format::BinarySI, 0, static_cast<int>(at) * 10 + 10});
  }
  if (text[0] != 'e' && text[0] != 'E') {
    return std::nullopt;
  }
  std::string_view digits = text.substr(1);
  const bool plus = digits.starts_with('+');
  digits.remove_prefix(plus ? 1 : 0);
  int exponent = 0;
  const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (end != digits.data() + digits.size() || ec == std::errc::invalid_argument ||
      (plus && digits[0] == '-')) {
    return std::nullopt;
  }
  // Beyond these bounds every number saturates or rounds up to one nano.
  constexpr int kFar = 100'000'000;
  const int bounded =
      ec == std::errc() ? std::clamp(exponent, -kFar, kFar) : (digits[0] == '-' ? -kFar : kFar);
  return Suffix{Format::DecimalExponent, bounded, 0};
}

/// The digits of a number without its point: value = digits * 10^(point - digits.size()).
struct Decimal {
  std::string digits;
  std::int64_t point = 0;

  char digit(std::int64_t at) const {
    return at < 0 || at >= std::ssize(digits) ? '0' : digits[static_cast<std::size_t>(at)];
  }
};

Int128 whole_part(const Decimal& number) {
  Int128 whole = 0;
  for (std::int64_t i = 0; i < number.point && whole <= kMaxValue; ++i) {
    if (i >= std::ssize(number.digits) && whole == 0) {
      return 0;
    }
    whole = whole * 10 + (number.digit(i) - '0');
  }
  return whole;
}

/// fraction * scale, rounded up. Multiplies digit by digit from the right, so any number of digits
/// is exact: what is carried past the point is the result, what is left behind only tells whether
/// to round.
Int128 fraction_times(const Decimal& number, Int128 scale) {
  // Further from the point than this, digits cannot carry past it.
  constexpr std::int64_t kReach = 60;
  Int128 carry = 0;
  bool rest = false;
  const std::int64_t first = number.point;
  for (std::int64_t i = std::ssize(number.digits) - 1; i >= std::max<std::int64_t>(first, 0); --i) {
    const Int128 product = (number.digit(i) - '0') * scale + carry;
    rest = rest || product % 10 != 0;
    carry = product / 10;
  }
  for (std::int64_t zeros = 0; zeros < -first; ++zeros) { // 0.000ddd
    if (zeros > kReach) {
      return carry > 0 || rest ? 1 : 0;
    }
    rest = rest || carry % 10 != 0;
    carry /= 10;
  }
  return carry + (rest ? 1 : 0);
}

Int128 saturate(Int128 nanos) {
  return std::clamp(nanos, -kMaxNanos, kMaxNanos);
}

/// Divides away from zero.
std::int64_t divide_up(Int128 nanos, Int128 unit) {
  const Int128 quotient = nanos / unit;
  const Int128 rounded = nanos % unit == 0 ? quotient : quotient + (nanos < 0 ? -1 : 1);
  return static_cast<std::int64_t>(std::clamp<Int128>(rounded, -kMaxValue, kMaxValue));
}

std::string digits_of(Int128 value) {
  const bool negative = value < 0;
  std::string out;
  do {
    const auto digit = static_cast<int>(value % 10);
    out += static_cast<char>('0' + (digit < 0 ? -digit : digit));
    value /= 10;
  } while (value != 0);
  if (negative) {
    out += '-';
  }
  std::reverse(out.begin(), out.end());
  return out;
}

} // namespace

Result<Quantity> Quantity::parse(std::string_view text) {
  const auto bad = [&] {
    return fail(Code::Invalid,
                fmt::format("not a quantity such as \"500m\", \"2Gi\" or \"8\": \"{}\"",
                            text.substr(0, 60)));
  };
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) {
    rest.remove_prefix(1);
  }
  Decimal number;
  bool point_seen = false;
  std::size_t used = 0;
  for (; used < rest.size() && (rest[used] == '.' || (rest[used] >= '0' && rest[used] <= '9'));
       ++used) {
    if (rest[used] != '.') {
      number.digits += rest[used];
    } else if (!std::exchange(point_seen, true)) {
      number.point = std::ssize(number.digits);
    } else {
      return bad();
    }
  }
  const auto suffix = parse_suffix(rest.substr(used));
  if (number.digits.empty() || !suffix) {
    return bad();
  }
  number.point = (point_seen ? number.point : std::ssize(number.digits)) + suffix->power_of_ten;
  const Int128 factor = Int128{1} << suffix->power_of_two;
  const Int128 whole = whole_part(number);
  Quantity out;
  out.format_ = suffix->format;
  out.nanos_ = whole > kMaxValue / factor
                   ? kMaxNanos
                   : saturate(whole * factor * kNano + fraction_times(number, factor * kNano));
  if (out.format_ == Format::BinarySI && out.nanos_ > 0 && out.nanos_ < kNano) {
    out.format_ = Format::DecimalSI;
  }
  out.nanos_ = negative ? -out.nanos_ : out.nanos_;
  return out;
}

Quantity Quantity::from_int(std::int64_t value, Format format) {
  Quantity out;
  out.nanos_ = saturate(Int128{value} * kNano);
  out.format_ = format;
  return out;
}

Quantity Quantity::from_milli(std::int64_t value, Format format) {
  Quantity out;
  out.nanos_ = Int128{value} * 1'000'000;
  out.format_ = format;
  return out;
}

std::int64_t Quantity::value() const {
  return divide_up(nanos_, kNano);
}
std::int64_t Quantity::milli_value() const {
  return divide_up(nanos_, 1'000'000);
}
bool Quantity::is_zero() const {
  return nanos_ == 0;
}
int Quantity::sign() const {
  return nanos_ > 0 ? 1 : (nanos_ < 0 ? -1 : 0);
}

std::string Quantity::to_string() const {
  if (nanos_ == 0) {
    return "0";
  }
  const bool below_kibi = nanos_ > -1024 * kNano && nanos_ < 1024 * kNano;
  if (format_ == Format::BinarySI && !below_kibi && nanos_ % kNano == 0) {
    Int128 value = nanos_ / kNano;
    std::size_t power = 0;
    for (; value % 1024 == 0; ++power) {
      value /= 1024;
    }
    return digits_of(value) + (power == 0 ? "" : std::string{kBinarySuffixes[power - 1], 'i'});
  }
  Int128 value = nanos_;
  int exponent = -9;
  for (; value % 1000 == 0; exponent += 3) {
    value /= 1000;
  }
  if (exponent == 0) {
    return digits_of(value);
  }
  return format_ == Format::DecimalExponent
             ? fmt::format("{}e{}", digits_of(value), exponent)
             : digits_of(value) + kDecimalSuffixes[static_cast<std::size_t>(exponent / 3 + 3)];
}

Quantity& Quantity::operator+=(const Quantity& other) {
  if (is_zero()) {
    format_ = other.format_;
  }
  nanos_ = saturate(nanos_ + other.nanos_);
  return *this;
}

Quantity& Quantity::operator-=(const Quantity& other) {
  if (is_zero()) {
    format_ = other.format_;
  }
  nanos_ = saturate(nanos_ - other.nanos_);
  return *this;
}

std::strong_ordering Quantity::operator<=>(const Quantity& other) const {
  return nanos_ < other.nanos_   ? std::strong_ordering::less
         : nanos_ > other.nanos_ ? std::strong_ordering::greater
                                 : std::strong_ordering::equal;
}

} // namespace berth::api
