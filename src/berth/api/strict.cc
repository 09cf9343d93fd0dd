#include "berth/api/strict.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/json.h"
#include "berth/base/suggest.h"

namespace berth::api {

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view near = nearest(word, candidates);
  return near.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", near);
}

void refuse_unknown(const Field& in, std::span<const std::string_view> known) {
  in.each_member([&](std::string_view name, const Field& member) {
    if (std::ranges::find(known, name) == known.end()) {
      member.fail(fmt::format("unknown field{}", did_you_mean(name, known)));
    }
  });
}

void refuse_value(const Field& in, std::string_view why) {
  in.fail(fmt::format("Invalid value: {}: {}", to_json(in.value()), why));
}

void decode_duration(const Field& in, Duration& out) {
  std::string text;
  decode(in, text);
  if (in.failed()) {
    return;
  }
  const auto duration = parse_duration(text);
  if (!duration) {
    return in.fail(duration.error().message);
  }
  out = *duration;
}

void check_range(const Field& in, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most) {
    refuse_value(in, fmt::format("not in valid range [{}, {}]", least, most));
  }
}

void check_choice(const Field& in, std::string_view value,
                  std::initializer_list<std::string_view> supported) {
  if (std::ranges::find(supported, value) == supported.end()) {
    std::vector<std::string> quoted;
    for (const std::string_view one : supported) {
      quoted.push_back(fmt::format("\"{}\"", one));
    }
    in.fail(fmt::format("Unsupported value: \"{}\": supported values: {}", value,
                        fmt::join(quoted, ", ")));
  }
}

void require(const Field& in, std::string_view member, std::string_view why) {
  in.fail_member(member, fmt::format("Required value{}{}", why.empty() ? "" : ": ", why));
}

} // namespace berth::api
