#include "berth/cel/issue.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::cel {
namespace {

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
}

/// The line that the place is in, and how many characters of it come before.
struct Place {
  std::size_t line = 1;
  std::size_t column = 0;
  std::string text;
};

Place find(std::string_view expression, std::size_t at) {
  Place out;
  std::size_t start = 0;
  std::size_t character = 0;
  for (std::size_t i = 0; i < expression.size() && character < at; ++i) {
    const bool last = i + 1 == expression.size() || begins_character(expression[i + 1]);
    character += last ? 1 : 0;
    out.column += last ? 1 : 0;
    if (expression[i] == '\n') {
      ++out.line;
      out.column = 0;
      start = i + 1;
    }
  }
  out.text = expression.substr(start, expression.find('\n', start) - start);
  std::ranges::replace(out.text, '\t', ' ');
  return out;
}

} // namespace

std::string to_string(std::vector<Issue> issues, std::string_view expression) {
  std::ranges::stable_sort(issues, {}, &Issue::at);
  std::string out;
  for (const Issue& issue : issues) {
    const Place place = find(expression, issue.at);
    out += fmt::format("{}ERROR: <input>:{}:{}: {}\n | {}\n | {:.<{}}^", out.empty() ? "" : "\n",
                       place.line, place.column + 1, issue.what, place.text, "", place.column);
  }
  return out;
}

} // namespace berth::cel
