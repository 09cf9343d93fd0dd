// encoding/json's scanner, as far as its complaints go.
#include <fmt/format.h>

#include "berth/patch/go_text.h"

namespace berth::patch {
namespace {

constexpr std::string_view kEnd = "unexpected end of JSON input";
constexpr std::size_t kDeepest = 10'000;

/// Go quotes the character it stumbles over: '\n', '\'', '"'.
std::string quoted(char c) {
  switch (c) {
  case '\'':
    return R"('\'')";
  case '"':
    return R"('"')";
  case '\n':
    return R"('\n')";
  case '\r':
    return R"('\r')";
  case '\t':
    return R"('\t')";
  case '\\':
    return R"('\\')";
  default: {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f ? fmt::format(R"('\x{:02x}')", byte)
           : byte < 0x80               ? fmt::format("'{}'", c)
                                       : "'" +
                               std::string{static_cast<char>(0xc0 | (byte >> 6)),
                                           static_cast<char>(0x80 | (byte & 0x3f))} +
                               "'"; // Go reads the byte as a code point
  }
  }
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::string run() {
    if (value(0) && (space(), at_ < text_.size())) {
      complain("after top-level value");
    }
    return error_;
  }

 private:
  bool complain(std::string_view where) {
    error_ = at_ >= text_.size()
                 ? std::string(kEnd)
                 : fmt::format("invalid character {} {}", quoted(text_[at_]), where);
    return false;
  }
  bool end() const { return at_ >= text_.size(); }
  char peek() const { return end() ? '\0' : text_[at_]; }
  bool digit() const { return !end() && peek() >= '0' && peek() <= '9'; }
  void space() {
    while (!end() && (peek() == ' ' || peek() == '\t' || peek() == '\r' || peek() == '\n')) {
      ++at_;
    }
  }

  bool value(std::size_t depth) {
    space();
    if (depth > kDeepest) {
      error_ = "exceeded max depth";
      return false;
    }
    switch (peek()) {
    case '{':
      return object(depth);
    case '[':
      return array(depth);
    case '"':
      return string();
    case 't':
      return literal("true");
    case 'f':
      return literal("false");
    case 'n':
      return literal("null");
    default:
      return peek() == '-' || digit() ? number() : complain("looking for beginning of value");
    }
  }

  bool object(std::size_t depth) {
    ++at_;
    space();
    if (peek() == '}') {
      ++at_;
      return true;
    }
    while (true) {
      space();
      if (peek() != '"') {
        return complain("looking for beginning of object key string");
      }
      if (!string()) {
        return false;
      }
      space();
      if (peek() != ':') {
        return complain("after object key");
      }
      ++at_;
      if (!value(depth + 1)) {
        return false;
      }
      space();
      if (peek() == '}') {
        ++at_;
        return true;
      }
      if (peek() != ',') {
        return complain("after object key:value pair");
      }
      ++at_;
    }
  }

  bool array(std::size_t depth) {
    ++at_;
    space();
    if (peek() == ']') {
      ++at_;
      return true;
    }
    while (true) {
      if (!value(depth + 1)) {
        return false;
      }
      space();
      if (peek() == ']') {
        ++at_;
        return true;
      }
      if (peek() != ',') {
        return complain("after array element");
      }
      ++at_;
    }
  }

  bool escape() {
    ++at_;
    if (peek() == 'u') {
      ++at_;
      for (int i = 0; i < 4; ++i, ++at_) {
        if (end() || std::isxdigit(static_cast<unsigned char>(peek())) == 0) {
          return complain("in \\u hexadecimal character escape");
        }
      }
      return true;
    }
    if (end() || std::string_view("bfnrt\\/\"").find(peek()) == std::string_view::npos) {
      return complain("in string escape code");
    }
    ++at_;
    return true;
  }

  bool string() {
    ++at_;
    while (!end() && peek() != '"') {
      if (static_cast<unsigned char>(peek()) < 0x20) {
        return complain("in string literal");
      }
      if (peek() != '\\') {
        ++at_;
      } else if (!escape()) {
        return false;
      }
    }
    if (end()) {
      return complain("");
    }
    ++at_;
    return true;
  }

  bool number() {
    if (peek() == '-') {
      ++at_;
      if (!digit()) {
        return complain("in numeric literal");
      }
    }
    if (peek() == '0') {
      ++at_;
    } else {
      digits();
    }
    if (peek() == '.') {
      ++at_;
      if (!digit()) {
        return complain("after decimal point in numeric literal");
      }
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') {
        ++at_;
      }
      if (!digit()) {
        return complain("in exponent of numeric literal");
      }
      digits();
    }
    return true;
  }
  void digits() {
    while (digit()) {
      ++at_;
    }
  }

  bool literal(std::string_view word) {
    for (const char c : word) {
      if (end() || peek() != c) {
        return complain(fmt::format("in literal {} (expecting '{}')", word, c));
      }
      ++at_;
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
};

} // namespace

std::string go_json_error(std::string_view text) {
  return Scanner(text).run();
}

} // namespace berth::patch
