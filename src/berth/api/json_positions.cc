#include "berth/api/json_positions.h"

#include <algorithm>
#include <array>
#include <string>

namespace berth::api {
namespace {

class Scanner {
 public:
  Scanner(std::string_view text, LineColumn start, std::span<const std::size_t> dropped)
      : text_(text), line_(start.line), column_(start.column), dropped_(dropped) {}

  PositionMap run() {
    value({});
    return std::move(positions_);
  }

 private:
  void value(PositionMap::Pointer pointer) {
    skip_blanks();
    count_columns();
    positions_.set(pointer, {.line = line_, .column = column_});
    switch (peek()) {
    case '{':
      object(pointer);
      break;
    case '[':
      array(pointer);
      break;
    case '"':
      string();
      break;
    default:
      at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
    }
  }

  void object(PositionMap::Pointer pointer) {
    ++at_;
    while (skip_blanks(), peek() == '"') {
      const std::size_t from = at_;
      string();
      const std::string_view key = text_.substr(from + 1, at_ - from - 2);
      const bool plain = key.find('\\') == std::string_view::npos;
      const PositionMap::Pointer member = pointer.member(plain ? key : unescaped(key));
      skip_blanks();
      ++at_; // the colon
      const std::size_t before = positions_.size();
      value(member);
      if (std::ranges::binary_search(dropped_, from)) {
        positions_.forget(std::array{PositionMap::Range{before, positions_.size()}});
      }
      skip_blanks();
      at_ += peek() == ',' ? 1 : 0;
    }
    ++at_;
  }

  void array(PositionMap::Pointer pointer) {
    ++at_;
    for (std::size_t i = 0; skip_blanks(), peek() != ']' && peek() != '\0'; ++i) {
      value(pointer.element(i));
      skip_blanks();
      at_ += peek() == ',' ? 1 : 0;
    }
    ++at_;
  }

  void string() {
    ++at_;
    while (peek() != '"' && at_ < text_.size()) {
      at_ += peek() == '\\' ? 2 : 1;
    }
    ++at_;
  }

  /// Keys with escapes are rare; the parser reads them.
  std::string_view unescaped(std::string_view key) {
    const auto read = parse_json("\"" + std::string(key) + "\"");
    key_ = read && read->is_string() ? std::string(read->get_string()) : std::string(key);
    return key_;
  }

  /// Line breaks occur between values only: a string holds none.
  void skip_blanks() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        column_ = 1;
        counted_ = at_ + 1;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  void count_columns() {
    const auto starts_character = [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    };
    const std::string_view passed = text_.substr(counted_, at_ - counted_);
    column_ += static_cast<int>(std::count_if(passed.begin(), passed.end(), starts_character));
    counted_ = at_;
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_;
  int column_;
  std::size_t counted_ = 0; ///< column_ is that of this offset
  std::string key_;
  std::span<const std::size_t> dropped_;
  PositionMap positions_;
};

} // namespace

PositionMap json_positions(std::string_view text, LineColumn start,
                           std::span<const std::size_t> dropped) {
  return Scanner(text, start, dropped).run();
}

} // namespace berth::api
