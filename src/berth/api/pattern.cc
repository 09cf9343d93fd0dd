#include "berth/api/pattern.h"

#include <fmt/format.h>
#include <re2/re2.h>

namespace berth::api {
namespace {

/// As Go's regexp/syntax calls it.
std::string_view go_error(RE2::ErrorCode code) {
  switch (code) {
  case RE2::ErrorBadEscape:
    return "invalid escape sequence";
  case RE2::ErrorBadCharClass:
    return "invalid character class";
  case RE2::ErrorBadCharRange:
    return "invalid character class range";
  case RE2::ErrorMissingBracket:
    return "missing closing ]";
  case RE2::ErrorMissingParen:
    return "missing closing )";
  case RE2::ErrorUnexpectedParen:
    return "unexpected )";
  case RE2::ErrorTrailingBackslash:
    return "trailing backslash at end of expression";
  case RE2::ErrorRepeatArgument:
    return "missing argument to repetition operator";
  case RE2::ErrorRepeatSize:
    return "invalid repeat count";
  case RE2::ErrorRepeatOp:
    return "invalid nested repetition operator";
  case RE2::ErrorBadPerlOp:
    return "invalid or unsupported Perl syntax";
  case RE2::ErrorBadUTF8:
    return "invalid UTF-8";
  case RE2::ErrorBadNamedCapture:
    return "invalid named capture";
  case RE2::ErrorPatternTooLarge:
    return "expression too large";
  case RE2::NoError:
  case RE2::ErrorInternal:
    break;
  }
  return "regexp/syntax: internal error";
}

class Re2Pattern final : public Pattern {
 public:
  explicit Re2Pattern(const std::string& expression)
      : re_(expression, [] {
          RE2::Options options;
          options.set_log_errors(false);
          return options;
        }()) {}

  const RE2& re() const { return re_; }
  bool matches(std::string_view text) const override {
    return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), re_);
  }
  std::vector<std::string_view> find_all(std::string_view text, std::size_t most) const override {
    const re2::StringPiece all(text.data(), text.size());
    std::vector<std::string_view> out;
    std::size_t from = 0;
    std::size_t last_end = std::string_view::npos;
    re2::StringPiece found;
    while (out.size() < most && from <= text.size() &&
           re_.Match(all, from, text.size(), RE2::UNANCHORED, &found, 1)) {
      const auto at = static_cast<std::size_t>(found.data() - text.data());
      const std::size_t end = at + found.size();
      if (end > from || at != last_end) { // as Go: an empty match right behind a match is none
        out.push_back(text.substr(at, found.size()));
      }
      from = end > from ? end : after(text, from);
      last_end = end;
    }
    return out;
  }

 private:
  /// Behind the character that begins there.
  static std::size_t after(std::string_view text, std::size_t at) {
    do {
      ++at;
    } while (at < text.size() && (text[at] & 0xc0) == 0x80);
    return at;
  }

  RE2 re_;
};

} // namespace

Result<std::shared_ptr<const Pattern>> Pattern::compile(const std::string& expression) {
  auto made = std::make_shared<const Re2Pattern>(expression);
  if (!made->re().ok()) {
    return fail(Code::Invalid,
                fmt::format("error parsing regexp: {}: `{}`", go_error(made->re().error_code()),
                            made->re().error_arg()));
  }
  return made;
}

} // namespace berth::api
