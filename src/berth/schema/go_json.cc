#include "berth/schema/go_json.h"

#include <fmt/format.h>

namespace berth::schema {
namespace {

constexpr int kMaxDepth = 1000;
constexpr std::string_view kEnd = "unexpected end of JSON input";

/// A character as Go quotes it; bytes beyond ASCII stand for the code point of that number.
std::string quoted(char c) {
  const auto byte = static_cast<unsigned char>(c);
  switch (c) {
  case '\'':
    return R"('\'')";
  case '"':
    return R"('"')";
  case '\\':
    return R"('\\')";
  case '\a':
    return R"('\a')";
  case '\b':
    return R"('\b')";
  case '\f':
    return R"('\f')";
  case '\n':
    return R"('\n')";
  case '\r':
    return R"('\r')";
  case '\t':
    return R"('\t')";
  case '\v':
    return R"('\v')";
  default:
    break;
  }
  if (byte < 0x20 || byte == 0x7f) {
    return fmt::format("'\\x{:02x}'", byte);
  }
  if (byte < 0x80) {
    return fmt::format("'{}'", c);
  }
  if (byte < 0xa1 || byte == 0xad) {
    return fmt::format("'\\u{:04x}'", byte);
  }
  return {'\'', static_cast<char>(0xc0 | (byte >> 6)), static_cast<char>(0x80 | (byte & 0x3f)),
          '\''};
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::optional<std::string> scan() {
    if (value(0)) {
      blanks();
      if (at_ < text_.size()) {
        wrong("after top-level value");
      }
    }
    return std::move(problem_);
  }

 private:
  // Every step returns false once problem_ is set.
  bool wrong(std::string_view where) {
    problem_ = at_ < text_.size()
                   ? fmt::format("invalid character {} {}", quoted(text_[at_]), where)
                   : std::string(kEnd);
    return false;
  }

  void blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool next_is_digit() const {
    return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9';
  }

  bool value(int depth) {
    blanks();
    if (at_ == text_.size()) {
      return wrong("");
    }
    switch (text_[at_]) {
    case '{':
      return deeper(depth) && object(depth + 1);
    case '[':
      return deeper(depth) && array(depth + 1);
    case '"':
      return string();
    case 't':
      return literal("true");
    case 'f':
      return literal("false");
    case 'n':
      return literal("null");
    default:
      break;
    }
    return next_is('-') || next_is_digit() ? number() : wrong("looking for beginning of value");
  }

  bool deeper(int depth) {
    if (depth < kMaxDepth) {
      return true;
    }
    problem_ = "exceeded max depth";
    return false;
  }

  bool object(int depth) {
    ++at_;
    blanks();
    if (next_is('}')) {
      ++at_;
      return true;
    }
    for (;;) {
      blanks();
      if (!next_is('"')) {
        return wrong("looking for beginning of object key string");
      }
      if (!string()) {
        return false;
      }
      blanks();
      if (!next_is(':')) {
        return wrong("after object key");
      }
      ++at_;
      if (!value(depth)) {
        return false;
      }
      blanks();
      if (next_is('}')) {
        ++at_;
        return true;
      }
      if (!next_is(',')) {
        return wrong("after object key:value pair");
      }
      ++at_;
    }
  }

  bool array(int depth) {
    ++at_;
    blanks();
    if (next_is(']')) {
      ++at_;
      return true;
    }
    for (;;) {
      if (!value(depth)) {
        return false;
      }
      blanks();
      if (next_is(']')) {
        ++at_;
        return true;
      }
      if (!next_is(',')) {
        return wrong("after array element");
      }
      ++at_;
    }
  }

  bool string() {
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) {
        return wrong("in string literal");
      }
      if (c == '\\' && !escape()) {
        return false;
      }
    }
    return wrong("");
  }

  // Leaves at_ on the last character of the escape.
  bool escape() {
    ++at_;
    if (at_ < text_.size() && text_[at_] == 'u') {
      for (int digits = 0; digits < 4; ++digits) {
        ++at_;
        if (at_ == text_.size() ||
            std::string_view("0123456789abcdefABCDEF").find(text_[at_]) == std::string_view::npos) {
          return wrong("in \\u hexadecimal character escape");
        }
      }
      return true;
    }
    return (at_ < text_.size() &&
            std::string_view("bfnrt\\/\"").find(text_[at_]) != std::string_view::npos) ||
           wrong("in string escape code");
  }

  bool literal(std::string_view word) {
    for (std::size_t i = 0; i < word.size(); ++i, ++at_) {
      if (!next_is(word[i])) {
        return wrong(fmt::format("in literal {} (expecting '{}')", word, word[i]));
      }
    }
    return true;
  }

  bool digits(std::string_view where) {
    if (!next_is_digit()) {
      return wrong(where);
    }
    while (next_is_digit()) {
      ++at_;
    }
    return true;
  }

  bool number() {
    if (next_is('-')) {
      ++at_;
    }
    if (next_is('0')) {
      ++at_;
    } else if (!digits("in numeric literal")) {
      return false;
    }
    if (next_is('.')) {
      ++at_;
      if (!digits("after decimal point in numeric literal")) {
        return false;
      }
    }
    if (next_is('e') || next_is('E')) {
      ++at_;
      if (next_is('+') || next_is('-')) {
        ++at_;
      }
      return digits("in exponent of numeric literal");
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<std::string> problem_;
};

} // namespace

std::optional<std::string> json_syntax_error(std::string_view text) {
  return Scanner(text).scan();
}

} // namespace berth::schema
