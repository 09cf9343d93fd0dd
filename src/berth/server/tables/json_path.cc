#include "berth/server/tables/json_path.h"

#include <algorithm>
#include <charconv>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"

namespace berth::server::tables {

/// One pass over the text; the first error wins.
class JsonPath::Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<JsonPath> whole() {
    JsonPath out;
    take("$");
    BERTH_CHECK(steps(out));
    if (at_ != text_.size() || text_.empty()) {
      return bad();
    }
    return out;
  }

 private:
  tl::unexpected<Error> bad() const {
    return fail(Code::Invalid, fmt::format("JSONPath \"{}\": cannot be read from character {} on",
                                           text_, at_ + 1));
  }

  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) {
      return false;
    }
    at_ += what.size();
    return true;
  }

  void skip_blanks() {
    while (take(" ")) {
    }
  }

  /// Steps up to something that starts none.
  Result<void> steps(JsonPath& out) {
    while (at_ < text_.size()) {
      if (take("[")) {
        BERTH_CHECK(bracket(out));
      } else if (take(".")) {
        BERTH_CHECK(member(out));
      } else {
        break;
      }
    }
    return {};
  }

  Result<void> member(JsonPath& out) {
    if (take("*")) {
      out.steps_.emplace_back(All{});
      return {};
    }
    if (at_ < text_.size() && text_[at_] == '[') {
      return {}; // ".[0]"
    }
    std::string name;
    while (at_ < text_.size() && std::string_view(".[]=!<>()' \"").find(text_[at_]) == text_.npos) {
      take("\\");
      if (at_ < text_.size()) {
        name += text_[at_++];
      }
    }
    if (name.empty()) {
      return bad();
    }
    out.steps_.emplace_back(Member{std::move(name)});
    return {};
  }

  Result<void> bracket(JsonPath& out) {
    if (take("*]")) {
      out.steps_.emplace_back(All{});
      return {};
    }
    if (take("?(")) {
      return filter(out);
    }
    if (auto name = quoted()) {
      out.steps_.emplace_back(Member{*std::move(name)});
      return take("]") ? Result<void>{} : bad();
    }
    const auto first = integer();
    if (take(":")) {
      return slice(first, out);
    }
    if (!first) {
      return bad();
    }
    out.steps_.emplace_back(Index{*first});
    return take("]") ? Result<void>{} : bad();
  }

  Result<void> slice(std::optional<std::int64_t> begin, JsonPath& out) {
    Slice made{.begin = begin, .end = integer()};
    if (take(":")) {
      made.step = integer().value_or(1);
    }
    if (made.step <= 0 || !take("]")) {
      return bad();
    }
    out.steps_.emplace_back(made);
    return {};
  }

  Result<void> filter(JsonPath& out) {
    Filter made;
    skip_blanks();
    if (!take("@")) {
      return bad();
    }
    JsonPath path;
    BERTH_CHECK(steps(path));
    made.path = std::make_shared<const JsonPath>(std::move(path));
    skip_blanks();
    if (const bool equal = take("=="); equal || take("!=")) {
      made.test = equal ? Test::Equal : Test::Different;
      skip_blanks();
      auto against = literal();
      if (!against) {
        return bad();
      }
      made.against = *std::move(against);
      skip_blanks();
    }
    if (!take(")]")) {
      return bad();
    }
    out.steps_.emplace_back(std::move(made));
    return {};
  }

  std::optional<std::string> quoted() {
    const std::size_t start = at_;
    const bool single = take("'");
    if (!single && !take("\"")) {
      return std::nullopt;
    }
    std::string out;
    while (at_ < text_.size()) {
      if (take(single ? "'" : "\"")) {
        return out;
      }
      take("\\");
      if (at_ < text_.size()) {
        out += text_[at_++];
      }
    }
    at_ = start;
    return std::nullopt;
  }

  std::optional<std::int64_t> integer() {
    std::int64_t out = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), out);
    if (error != std::errc()) {
      return std::nullopt;
    }
    at_ += static_cast<std::size_t>(end - begin);
    return out;
  }

  std::optional<json::value> literal() {
    if (auto text = quoted()) {
      return json::value(*std::move(text));
    }
    for (const bool truth : {true, false}) {
      if (take(truth ? "true" : "false")) {
        return json::value(truth);
      }
    }
    const std::size_t end = text_.find_first_of(" )", at_);
    const auto number = api::parse_json(text_.substr(at_, end - at_));
    if (end == text_.npos || !number || !number->is_number()) {
      return std::nullopt;
    }
    at_ = end;
    return *number;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Result<JsonPath> JsonPath::parse(std::string_view text) {
  return Reader(text).whole();
}

bool JsonPath::passes(const Filter& filter, const json::value& element) {
  const json::value* found = filter.path->first(element);
  if (found == nullptr) {
    return false;
  }
  const bool equal = found->is_number() && filter.against.is_number()
                         ? found->to_number<double>() == filter.against.to_number<double>()
                         : *found == filter.against;
  switch (filter.test) {
  case Test::Exists:
    return true;
  case Test::Equal:
    return equal;
  case Test::Different:
    return !equal;
  }
  return false;
}

void JsonPath::take_slice(const Slice& slice, const json::array& list,
                          std::vector<const json::value*>& out) {
  const auto size = static_cast<std::int64_t>(list.size());
  const auto from_start = [&](std::int64_t i) { return i < 0 ? size + i : i; };
  const std::int64_t begin = from_start(slice.begin.value_or(0));
  const std::int64_t end = from_start(slice.end.value_or(size));
  if (begin < 0 || end > size) {
    return;
  }
  for (std::int64_t i = begin; i < end; i += std::min(slice.step, end - i)) {
    out.push_back(&list[static_cast<std::size_t>(i)]);
  }
}

void JsonPath::take(const Step& step, const json::value& at, std::vector<const json::value*>& out) {
  const json::object* members = at.if_object();
  const json::array* list = at.if_array();
  if (const auto* member = std::get_if<Member>(&step)) {
    const json::value* found = members == nullptr ? nullptr : members->if_contains(member->name);
    if (found != nullptr) {
      out.push_back(found);
    }
  } else if (const auto* index = std::get_if<Index>(&step)) {
    const auto size = static_cast<std::int64_t>(list == nullptr ? 0 : list->size());
    const std::int64_t i = index->at < 0 ? size + index->at : index->at;
    if (i >= 0 && i < size) {
      out.push_back(&(*list)[static_cast<std::size_t>(i)]);
    }
  } else if (const auto* slice = std::get_if<Slice>(&step)) {
    if (list != nullptr) {
      take_slice(*slice, *list, out);
    }
  } else if (std::holds_alternative<All>(step) && members != nullptr) {
    for (const auto& member_of : *members) {
      out.push_back(&member_of.value());
    }
  } else if (list != nullptr) {
    const auto* filter = std::get_if<Filter>(&step);
    for (const json::value& element : *list) {
      if (filter == nullptr || passes(*filter, element)) {
        out.push_back(&element);
      }
    }
  }
}

const json::value* JsonPath::first(const json::value& document) const {
  std::vector<const json::value*> here = {&document};
  for (const Step& step : steps_) {
    std::vector<const json::value*> next;
    for (const json::value* at : here) {
      take(step, *at, next);
    }
    here = std::move(next);
  }
  return here.empty() ? nullptr : here.front();
}

} // namespace berth::server::tables
