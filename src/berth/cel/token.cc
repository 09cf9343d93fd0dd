#include "berth/cel/token.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "berth/cel/utf8.h"

namespace berth::cel {
namespace {

constexpr std::array<std::string_view, 25> kSigns = {
    "[?", "==", "!=", "<=", ">=", "&&", "||", "[", "]", "{", "}", "(", ")",
    ".",  ",",  "-",  "!",  "?",  ":",  "+",  "*", "/", "%", "<", ">"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

enum class Quoting { Text, Bytes };

/// What an escape sequence at the front of `in` (behind the backslash) stands for; false: nothing.
bool unescape(std::string_view& in, Quoting quoting, std::string& out) {
  if (in.empty()) {
    return false;
  }
  const char first = in.front();
  constexpr std::string_view kLetters = "abfnrtv\\?\"'`";
  constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\?\"'`";
  if (const std::size_t at = kLetters.find(first); at != std::string_view::npos) {
    out += kMeanings[at];
    in.remove_prefix(1);
    return true;
  }
  std::size_t digits = 0;
  std::size_t skipped = 1;
  int base = 16;
  if (first == 'x' || first == 'X') {
    digits = 2;
  } else if (first == 'u' && quoting == Quoting::Text) {
    digits = 4;
  } else if (first == 'U' && quoting == Quoting::Text) {
    digits = 8;
  } else if (first >= '0' && first <= '3') {
    digits = 3;
    skipped = 0;
    base = 8;
  } else {
    return false;
  }
  std::uint32_t code = 0;
  const std::string_view number = in.substr(std::min(skipped, in.size()), digits);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), code, base);
  if (number.size() != digits || error != std::errc() || end != number.data() + digits ||
      code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
    return false;
  }
  in.remove_prefix(skipped + digits);
  if (quoting == Quoting::Bytes) {
    out += static_cast<char>(code);
  } else {
    add_utf8(out, code);
  }
  return true;
}

class Lexer {
 public:
  Lexer(std::string_view expression, std::vector<Issue>& issues)
      : rest_(expression), issues_(&issues) {}

  std::vector<Token> all() {
    std::vector<Token> out;
    do {
      skip_blanks();
      out.push_back(next());
    } while (out.back().form != Token::Form::End || !rest_.empty());
    return out;
  }

