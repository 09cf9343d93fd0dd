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
        return bad("a comma was expected");
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
      out.values = {word()};
    } else if (take("==") || take("=")) {
      out.op = Operator::In;
      out.values = {word()};
    } else if (peek() == '>' || peek() == '<') {
      out.op = take(">") ? Operator::Gt : Operator::Lt;
      take("<");
      out.values = {word()};
      if (out.values[0].empty() ||
          out.values[0].find_first_not_of("0123456789+-") != std::string::npos) {
        return bad("an integer was expected after > or <");
      }
    } else {
      const std::string op = word();
      if (op != "in" && op != "notin") {
        return bad("one of = == != in notin > < was expected");
      }
      out.op = op == "in" ? Operator::In : Operator::NotIn;
      BERTH_TRY(out.values, parse_set());
    }
    return check_values(std::move(out));
  }

  Result<std::vector<std::string>> parse_set() {
    if (!take("(")) {
      return bad("( was expected");
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
        return bad("a comma or ) was expected");
      }
    }
  }

  Result<std::string> parse_key() {
    std::string key = word();
    if (key.empty()) {
      return bad("a label key was expected");
    }
    if (!is_name(key, "-_./")) {
      return bad("not a label key");
    }
    return key;
  }

  Result<Requirement> check_values(Requirement out) {
    for (const std::string& value : out.values) {
      const bool number = out.op == Operator::Gt || out.op == Operator::Lt;
      if (!number && !value.empty() && (!is_name(value, "-_.") || value.size() > 63)) {
        return bad(fmt::format("not a label value: \"{}\"", value));
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
  tl::unexpected<Error> bad(std::string_view why) const {
    return fail(Code::Invalid,
                fmt::format("not a selector: {} at character {}: \"{}\"", why, pos_ + 1, text_));
  }

  std::string_view text_;
  std::size_t pos_ = 0;
};

} // namespace

Result<Selector> parse_selector_text(std::string_view text) {
  return Parser(text).parse();
}

} // namespace berth::api
