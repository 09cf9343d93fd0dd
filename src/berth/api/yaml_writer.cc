// Block style as go-yaml v2 writes it for kubectl -o yaml: lists at their key's indentation, plain
// strings where the text reads back as the same string, else single quotes, double quotes for
// special characters, | for lines.
#include <algorithm>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/yaml.h"
#include "berth/api/yaml_scalar.h"

namespace berth::api {
namespace {

/// go-yaml's: what is longer is written as "? key" and ": value". A key on its value's line that
/// has more than 1024 characters cannot be read.
constexpr std::size_t kLongestSimpleKey = 128;

bool reads_back_as_string(std::string_view text) {
  const auto value = resolve_plain_scalar(text);
  return value && value->is_string();
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7F;
}

/// A byte order mark, or a character YAML counts as a line break: only safe between double quotes.
bool has_special_unicode(std::string_view text) {
  for (const std::string_view special :
       {"\xEF\xBB\xBF", "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"}) {
    if (text.find(special) != std::string_view::npos) {
      return true;
    }
  }
  return text.find("\xC2") != std::string_view::npos; // C1 control characters start with this byte
}

bool is_plain(std::string_view text) {
  static constexpr std::string_view kIndicators = "-?:,[]{}#&*!|>'\"%@`=<";
  if (text.front() == ' ' || text.back() == ' ' || text.back() == ':') {
    return false;
  }
  const bool dash_word = text.front() == '-' && text.size() > 1 && text[1] != ' ' && text[1] != '-';
  if (kIndicators.find(text.front()) != std::string_view::npos && !dash_word) {
    return false;
  }
  return text.find(": ") == std::string_view::npos && text.find(" #") == std::string_view::npos &&
         !text.starts_with("...");
}

class YamlWriter {
 public:
  explicit YamlWriter(std::string& out) : out_(out) {}

  void document(const json::value& value) {
    if (value.is_object() && !value.get_object().empty()) {
      members(value.get_object(), 0, false);
    } else if (value.is_array() && !value.get_array().empty()) {
      elements(value.get_array(), 0, false);
    } else {
      scalar(value, 0);
      out_ += '\n';
    }
  }

 private:
  /// `inlined`: the first line continues one that is already indented ("- ").
  void members(const json::object& object, std::size_t indent, bool inlined) {
    for (const auto& [key, value] : object) {
      margin(inlined ? 0 : indent);
      inlined = false;
      const bool simple = key.size() <= kLongestSimpleKey;
      out_ += simple ? "" : "? ";
      string(std::string_view(key.data(), key.size()), indent, Lines::Quoted);
      if (!simple) {
        out_ += '\n';
        margin(indent);
      }
      out_ += ':';
      if (value.is_object() && !value.get_object().empty()) {
        out_ += simple ? '\n' : ' ';
        members(value.get_object(), indent + 2, !simple);
      } else if (value.is_array() && !value.get_array().empty()) {
        out_ += simple ? '\n' : ' ';
        elements(value.get_array(), simple ? indent : indent + 2, !simple);
      } else {
        out_ += ' ';
        scalar(value, indent);
        out_ += '\n';
      }
    }
  }

  void elements(const json::array& array, std::size_t indent, bool inlined) {
    for (const json::value& value : array) {
      margin(inlined ? 0 : indent);
      inlined = false;
      out_ += "- ";
      if (value.is_object() && !value.get_object().empty()) {
        members(value.get_object(), indent + 2, true);
      } else if (value.is_array() && !value.get_array().empty()) {
        elements(value.get_array(), indent + 2, true);
      } else {
        scalar(value, indent);
        out_ += '\n';
      }
    }
  }

  void scalar(const json::value& value, std::size_t indent) {
    if (const json::string* text = value.if_string()) {
      string(std::string_view(text->data(), text->size()), indent, Lines::Literal);
    } else {
      out_ += to_json(value);
    }
  }

  enum class Lines { Literal, Quoted };

  void string(std::string_view text, std::size_t indent, Lines lines) {
    const bool many = text.find('\n') != std::string_view::npos;
    if (many && lines == Lines::Literal && is_literal(text)) {
      return literal(text, indent + 2);
    }
    if (std::any_of(text.begin(), text.end(), is_control) || has_special_unicode(text) ||
        !reads_back_as_string(text)) {
      out_ += quoted(text);
    } else if (is_plain(text)) {
      out_ += text;
    } else {
      out_ += '\'';
      for (const char c : text) {
        out_ += c == '\'' ? "''" : std::string(1, c);
      }
      out_ += '\'';
    }
  }

  /// JSON's escapes are a subset of YAML's, but for the characters YAML would not take as they are.
  static std::string quoted(std::string_view text) {
    std::string out = to_json(json::value(json::string_view(text.data(), text.size())));
    const auto replace = [&](std::string_view from, std::string_view to) {
      for (std::size_t at = out.find(from); at != std::string::npos;
           at = out.find(from, at + to.size())) {
        out.replace(at, from.size(), to);
      }
    };
    replace("\x7F", "\\x7F");
    replace("\xEF\xBB\xBF", "\\uFEFF");
    replace("\xE2\x80\xA8", "\\u2028");
    replace("\xE2\x80\xA9", "\\u2029");
    for (int c = 0x80; c < 0xA0; ++c) {
      replace(std::string{'\xC2', static_cast<char>(c)}, fmt::format("\\x{:02X}", c));
    }
    return out;
  }

  static bool is_literal(std::string_view text) {
    // A first line that is blank or indented would need an indentation mark.
    return text.front() != ' ' && text.front() != '\n' && text.front() != '\t' &&
           text.find(" \n") == std::string_view::npos && text.back() != ' ' &&
           !has_special_unicode(text) && std::none_of(text.begin(), text.end(), [](char c) {
             return is_control(c) && c != '\n' && c != '\t';
           });
  }

  void literal(std::string_view text, std::size_t indent) {
    // "|" keeps one final line break, "|+" all of them, "|-" none.
    out_ += text.ends_with("\n\n") ? "|+" : (text.ends_with('\n') ? "|" : "|-");
    const bool ends_in_break = text.ends_with('\n');
    text.remove_suffix(ends_in_break ? 1 : 0);
    while (true) {
      const std::size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      out_ += '\n';
      if (!line.empty()) {
        margin(indent);
        out_ += line;
      }
      if (end == std::string_view::npos) {
        return;
      }
      text.remove_prefix(end + 1);
    }
  }

  void margin(std::size_t indent) { out_.append(indent, ' '); }

  std::string& out_;
};

} // namespace

std::string to_yaml(const json::value& value) {
  std::string out;
  YamlWriter(out).document(value);
  return out;
}

} // namespace berth::api
