#include "berth/api/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json_reader.h"
#include "berth/api/utf8.h"

namespace berth::api {
namespace {

constexpr std::size_t kBlock = 8;

/// The bytes at `from`, as many as the type has.
template <class T> T load(const char* from) {
  T bytes = 0;
  std::memcpy(&bytes, from, sizeof(T));
  return bytes;
}

/// Eight bytes of ASCII that stand in JSON as they are: no control characters, quotes or
/// backslashes.
bool is_plain(std::uint64_t bytes) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kTops = 0x8080808080808080;
  const auto has_zero = [](std::uint64_t of) { return (of - kOnes) & ~of; };
  const std::uint64_t marked = bytes | (bytes - kOnes * 0x20) | has_zero(bytes ^ (kOnes * '"')) |
                               has_zero(bytes ^ (kOnes * '\\'));
  return (marked & kTops) == 0;
}

/// As is_plain() of a block, for text of any length; blocks may overlap.
bool is_all_plain(std::string_view text) {
  const char* const data = text.data();
  const std::size_t size = text.size();
  if (size >= kBlock) {
    for (std::size_t i = 0; i + kBlock < size; i += kBlock) {
      if (!is_plain(load<std::uint64_t>(data + i))) {
        return false;
      }
    }
    return is_plain(load<std::uint64_t>(data + size - kBlock));
  }
  if (size >= kBlock / 2) {
    return is_plain(std::uint64_t{load<std::uint32_t>(data)} << 32U |
                    load<std::uint32_t>(data + size - kBlock / 2));
  }
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c != '"' && c != '\\'; });
}

/// What is no UTF-8 becomes U+FFFD, as Go writes it: JSON is UTF-8 whatever was put into a string.
void write_string(std::string& out, std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  if (is_all_plain(text)) {
    out += text;
    out += '"';
    return;
  }
  std::size_t from = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    while (text.size() - i >= kBlock && is_plain(load<std::uint64_t>(text.data() + i))) {
      i += kBlock;
    }
    if (i == text.size()) {
      break;
    }
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
      continue;
    }
    if (const std::size_t length = c < 0x80 ? 0 : utf8_length(text.substr(i)); length > 0) {
      i += length - 1;
      continue;
    }
    out.append(text, from, i - from);
    from = i + 1;
    if (c >= 0x80) {
      out += kReplacementCharacter;
      continue;
    }
    switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      out += "\\u00";
      out += kHex[c >> 4U];
      out += kHex[c & 0xFU];
    }
  }
  out.append(text, from);
  out += '"';
}

/// Go's encoding/json: positional notation from 1e-6 up to below 1e21, exponents without leading
/// zeros.
void write_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 40> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                     std::chars_format::scientific);
  std::string_view text(buffer.data(), static_cast<std::size_t>(written.ptr - buffer.data()));
  if (text.front() == '-') {
    out += '-';
    text.remove_prefix(1);
  }
  const std::size_t e = text.find('e');
  const std::string_view exponent_text = text.substr(e + (text[e + 1] == '+' ? 2 : 1));
  int exponent = 0;
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  std::string digits(text.substr(0, 1));
  digits += text.substr(std::min<std::size_t>(2, e), e > 2 ? e - 2 : 0);
  const int count = static_cast<int>(digits.size());
  if (value != 0 && (exponent < -6 || exponent >= 21)) {
    out += fmt::format("{}{}{}e{:+}", digits[0], count > 1 ? "." : "", digits.substr(1), exponent);
  } else if (exponent < 0) {
    out += "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  } else if (exponent + 1 >= count) {
    out += digits + std::string(static_cast<std::size_t>(exponent + 1 - count), '0');
  } else {
    out += digits.substr(0, static_cast<std::size_t>(exponent + 1)) + "." +
           digits.substr(static_cast<std::size_t>(exponent + 1));
  }
}

template <class T> void write_integer(std::string& out, T value) {
  std::array<char, 24> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  out.append(buffer.data(), static_cast<std::size_t>(written.ptr - buffer.data()));
}

class Writer {
 public:
  /// indent < 0: compact.
  Writer(std::string& out, int indent) : out_(out), indent_(indent) {}

