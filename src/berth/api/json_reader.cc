#include "berth/api/json_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/basic_parser_impl.hpp>
#include <fmt/format.h>

namespace berth::api {
namespace {

constexpr std::size_t kMaxDepth = 128;

/// Builds values bottom-up: a stack of finished values, and for objects the stack of their keys.
class Build {
 public:
  static constexpr std::size_t max_object_size = SIZE_MAX;
  static constexpr std::size_t max_array_size = SIZE_MAX;
  static constexpr std::size_t max_key_size = SIZE_MAX;
  static constexpr std::size_t max_string_size = SIZE_MAX;

  Build(std::string_view text, json::storage_ptr storage, Duplicates duplicates)
      : text_(text), storage_(std::move(storage)), on_duplicate_(duplicates) {}

  json::value take() { return std::move(values_.back()); }
  /// A key given twice, by offsets.
  struct Twice {
    std::string field;
    std::size_t at;
    std::size_t first;
  };
  const std::vector<Twice>& duplicates() const { return duplicates_; }
  std::vector<std::size_t> take_dropped() {
    std::ranges::sort(dropped_);
    return std::move(dropped_);
  }
  /// Why the handler itself stopped the parser; empty if it did not.
  const std::string& problem() const { return problem_; }
  std::size_t problem_offset() const { return problem_offset_; }

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code&) { return open(false); }
  bool on_array_begin(json::error_code&) { return open(true); }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

  bool on_object_end(std::size_t n, json::error_code& ec) {
    json::object object(storage_);
    object.reserve(n);
    const std::size_t first_value = values_.size() - n;
    const std::size_t first_key = keys_.size() - n;
    bool given_twice = false;
    for (std::size_t i = 0; i < n; ++i) {
      const Key& key = keys_[first_key + i];
      const json::string_view name(key_text_.data() + key.begin, key.size);
      const auto [member, is_new] = object.emplace(name, std::move(values_[first_value + i]));
      if (is_new) {
        continue;
      }
      if (on_duplicate_ == Duplicates::Refuse) {
        return stop(ec, key.offset, duplicate(name, first_key, first_key + i));
      }
      member->value() = std::move(values_[first_value + i]); // emplace left it alone
      given_twice = true;
    }
    if (given_twice) {
      report_duplicates(first_key);
    }
    if (n > 0) {
      key_text_.resize(keys_[first_key].begin);
      keys_.resize(first_key);
      values_.resize(first_value);
    }
    values_.emplace_back(std::move(object));
    open_.pop_back();
    return true;
  }

  bool on_array_end(std::size_t n, json::error_code&) {
    json::array array(storage_);
    array.reserve(n);
    const std::size_t first = values_.size() - n;
    for (std::size_t i = first; i < values_.size(); ++i) {
      array.emplace_back(std::move(values_[i]));
    }
    values_.resize(first);
    values_.emplace_back(std::move(array));
    open_.pop_back();
    return true;
  }

