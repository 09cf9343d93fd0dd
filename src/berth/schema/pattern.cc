#include "berth/schema/pattern.h"

#include <fmt/format.h>
#include <re2/re2.h>

namespace berth::schema {
namespace {

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

 private:
  RE2 re_;
};

} // namespace

Result<std::shared_ptr<const Pattern>> Pattern::compile(const std::string& expression) {
  auto made = std::make_shared<const Re2Pattern>(expression);
  if (!made->re().ok()) {
    return fail(Code::Invalid, fmt::format("error parsing regexp: {}: `{}`", made->re().error(),
                                           made->re().error_arg()));
  }
  return made;
}

} // namespace berth::schema