  void write(const json::value& value) {
    switch (value.kind()) {
    case json::kind::null:
      out_ += "null";
      break;
    case json::kind::bool_:
      out_ += value.get_bool() ? "true" : "false";
      break;
    case json::kind::int64:
      write_integer(out_, value.get_int64());
      break;
    case json::kind::uint64:
      write_integer(out_, value.get_uint64());
      break;
    case json::kind::double_:
      write_double(out_, value.get_double());
      break;
    case json::kind::string:
      write_string(out_, std::string_view(value.get_string().data(), value.get_string().size()));
      break;
    case json::kind::array:
      write(value.get_array());
      break;
    case json::kind::object:
      write(value.get_object());
      break;
    }
  }

 private:
  void write(const json::array& array) {
    open('[');
    for (bool first = true; const json::value& element : array) {
      next(first);
      write(element);
    }
    close(']', array.empty());
  }
  void write(const json::object& object) {
    open('{');
    for (bool first = true; const auto& [key, member] : object) {
      next(first);
      write_string(out_, std::string_view(key.data(), key.size()));
      out_ += indent_ < 0 ? ":" : ": ";
      write(member);
    }
    close('}', object.empty());
  }
  void open(char bracket) {
    out_ += bracket;
    ++depth_;
  }
  void next(bool& first) {
    if (!first) {
      out_ += ',';
    }
    first = false;
    new_line();
  }
  void close(char bracket, bool empty) {
    --depth_;
    if (!empty) {
      new_line();
    }
    out_ += bracket;
  }
  void new_line() {
    if (indent_ >= 0) {
      out_ += '\n';
      out_.append(static_cast<std::size_t>(indent_ * depth_), ' ');
    }
  }

  std::string& out_;
  int indent_;
  int depth_ = 0;
};

} // namespace

Result<json::value> parse_json(std::string_view text, std::string_view file,
                               json::storage_ptr storage) {
  BERTH_TRY(JsonValue read, read_json_value(text, 0, file, storage));
  if (read.end != text.size()) {
    const LineColumn at = line_column(text, read.end);
    return fail_at({.file = std::string(file), .line = at.line, .column = at.column, .field = {}},
                   "the json text goes on after its end");
  }
  return std::move(read.value);
}

std::string to_json(const json::value& value) {
  std::string out;
  Writer(out, -1).write(value);
  return out;
}

std::string to_pretty_json(const json::value& value, int indent) {
  std::string out;
  Writer(out, indent).write(value);
  return out;
}

const json::value* find(const json::value& value, std::string_view key) {
  const json::object* object = value.if_object();
  if (object == nullptr) {
    return nullptr;
  }
  const json::value* member = object->if_contains(json::string_view(key.data(), key.size()));
  return member == nullptr || member->is_null() ? nullptr : member;
}

const json::value* find_path(const json::value& value, std::string_view dotted) {
  const json::value* at = &value;
  while (at != nullptr && !dotted.empty()) {
    const std::size_t dot = dotted.find('.');
    at = find(*at, dotted.substr(0, dot));
    dotted.remove_prefix(dot == std::string_view::npos ? dotted.size() : dot + 1);
  }
  return at;
}

std::string_view string_at(const json::value& value, std::string_view dotted) {
  const json::value* at = find_path(value, dotted);
  const json::string* text = at == nullptr ? nullptr : at->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

json::object& object_at(json::object& parent, std::string_view key) {
  json::value& member = parent[json::string_view(key.data(), key.size())];
  return member.is_object() ? member.get_object() : member.emplace_object();
}

void merge_patch(json::value& target, const json::value& patch) {
  const json::object* changes = patch.if_object();
  if (changes == nullptr) {
    target = patch;
    return;
  }
  if (!target.is_object()) {
    target.emplace_object();
  }
  json::object& object = target.get_object();
  for (const auto& [key, change] : *changes) {
    if (change.is_null()) {
      // stable_erase keeps the members' order; erase would move the last one here.
      if (const auto it = object.find(key); it != object.end()) {
        object.stable_erase(it);
      }
    } else {
      merge_patch(object[key], change);
    }
  }
}

} // namespace berth::api