 private:
  /// Moves over so many bytes, counting characters.
  std::string_view take(std::size_t bytes) {
    const std::string_view taken = rest_.substr(0, bytes);
    at_ += static_cast<std::size_t>(
        std::ranges::count_if(taken, [](char c) { return (c & 0xc0) != 0x80; }));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  void skip_blanks() {
    for (;;) {
      if (rest_.starts_with("//")) {
        take(std::min(rest_.find('\n'), rest_.size()));
      } else if (!rest_.empty() &&
                 std::string_view("\t\n\f\r ").find(rest_.front()) != std::string_view::npos) {
        take(1);
      } else {
        return;
      }
    }
  }

  std::size_t length_while(bool (*holds)(char), std::size_t from = 0) const {
    std::size_t n = from;
    while (n < rest_.size() && holds(rest_[n])) {
      ++n;
    }
    return n;
  }

  Token next() {
    if (rest_.empty()) {
      return {.form = Token::Form::End, .text = "<EOF>", .at = at_};
    }
    if (auto text = quoted_literal()) {
      return *std::move(text);
    }
    if (is_letter(rest_.front())) {
      return word();
    }
    if (is_digit(rest_.front()) ||
        (rest_.front() == '.' && rest_.size() > 1 && is_digit(rest_[1]))) {
      return number();
    }
    if (rest_.front() == '`') {
      if (const std::size_t end = rest_.find('`', 1); end != std::string_view::npos) {
        Token token{.form = Token::Form::Quoted, .at = at_};
        token.text = take(end + 1).substr(1, end - 1);
        return token;
      }
    }
    for (const std::string_view sign : kSigns) {
      if (rest_.starts_with(sign)) {
        const std::size_t at = at_;
        return {.form = Token::Form::Sign, .text = std::string(take(sign.size())), .at = at};
      }
    }
    return unknown(1);
  }

  /// Tells of what cannot be read; the next token, in its place.
  Token unknown(std::size_t bytes) {
    while (bytes < rest_.size() && (rest_[bytes] & 0xc0) == 0x80) {
      ++bytes;
    }
    const std::size_t at = at_;
    issues_->push_back(
        {.at = at,
         .what = fmt::format("Syntax error: token recognition error at: '{}'", take(bytes))});
    skip_blanks();
    return next();
  }

  Token word() {
    const std::size_t at = at_;
    const std::string text(take(length_while([](char c) { return is_letter(c) || is_digit(c); })));
    if (text == "true" || text == "false") {
      return {.form = Token::Form::Literal, .text = text, .literal = {text == "true"}, .at = at};
    }
    if (text == "null") {
      return {.form = Token::Form::Literal, .text = text, .literal = {Null()}, .at = at};
    }
    return {
        .form = text == "in" ? Token::Form::Sign : Token::Form::Identifier, .text = text, .at = at};
  }

  Token number() {
    Token token{.form = Token::Form::Literal, .at = at_};
    const bool hex = rest_.starts_with("0x") || rest_.starts_with("0X");
    std::size_t length = hex ? length_while(is_hex, 2) : length_while(is_digit);
    bool real = false;
    if (!hex) {
      if (length + 1 < rest_.size() && rest_[length] == '.' && is_digit(rest_[length + 1])) {
        length = length_while(is_digit, length + 1);
        real = true;
      }
      length += exponent(length, real);
    }
    token.text = take(length);
    if (real) {
      double value = 0;
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
      token.literal = {value};
      return token;
    }
    whole(token, hex);
    return token;
  }

  std::size_t exponent(std::size_t from, bool& real) const {
    if (from >= rest_.size() || (rest_[from] != 'e' && rest_[from] != 'E')) {
      return 0;
    }
    std::size_t digits = from + 1;
    if (digits < rest_.size() && (rest_[digits] == '+' || rest_[digits] == '-')) {
      ++digits;
    }
    const std::size_t end = length_while(is_digit, digits);
    if (end == digits) {
      return 0;
    }
    real = true;
    return end - from;
  }

  void whole(Token& token, bool hex) {
    const char* const begin = token.text.data() + (hex ? 2 : 0);
    const char* const end = token.text.data() + token.text.size();
    const bool is_unsigned = rest_.starts_with('u') || rest_.starts_with('U');
    std::uint64_t value = 0;
    const bool read = std::from_chars(begin, end, value, hex ? 16 : 10).ec == std::errc();
    if (is_unsigned) {
      token.text += take(1);
      token.literal = {value};
    } else {
      // The least int is its negative literal, which the parser makes.
      token.literal = {static_cast<std::int64_t>(value)};
    }
    if (!read || (!is_unsigned && value > std::uint64_t{1} << 63)) {
      issues_->push_back(
          {.at = token.at,
           .what = fmt::format("Syntax error: invalid {} literal", is_unsigned ? "uint" : "int")});
    }
  }

  std::optional<Token> quoted_literal() {
    std::size_t prefix = 0;
    bool raw = false;
    Quoting quoting = Quoting::Text;
    while (prefix < rest_.size() && prefix < 2) {
      const char c = rest_[prefix];
      if ((c == 'r' || c == 'R') && !raw) {
        raw = true;
      } else if ((c == 'b' || c == 'B') && quoting == Quoting::Text) {
        quoting = Quoting::Bytes;
      } else {
        break;
      }
      ++prefix;
    }
    const std::string_view body = rest_.substr(prefix);
    if (body.empty() || (body.front() != '"' && body.front() != '\'')) {
      return std::nullopt;
    }
    const std::string one(1, body.front());
    const std::string three(3, body.front());
    const std::string& mark = body.starts_with(three) ? three : one;
    return between(prefix, mark, raw, quoting);
  }

  std::optional<Token> between(std::size_t prefix, const std::string& mark, bool raw,
                               Quoting quoting) {
    std::size_t end = prefix + mark.size();
    while (end < rest_.size() && !rest_.substr(end).starts_with(mark)) {
      if (mark.size() == 1 && (rest_[end] == '\n' || rest_[end] == '\r')) {
        return unknown(end);
      }
      end += rest_[end] == '\\' && !raw ? 2 : 1;
    }
    if (end >= rest_.size()) {
      return unknown(rest_.size());
    }
    Token token{.form = Token::Form::Literal, .at = at_};
    token.text = take(end + mark.size());
    std::string_view inside(token.text);
    inside = inside.substr(prefix + mark.size(), end - prefix - mark.size());
    std::string out;
    while (!inside.empty()) {
      const char c = inside.front();
      inside.remove_prefix(1);
      if (c != '\\' || raw) {
        out += c;
      } else if (!unescape(inside, quoting, out)) {
        issues_->push_back({.at = token.at, .what = "Syntax error: unable to unescape string"});
        break;
      }
    }
    token.literal =
        quoting == Quoting::Bytes ? Value(Bytes{std::move(out)}) : Value(std::move(out));
    return token;
  }

  std::string_view rest_;
  std::vector<Issue>* issues_;
  std::size_t at_ = 0;
};

} // namespace

std::vector<Token> tokens_of(std::string_view expression, std::vector<Issue>& issues) {
  return Lexer(expression, issues).all();
}

} // namespace berth::cel
