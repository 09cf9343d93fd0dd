// Any expression, on an object: reading, checking and evaluating never crash, and what is evaluated
// twice comes to the same. An expression that checks and is true or false by type never is anything
// else.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <boost/json/parse.hpp>

#include "berth/base/assert.h"
#include "berth/cel/json_value.h"
#include "berth/cel/program.h"

namespace {

using namespace berth;

constexpr std::int64_t kLimit = 20'000;

cel::TypeRef self_type() {
  const cel::TypeRef text = cel::simple(cel::Kind::String);
  return std::make_shared<const cel::Type>(
      cel::Type{.kind = cel::Kind::Object,
                .name = "self",
                .fields = {{"n", cel::simple(cel::Kind::Int)},
                           {"s", text},
                           {"l", cel::list_of(text)},
                           {"m", cel::map_of(text, cel::simple(cel::Kind::Int))},
                           {"d", cel::simple(cel::Kind::Dyn)},
                           {"t", cel::simple(cel::Kind::Timestamp)}}});
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<cel::Variable> kVariables = {{.name = "self", .type = self_type()}};
  static const boost::json::value kSelf = boost::json::parse(
      R"({"n": 3, "s": "a1", "l": ["x", "yy"], "m": {"k": 1}, "d": {"e": [1, "2", null]},
          "t": "2026-01-02T03:04:05Z"})");
  const auto program =
      cel::Program::compile({reinterpret_cast<const char*>(data), size}, kVariables);
  if (!program) {
    return 0;
  }
  const cel::Bound bound[] = {
      {.name = "self", .value = cel::from_json(kSelf, kVariables.front().type)}};
  const cel::Evaluated first = (*program)->run(bound, kLimit);
  const cel::Evaluated second = (*program)->run(bound, kLimit);
  BERTH_ASSERT(first.cost == second.cost, "an evaluation costs more the second time");
  BERTH_ASSERT(first.value.has_value() == second.value.has_value(), "an evaluation fails at times");
  if (first.value && (*program)->type()->kind == cel::Kind::Bool) {
    BERTH_ASSERT(first.value->is<bool>(), "what is a bool by type is none");
  }
  return 0;
}
