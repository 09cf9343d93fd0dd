// Random objects of every served kind, and random damage to their text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/base/rng.h"
#include "berth/schema/body.h"
#include "berth/schema/catalogue.h"
#include "berth/schema/decode.h"
#include "berth/schema/go_json.h"
#include "berth/schema/openapi_schema.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : rng_(seed) {}

  json::value value(const Type& type, int depth) {
    if (below(12) == 0) {
      return nullptr;
    }
    switch (type.form) {
    case Form::Any:
      return json::object{{"kept", below(9)}};
    case Form::Boolean:
      return below(2) == 0;
    case Form::Integer:
      return below(3);
    case Form::Number:
      return 0.5;
    case Form::String:
      return string(type);
    case Form::IntOrString:
      return below(2) == 0 ? json::value(below(90)) : json::value("50%");
    case Form::Quantity:
      return json::value(pick({"1000m", "1Gi", "0", "1.5", "1e3", "1024Ki"}));
    case Form::Struct:
      return structure(type, depth);
    case Form::Map: {
      json::object out;
      for (int i = below(3); i > 0; --i) {
        out["k" + std::to_string(i)] = value(*type.element, depth - 1);
      }
      return out;
    }
    case Form::List: {
      json::array out;
      for (int i = depth > 0 ? below(3) : 0; i > 0; --i) {
        out.push_back(value(*type.element, depth - 1));
      }
      return out;
    }
    }
    return nullptr;
  }

  int below(int bound) { return static_cast<int>(rng_.below(static_cast<std::uint64_t>(bound))); }

 private:
  const char* pick(std::initializer_list<const char*> of) {
    return *(of.begin() + below(static_cast<int>(of.size())));
  }

  json::value string(const Type& type) {
    if (type.format == "date-time") {
      return json::value(pick({"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456+02:00"}));
    }
    if (type.format == "byte") {
      return json::value(pick({"", "YQ==", "YWJj"}));
    }
    return json::value(pick({"", "x", "a \"quoted\" one", "\xC3\xA9"}));
  }

  json::value structure(const Type& type, int depth) {
    json::object out;
    for (const Field& field : type.fields) {
      if (depth > 0 && below(3) == 0) {
        out[field.name] = value(*field.type, depth - 1);
      }
    }
    return out;
  }

  Rng rng_;
};

constexpr int kSeeds = 40;

TEST(DecodeProperty, DecodingTwiceIsDecodingOnce) {
  for (const Resource& resource : Catalogue::builtin().resources()) {
    for (int seed = 0; seed < kSeeds; ++seed) {
      Generator generator(static_cast<std::uint64_t>(seed));
      const json::value given = generator.value(*resource.type, 6);
      const std::string text = api::to_json(given);
      const auto once = decode_text(text, *resource.type);
      ASSERT_TRUE(once) << resource.kind << " " << text << ": " << once.error().message;
      EXPECT_THAT(once->strict, ::testing::IsEmpty()) << text;
      const auto same = decode_value(given, *resource.type);
      ASSERT_TRUE(same);
      EXPECT_EQ(api::to_json(same->value), api::to_json(once->value)) << text;
      const auto twice = decode_value(once->value, *resource.type);
      ASSERT_TRUE(twice) << twice.error().message;
      EXPECT_EQ(api::to_json(twice->value), api::to_json(once->value)) << text;
    }
  }
}

// Whatever bytes come, an answer comes back; and Go's scanner accepts what our parser accepts.
TEST(DecodeProperty, DamagedTextIsAnsweredAndSyntaxAgreesWithTheParser) {
  const Resource& pods = *Catalogue::builtin().resource("", "v1", "pods");
  constexpr std::string_view kAlphabet = "{}[]\",:\\0123456789eE+-.truefalsn \n\x01\xff";
  int sound = 0;
  for (int seed = 0; seed < 3000; ++seed) {
    Generator generator(static_cast<std::uint64_t>(seed));
    std::string text = api::to_json(generator.value(*pods.type, 5));
    for (int damage = generator.below(3); damage >= 0 && !text.empty(); --damage) {
      const auto at = static_cast<std::size_t>(generator.below(static_cast<int>(text.size())));
      if (generator.below(3) == 0) {
        text.erase(at, 1 + static_cast<std::size_t>(generator.below(4)));
      } else {
        text[at] = kAlphabet[static_cast<std::size_t>(
            generator.below(static_cast<int>(kAlphabet.size())))];
      }
    }
    const auto problem = json_syntax_error(text);
    const auto parsed = api::parse_json(text);
    // The parser also refuses keys given twice and what is no UTF-8.
    EXPECT_TRUE(!parsed || !problem) << text << ": " << problem.value_or("");
    const auto body = decode_body(text, {pods.gvk(), *pods.type}, FieldValidation::Warn);
    EXPECT_TRUE(!problem || !body) << text;
    sound += body ? 1 : 0;
  }
  EXPECT_GT(sound, 100);
}

} // namespace
} // namespace berth::schema
