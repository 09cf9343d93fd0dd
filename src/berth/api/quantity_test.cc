#include "berth/api/quantity.h"

#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth::api {
namespace {

using Format = Quantity::Format;

Quantity q(std::string_view text) {
  const auto parsed = Quantity::parse(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed.value_or(Quantity());
}

struct CanonicalCase {
  std::string given;
  std::string want;
};

class QuantityCanonical : public testing::TestWithParam<CanonicalCase> {};

TEST_P(QuantityCanonical, PrintsTheLargestExactSuffix) {
  const std::string text = q(GetParam().given).to_string();
  EXPECT_EQ(text, GetParam().want) << GetParam().given;
  EXPECT_EQ(q(text).to_string(), text) << "not a fixed point: " << GetParam().given;
  EXPECT_EQ(q(text), q(GetParam().given));
}

INSTANTIATE_TEST_SUITE_P(
    Table, QuantityCanonical,
    testing::Values(
        CanonicalCase{"0", "0"}, CanonicalCase{"0Ki", "0"}, CanonicalCase{"-0", "0"},
        CanonicalCase{"1500m", "1500m"}, CanonicalCase{"0.5", "500m"}, CanonicalCase{".5", "500m"},
        CanonicalCase{"5.", "5"}, CanonicalCase{"1000m", "1"}, CanonicalCase{"1000k", "1M"},
        CanonicalCase{"+8", "8"}, CanonicalCase{"007", "7"}, CanonicalCase{"1.5Gi", "1536Mi"},
        CanonicalCase{"0.5Ki", "512"}, CanonicalCase{"1.3Ki", "1331200m"},
        CanonicalCase{"1024", "1024"}, CanonicalCase{"1024Ki", "1Mi"},
        CanonicalCase{"1023Ki", "1023Ki"}, CanonicalCase{"1Ki", "1Ki"},
        CanonicalCase{"1025", "1025"}, CanonicalCase{"1e3", "1e3"}, CanonicalCase{"1E3", "1e3"},
        CanonicalCase{"12e4", "120e3"}, CanonicalCase{"1e0", "1"}, CanonicalCase{"1e-3", "1e-3"},
        CanonicalCase{"5E", "5E"}, CanonicalCase{"1.5e3", "1500"}, CanonicalCase{"100n", "100n"},
        CanonicalCase{"1000u", "1m"}, CanonicalCase{"-1.5", "-1500m"},
        CanonicalCase{"-2Gi", "-2Gi"}, CanonicalCase{"1Ei", "1Ei"},
        CanonicalCase{"2000Mi", "2000Mi"}));

TEST(Quantity, RoundsFinerThanNanoAwayFromZero) {
  EXPECT_EQ(q("0.0000000001").to_string(), "1n");
  EXPECT_EQ(q("-0.0000000001").to_string(), "-1n");
  EXPECT_EQ(q("1.0000000001").to_string(), "1000000001n");
  EXPECT_EQ(q("1e-100").to_string(), "1e-9");
  EXPECT_EQ(q("1e-99999999999999999999").to_string(), "1e-9");
  EXPECT_EQ(q("0.00000000001Ki").to_string(), "11n"); // 10.24 nano
}

TEST(Quantity, SaturatesAtTheLargestInt64) {
  EXPECT_EQ(q("9223372036854775807").value(), INT64_MAX);
  EXPECT_EQ(q("9223372036854775808").value(), INT64_MAX);
  EXPECT_EQ(q("-9223372036854775808").value(), -INT64_MAX);
  EXPECT_EQ(q("8Ei").value(), INT64_MAX);
  EXPECT_EQ(q("100Ei").value(), INT64_MAX);
  EXPECT_EQ(q("1e1000000000").value(), INT64_MAX);
  EXPECT_EQ(q(std::string(400, '9')).value(), INT64_MAX);
  EXPECT_EQ(q("0e99999999999999999999").value(), 0);
  EXPECT_EQ((q("9E") + q("9E")).value(), INT64_MAX);
  EXPECT_EQ((q("-9E") - q("9E")).value(), -INT64_MAX);
  EXPECT_EQ(q("9E").milli_value(), INT64_MAX);
  EXPECT_EQ(Quantity::from_int(INT64_MIN).value(), -INT64_MAX);
}

TEST(Quantity, ValuesRoundUp) {
  EXPECT_EQ(q("0.1").value(), 1);
  EXPECT_EQ(q("-0.1").value(), -1);
  EXPECT_EQ(q("1.5m").milli_value(), 2);
  EXPECT_EQ(q("2").milli_value(), 2000);
  EXPECT_EQ(q("1.5Gi").value(), 1610612736);
}

TEST(Quantity, TheLeftFormatIsKeptUnlessItIsZero) {
  EXPECT_EQ((q("1Gi") + q("1024")).to_string(), "1048577Ki");
  EXPECT_EQ((q("1024") + q("1Gi")).to_string(), "1073742848");
  EXPECT_EQ((q("0") + q("2Gi")).to_string(), "2Gi");
  EXPECT_EQ((q("0") - q("2Gi")).to_string(), "-2Gi");
  EXPECT_EQ((q("2Gi") - q("2Gi") + q("1M")).format(), Format::DecimalSI);
}

TEST(Quantity, ComparesNumbersNotText) {
  EXPECT_EQ(q("1Gi"), q("1073741824"));
  EXPECT_EQ(q("1"), q("1000m"));
  EXPECT_LT(q("999m"), q("1"));
  EXPECT_GT(q("1Ki"), q("1k"));
  EXPECT_LT(q("-1"), q("0"));
  EXPECT_EQ(q("-5").sign(), -1);
  EXPECT_TRUE(q("0.0").is_zero());
}

class QuantityBad : public testing::TestWithParam<std::string> {};

TEST_P(QuantityBad, IsAnErrorThatShowsTheText) {
  const auto parsed = Quantity::parse(GetParam());
  ASSERT_FALSE(parsed.has_value()) << GetParam();
  EXPECT_EQ(parsed.error().code, Code::Invalid);
  EXPECT_NE(parsed.error().message.find("\"" + GetParam() + "\""), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Table, QuantityBad,
                         testing::Values("", " ", "1 ", " 1", "1 Gi", "Gi", ".", "-", "+", "1.1.1",
                                         "1.1.M", "1+1.0M", "0.1mi", "0.1am", "aoeu", ".5i", "1i",
                                         "-3.01i", "-3.01e-", "1e", "1e+", "1e+-3", "1e3.5", "1K",
                                         "1Gib", "1GB", "--1", "+-1", "0x10", "1_000", "1,5", "NaN",
                                         "inf", "1e3Ki"));

/// A slow number: sign, decimal digits of value * 10^9 after rounding, built by string arithmetic.
std::string times(std::string digits, int factor) {
  int carry = 0;
  for (auto it = digits.rbegin(); it != digits.rend(); ++it) {
    const int product = (*it - '0') * factor + carry;
    *it = static_cast<char>('0' + product % 10);
    carry = product / 10;
  }
  return carry == 0 ? digits : std::to_string(carry) + digits;
}

std::string plus_one(const std::string& digits) {
  std::string out = digits;
  for (auto it = out.rbegin(); it != out.rend(); ++it) {
    if (*it != '9') {
      ++*it;
      return out;
    }
    *it = '0';
  }
  return "1" + out;
}

std::string strip(std::string digits) {
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  return digits.empty() ? "0" : digits;
}

/// ceil(whole.fraction * 2^power_of_two * 10^power_of_ten * 10^9), capped at (2^63-1) * 10^9.
std::string slow_nanos(const std::string& whole, const std::string& fraction, int power_of_two,
                       int power_of_ten) {
  std::string digits = whole + fraction;
  for (int i = 0; i < power_of_two; ++i) {
    digits = times(digits, 2);
  }
  const int shift = power_of_ten + 9 - static_cast<int>(fraction.size());
  if (shift >= 0) {
    digits += std::string(static_cast<std::size_t>(shift), '0');
  } else {
    digits.insert(0, static_cast<std::size_t>(-shift) + 1, '0');
    const std::string lost = digits.substr(digits.size() - static_cast<std::size_t>(-shift));
    digits.resize(digits.size() - lost.size());
    digits = strip(lost) == "0" ? digits : plus_one(digits);
  }
  digits = strip(digits);
  const std::string cap = "9223372036854775807000000000";
  return digits.size() > cap.size() || (digits.size() == cap.size() && digits > cap) ? cap : digits;
}

std::string random_digits(Rng& rng, std::uint64_t most) {
  std::string out;
  for (std::uint64_t n = rng.below(most + 1); n > 0; --n) {
    out += static_cast<char>('0' + (rng.chance(1, 3) ? 0 : rng.below(10)));
  }
  return out;
}

/// Nanos of a quantity, read back from whole values and remainders only through the public
/// interface.
std::string nanos_of(const Quantity& quantity) {
  // In nanos and decimal format the canonical text without its suffix is the value times
  // 10^-exponent.
  Quantity decimal = Quantity::from_int(1);
  decimal += quantity;
  decimal -= Quantity::from_int(1);
  std::string text = decimal.to_string();
  const std::string suffixes = "num kMGTPE";
  int exponent = 0;
  if (text.back() > '9') {
    exponent = static_cast<int>(suffixes.find(text.back())) * 3 - 9;
    text.pop_back();
  }
  return strip(text + std::string(static_cast<std::size_t>(exponent + 9), '0'));
}

TEST(QuantityProperty, AgreesWithDigitByDigitArithmetic) {
  struct Unit {
    std::string suffix;
    int two;
    int ten;
  };
  const std::vector<Unit> units = {
      {"", 0, 0},    {"n", 0, -9},     {"u", 0, -6},  {"m", 0, -3},  {"k", 0, 3},   {"M", 0, 6},
      {"G", 0, 9},   {"T", 0, 12},     {"P", 0, 15},  {"E", 0, 18},  {"Ki", 10, 0}, {"Mi", 20, 0},
      {"Gi", 30, 0}, {"Ti", 40, 0},    {"Pi", 50, 0}, {"Ei", 60, 0}, {"e5", 0, 5},  {"e-7", 0, -7},
      {"E+2", 0, 2}, {"e-30", 0, -30}, {"e25", 0, 25}};
  Rng rng(20260102);
  for (int i = 0; i < 5'000; ++i) {
    const std::string whole = random_digits(rng, 22);
    const std::string fraction = random_digits(rng, 24);
    if (whole.empty() && fraction.empty()) {
      continue;
    }
    const Unit& unit = units[rng.below(units.size())];
    const std::string text = whole + (fraction.empty() ? "" : "." + fraction) + unit.suffix;
    const std::string want = slow_nanos(whole, fraction, unit.two, unit.ten);
    // Adding one to read the nanos back would saturate near the cap.
    if (want.size() < 27) {
      ASSERT_EQ(nanos_of(q(text)), want) << text;
    } else if (want == "9223372036854775807000000000") {
      ASSERT_EQ(q(text).value(), INT64_MAX) << text;
    }
    ASSERT_EQ(q(q(text).to_string()), q(text)) << text;
    ASSERT_EQ(q(q(text).to_string()).to_string(), q(text).to_string()) << text;
    ASSERT_EQ(q("-" + text) + q(text), Quantity()) << text;
  }
}

TEST(QuantityProperty, SumsAndOrderFollowIntegers) {
  Rng rng(7);
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t a = rng.between(-4'000'000'000'000, 4'000'000'000'000);
    const std::int64_t b = rng.between(-4'000'000'000'000, 4'000'000'000'000);
    const Quantity x =
        Quantity::from_milli(a, rng.chance(1, 2) ? Format::BinarySI : Format::DecimalSI);
    const Quantity y =
        Quantity::from_milli(b, rng.chance(1, 2) ? Format::BinarySI : Format::DecimalExponent);
    ASSERT_EQ((x + y).milli_value(), a + b);
    ASSERT_EQ((x - y).milli_value(), a - b);
    ASSERT_EQ(x <=> y, a <=> b);
    ASSERT_EQ(x + y, y + x);
    ASSERT_EQ(q(x.to_string()), x);
  }
}

} // namespace
} // namespace berth::api
