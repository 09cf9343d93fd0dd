// kubectl's -l syntax: a lexer of words and marks, and a parser of one requirement after another.
#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "berth/api/selector.h"

namespace berth::api {
namespace {

bool is_mark(char c) {
  return std::string_view("=!(),<>").find(c) != std::string_view::npos;
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Selector> parse() {
    Selector out;
    skip_blanks();
    if (at_end()) {
      return out;
    }
    while (true) {
      BERTH_TRY(Requirement requirement, parse_requirement());
      // Ordered by key, as kubectl prints it; equal keys in the order given.
      const auto by_key = [](const Requirement& a, const Requirement& b) { return a.key < b.key; };
      const auto place =
          std::upper_bound(out.requirements.begin(), out.requirements.end(), requirement, by_key);
      out.requirements.insert(place, std::move(requirement));
      skip_blanks();
      if (at_end()) {
        return out;
      }
      if (!take(",")) {
        return found("',' or 'end of string'");
      }
      skip_blanks();
      if (at_end() || (is_mark(peek()) && peek() != '!')) {
        return fail(Code::Invalid, fmt::format("found '{}', expected: identifier after ','",
                                               at_end() ? std::string() : std::string(1, peek())));
      }
    }
  }

 private:
  Result<Requirement> parse_requirement() {
    Requirement out;
    const bool absent = take("!");
    BERTH_TRY(out.key, parse_key());
    if (absent) {
      out.op = Operator::DoesNotExist;
      return out;
    }
    skip_blanks();
    if (at_end() || peek() == ',') {
      out.op = Operator::Exists;
    } else if (take("!=")) {
      out.op = Operator::NotIn;
      BERTH_TRY(std::string value, parse_value());
      out.values = {std::move(value)};
    } else if (take("==") || take("=")) {
      out.op = Operator::In;
      BERTH_TRY(std::string value, parse_value());
      out.values = {std::move(value)};
    } else if (peek() == '>' || peek() == '<') {
      out.op = take(">") ? Operator::Gt : Operator::Lt;
      take("<");
      BERTH_TRY(std::string value, parse_value());
      if (value.empty() || value.find_first_not_of("0123456789+-") != std::string::npos) {
        return bad(fmt::format("values[0]: Invalid value: \"{}\": for 'Gt', 'Lt' operators, the "
                               "value must be an integer",
                               value));
      }
      out.values = {std::move(value)};
    } else {
      const std::size_t start = pos_;
      const std::string op = word();
      if (op != "in" && op != "notin") {
        pos_ = start;
        return found("in, notin, =, ==, !=, gt, lt");
      }
      out.op = op == "in" ? Operator::In : Operator::NotIn;
      BERTH_TRY(out.values, parse_set());
    }
    return check_values(std::move(out));
  }

  Result<std::vector<std::string>> parse_set() {
    if (!take("(")) {
      return found("'('");
    }
    std::vector<std::string> values;
    while (true) {
      values.push_back(word());
      if (take(")")) {
        std::sort(values.begin(), values.end());
        values.erase(std::unique(values.begin(), values.end()), values.end());
        return values;
      }
      if (!take(",")) {
        return found("',', ')' or identifier");
      }
    }
  }

  Result<std::string> parse_key() {
    std::string key = word();
    if (key.empty()) {
      return found("identifier");
    }
    if (!is_name(key, "-_./")) {
      return bad(fmt::format("<nil>: Invalid value: \"{}\": name part must consist of alphanumeric "
                             "characters, '-', '_' or '.', and must start and end with an "
                             "alphanumeric character",
                             key));
    }
    return key;
  }

  /// May be empty, before a comma or the end.
  Result<std::string> parse_value() {
    std::string value = word();
    skip_blanks();
    if (value.empty() && !at_end() && peek() != ',') {
      return found("identifier");
    }
    return value;
  }

  Result<Requirement> check_values(Requirement out) {
    for (const std::string& value : out.values) {
      const bool number = out.op == Operator::Gt || out.op == Operator::Lt;
      if (!number && !value.empty() && (!is_name(value, "-_.") || value.size() > 63)) {
        return bad(fmt::format("values[0]: Invalid value: \"{}\": a valid label must be an empty "
                               "string or consist of alphanumeric characters, '-', '_' or '.', and "
                               "must start and end with an alphanumeric character",
                               value));
      }
    }
    return out;
  }

  static bool is_name(std::string_view text, std::string_view also) {
    const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    return plain(text.front()) && plain(text.back()) &&
           std::all_of(text.begin(), text.end(),
                       [&](char c) { return plain(c) || also.find(c) != std::string_view::npos; });
  }

  std::string word() {
    skip_blanks();
    const std::size_t start = pos_;
    while (!at_end() && !is_mark(peek()) && !is_blank(peek())) {
      ++pos_;
    }
    return std::string(text_.substr(start, pos_ - start));
  }
  bool take(std::string_view mark) {
    skip_blanks();
    if (!text_.substr(pos_).starts_with(mark)) {
      return false;
    }
    pos_ += mark.size();
    return true;
  }
  void skip_blanks() {
    while (!at_end() && is_blank(peek())) {
      ++pos_;
    }
  }
  bool at_end() const { return pos_ >= text_.size(); }
  char peek() const { return text_[pos_]; }
  /// labels.Parse's words for a token that is not what was expected.
  tl::unexpected<Error> found(std::string_view expected) {
    skip_blanks();
    std::string token;
    if (!at_end() && is_mark(peek())) {
      token = peek();
    } else {
      token = word();
    }
    return bad(fmt::format("found '{}', expected: {}", token, expected));
  }
  static tl::unexpected<Error> bad(std::string_view why) {
    return fail(Code::Invalid, fmt::format("unable to parse requirement: {}", why));
  }

  std::string_view text_;
  std::size_t pos_ = 0;
};

} // namespace

Result<Selector> parse_selector_text(std::string_view text) {
  return Parser(text).parse();
}

} // namespace berth::api
