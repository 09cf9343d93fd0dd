#include "berth/api/json_positions.h"

#include <string>

namespace berth::api {
namespace {

class Scanner {
 public:
  Scanner(std::string_view text, LineColumn start)
      : text_(text), line_(start.line), column_(start.column) {}

  PositionMap run() {
    value({});
    return std::move(positions_);
  }

 private:
  void value(PositionMap::Pointer pointer) {
    skip_blanks();
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
      while (at_ < text_.size() &&
             std::string_view(",]} \t\r\n").find(text_[at_]) == std::string_view::npos) {
        advance();
      }
    }
  }

  void object(PositionMap::Pointer pointer) {
    advance();
    while (skip_blanks(), peek() == '"') {
      const std::size_t from = at_;
      string();
      const std::string_view key = text_.substr(from + 1, at_ - from - 2);
      const PositionMap::Pointer member = pointer.member(unescaped(key));
      skip_blanks();
      advance(); // the colon
      value(member);
      skip_blanks();
      if (peek() == ',') {
        advance();
      }
    }
    advance();
  }

  void array(PositionMap::Pointer pointer) {
    advance();
    for (std::size_t i = 0; skip_blanks(), peek() != ']' && peek() != '\0'; ++i) {
      value(pointer.element(i));
      skip_blanks();
      if (peek() == ',') {
        advance();
      }
    }
    advance();
  }

  void string() {
    advance();
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') {
        advance();
      }
      advance();
    }
    advance();
  }

  /// Keys with escapes are rare; the parser reads them.
  static std::string unescaped(std::string_view key) {
    if (key.find('\\') == std::string_view::npos) {
      return std::string(key);
    }
    const auto read = parse_json("\"" + std::string(key) + "\"");
    return read && read->is_string() ? std::string(read->get_string()) : std::string(key);
  }

  void skip_blanks() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
      advance();
    }
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void advance() {
    if (at_ >= text_.size()) {
      return;
    }
    const char c = text_[at_++];
    if (c == '\n') {
      ++line_;
      column_ = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
      ++column_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_;
  int column_;
  PositionMap positions_;
};

} // namespace

PositionMap json_positions(std::string_view text, LineColumn start) {
  return Scanner(text, start).run();
}

} // namespace berth::api