  bool on_key_part(json::string_view part, std::size_t, json::error_code&) {
    key_text_.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, std::size_t n, json::error_code&) {
    key_text_.append(part.data(), part.size());
    // Text without escapes is handed over in place, which tells where it stands; a key with escapes
    // is placed at the one before it.
    const bool in_place = part.data() >= text_.data() && part.data() <= text_.data() + text_.size();
    if (in_place) {
      last_offset_ = static_cast<std::size_t>(part.data() - text_.data());
      last_offset_ -= last_offset_ > 0 ? 1 : 0;
    }
    keys_.push_back(
        {.begin = key_text_.size() - n, .size = n, .offset = last_offset_, .placed = in_place});
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, json::error_code&) {
    string_.append(part.data(), part.size());
    return true;
  }
  bool on_string(json::string_view part, std::size_t, json::error_code&) {
    if (string_.empty()) {
      values_.emplace_back(part, storage_);
      return true;
    }
    string_.append(part.data(), part.size());
    values_.emplace_back(json::string_view(string_), storage_);
    string_.clear();
    return true;
  }
  bool on_number_part(json::string_view part, json::error_code&) {
    number_.append(part.data(), part.size());
    return true;
  }
  bool on_int64(std::int64_t value, json::string_view text, json::error_code&) {
    return value == 0 && text.starts_with('-') ? number(-0.0) : number(value);
  }
  bool on_uint64(std::uint64_t value, json::string_view, json::error_code&) {
    return number(value);
  }
  bool on_double(double rough, json::string_view tail, json::error_code& ec) {
    number_.append(tail.data(), tail.size());
    double exact = 0;
    const auto [end, error] =
        std::from_chars(number_.data(), number_.data() + number_.size(), exact);
    if (error == std::errc::result_out_of_range) {
      if (std::abs(rough) > 1) {
        return stop(ec, static_cast<std::size_t>(tail.data() - text_.data()),
                    fmt::format("number out of range: {}", number_.substr(0, 40)));
      }
      exact = std::signbit(rough) ? -0.0 : 0.0;
    }
    return number(exact);
  }
  bool on_bool(bool value, json::error_code&) {
    values_.emplace_back(value, storage_);
    return true;
  }
  bool on_null(json::error_code&) {
    values_.emplace_back(nullptr, storage_);
    return true;
  }

 private:
  struct Key {
    std::size_t begin;
    std::size_t size;
    std::size_t offset;
    bool placed;
  };

  /// An object or array that has begun: how many values and keys were waiting then.
  struct Frame {
    bool is_array;
    std::size_t values;
    std::size_t keys;
  };

  bool open(bool is_array) {
    open_.push_back({.is_array = is_array, .values = values_.size(), .keys = keys_.size()});
    return true;
  }

  std::string_view name_of(const Key& key) const {
    return std::string_view(key_text_).substr(key.begin, key.size);
  }

  /// The way to the object that ends now, and in it to `key`.
  std::string path_to(const Key& key) const {
    std::vector<PathStep> steps;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      const Frame& inner = open_[i + 1];
      steps.push_back(open_[i].is_array
                          ? PathStep{.index = inner.values - open_[i].values}
                          : PathStep{.name = name_of(keys_[inner.keys - 1]), .is_member = true});
    }
    steps.push_back({.name = name_of(key), .is_member = true});
    return field_path(steps);
  }

  void report_duplicates(std::size_t first_key) {
    struct Seen {
      const Key* first;
      const Key* last;
    };
    std::map<std::string_view, Seen> by_name;
    for (std::size_t i = first_key; i < keys_.size(); ++i) {
      const auto [it, is_new] = by_name.try_emplace(name_of(keys_[i]), Seen{&keys_[i], &keys_[i]});
      if (!is_new) {
        if (it->second.last->placed) {
          dropped_.push_back(it->second.last->offset);
        }
        it->second.last = &keys_[i];
      }
    }
    std::vector<Seen> twice;
    for (const auto& [name, seen] : by_name) {
      if (seen.first != seen.last) {
        twice.push_back(seen);
      }
    }
    std::ranges::sort(twice, {}, [](const Seen& seen) { return seen.last->offset; });
    for (const Seen& seen : twice) {
      duplicates_.push_back(
          {.field = path_to(*seen.last), .at = seen.last->offset, .first = seen.first->offset});
    }
  }

  template <class T> bool number(T value) {
    values_.emplace_back(value, storage_);
    number_.clear();
    return true;
  }
  std::string duplicate(json::string_view name, std::size_t from, std::size_t to) const {
    for (std::size_t i = from; i < to; ++i) {
      if (name == json::string_view(key_text_.data() + keys_[i].begin, keys_[i].size)) {
        const LineColumn first = line_column(text_, keys_[i].offset);
        return fmt::format("key \"{}\" is given twice, first at line {} column {}",
                           std::string_view(name), first.line, first.column);
      }
    }
    return fmt::format("key \"{}\" is given twice", std::string_view(name));
  }
  bool stop(json::error_code& ec, std::size_t offset, std::string problem) {
    ec = json::error::syntax;
    problem_ = std::move(problem);
    problem_offset_ = offset;
    return false;
  }

  std::string_view text_;
  json::storage_ptr storage_;
  std::vector<json::value> values_;
  std::vector<Key> keys_;
  std::string key_text_;
  std::string string_;
  std::string number_;
  Duplicates on_duplicate_;
  std::vector<Frame> open_;
  std::vector<Twice> duplicates_;
  std::vector<std::size_t> dropped_;
  std::size_t last_offset_ = 0;
  std::string problem_;
  std::size_t problem_offset_ = 0;
};

std::string describe(const json::error_code& ec, std::string_view text, std::size_t offset) {
  if (ec == json::error::incomplete || offset >= text.size()) {
    return "the json text ends too early";
  }
  if (ec == json::error::too_deep) {
    return fmt::format("nested deeper than {} levels", kMaxDepth);
  }
  const auto byte = static_cast<unsigned char>(text[offset]);
  if (ec != json::error::syntax) {
    return fmt::format("not json: {}", ec.message());
  }
  return byte >= 0x20 && byte < 0x7F ? fmt::format("not json: unexpected '{}'", text[offset])
                                     : fmt::format("not json: unexpected byte 0x{:02x}", byte);
}

// One walk through the text, not one for each place.
std::vector<DuplicateKey> placed(const std::vector<Build::Twice>& duplicates,
                                 std::string_view text) {
  std::map<std::size_t, LineColumn> places;
  for (const Build::Twice& twice : duplicates) {
    places.try_emplace(twice.at);
    places.try_emplace(twice.first);
  }
  LineColumn at;
  std::size_t counted = 0;
  for (auto& [offset, place] : places) {
    const LineColumn step = line_column(text.substr(counted), offset - counted);
    at = {.line = at.line + step.line - 1,
          .column = step.line > 1 ? step.column : at.column + step.column - 1};
    counted = offset;
    place = at;
  }
  std::vector<DuplicateKey> out;
  for (const Build::Twice& twice : duplicates) {
    const LineColumn last = places.at(twice.at);
    const LineColumn first = places.at(twice.first);
    out.push_back({.field = twice.field,
                   .line = last.line,
                   .column = last.column,
                   .first_line = first.line,
                   .first_column = first.column});
  }
  return out;
}

} // namespace

LineColumn line_column(std::string_view text, std::size_t offset) {
  LineColumn at;
  for (const char c : text.substr(0, offset)) {
    if (c == '\n') {
      ++at.line;
      at.column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
      ++at.column;
    }
  }
  return at;
}

Result<JsonValue> read_json_value(std::string_view text, std::size_t from, std::string_view file,
                                  const json::storage_ptr& storage, Duplicates duplicates) {
  const auto error_at = [&](std::size_t offset, std::string message) {
    const LineColumn at = line_column(text, offset);
    return fail_at({.file = std::string(file), .line = at.line, .column = at.column, .field = {}},
                   std::move(message));
  };
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::basic_parser<Build> parser(options, text, storage, duplicates);
  json::error_code ec;
  const std::size_t used = parser.write_some(false, text.data() + from, text.size() - from, ec);
  if (!parser.handler().problem().empty()) {
    return error_at(parser.handler().problem_offset(), parser.handler().problem());
  }
  if (ec) {
    return error_at(from + used, describe(ec, text, from + used));
  }
  JsonValue out{.value = parser.handler().take(), .end = from + used};
  if (!parser.handler().duplicates().empty()) {
    out.duplicates = placed(parser.handler().duplicates(), text);
    out.dropped = parser.handler().take_dropped();
  }
  return out;
}

} // namespace berth::api
