#include "berth/store/validation/internal_text.h"

#include <algorithm>
#include <map>

namespace berth::store {
namespace {

namespace json = api::json;

class Writer {
 public:
  bool complete() const { return complete_; }
  std::vector<std::string> take() { return std::move(lines_); }

  void object(const json::object& of, std::span<const Member> members, std::string_view head,
              std::string_view tail) {
    add(std::string(head) + "{");
    ++depth_;
    for (std::size_t i = 0; i < members.size(); ++i) {
      member(of, members[i], i + 1 < members.size() ? "," : "");
    }
    --depth_;
    add("}" + std::string(tail));
  }

 private:
  void add(const std::string& text) { lines_.push_back(std::string(depth_, ' ') + text); }

  static std::string absent(Form form) {
    switch (form) {
    case Form::Text:
      return "\"\"";
    case Form::Number:
    case Form::Port:
      return "0";
    case Form::Flag:
      return "false";
    case Form::Amount:
      return "\"0\"";
    default:
      return "null";
    }
  }

  void member(const json::object& of, const Member& field, std::string_view tail) {
    const std::string head = "\"" + std::string(field.name) + "\": ";
    const json::value* value = of.if_contains(field.json_name);
    const bool empty =
        value == nullptr || value->is_null() || (value->is_array() && value->get_array().empty());
    if (field.form == Form::Struct ||
        (field.form == Form::StructPointer && !empty && value->is_object())) {
      static const json::object kNone;
      object(value != nullptr && value->is_object() ? value->get_object() : kNone, field.inner,
             head, tail);
    } else if (empty) {
      add(head + absent(field.form) + std::string(tail));
    } else if (field.form == Form::Unknown) {
      complete_ = false;
    } else if (field.form == Form::Amounts && value->is_object()) {
      map(value->get_object(), head, tail);
    } else if (field.form == Form::Plain) {
      plain(*value, head, tail);
    } else if (value->is_array()) {
      list(value->get_array(), field, head, tail);
    } else {
      add(head + api::to_json(*value) + std::string(tail));
    }
  }

  void map(const json::object& of, const std::string& head, std::string_view tail) {
    std::map<std::string, const json::value*> sorted;
    for (const auto& entry : of) {
      sorted.emplace(entry.key(), &entry.value());
    }
    if (sorted.empty()) {
      add(head + "{}" + std::string(tail));
      return;
    }
    add(head + "{");
    ++depth_;
    std::size_t left = sorted.size();
    for (const auto& [name, value] : sorted) {
      add(api::to_json(json::value(name)) + ": " + api::to_json(*value) + (--left > 0 ? "," : ""));
    }
    --depth_;
    add("}" + std::string(tail));
  }

  void list(const json::array& of, const Member& field, const std::string& head,
            std::string_view tail) {
    add(head + "[");
    ++depth_;
    std::size_t left = of.size();
    for (const json::value& one : of) {
      const std::string_view comma = --left > 0 ? "," : "";
      if (field.form == Form::Structs && one.is_object()) {
        object(one.get_object(), field.inner, "", comma);
      } else {
        add(api::to_json(one) + std::string(comma));
      }
    }
    --depth_;
    add("]" + std::string(tail));
  }

  void plain(const json::value& value, const std::string& head, std::string_view tail) {
    const bool object = value.is_object() && !value.get_object().empty();
    const bool array = value.is_array() && !value.get_array().empty();
    if (!object && !array) {
      add(head + api::to_json(value) + std::string(tail));
      return;
    }
    add(head + (object ? "{" : "["));
    ++depth_;
    if (object) {
      std::size_t left = value.get_object().size();
      for (const auto& entry : value.get_object()) {
        plain(entry.value(), api::to_json(json::value(entry.key())) + ": ", --left > 0 ? "," : "");
      }
    } else {
      std::size_t left = value.get_array().size();
      for (const json::value& one : value.get_array()) {
        plain(one, "", --left > 0 ? "," : "");
      }
    }
    --depth_;
    add((object ? "}" : "]") + std::string(tail));
  }

  std::vector<std::string> lines_;
  std::size_t depth_ = 0;
  bool complete_ = true;
};

/// A line without its indentation and the blank after its name.
std::string tight(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  std::string out(line);
  if (out.starts_with('"')) {
    if (const std::size_t colon = out.find("\": "); colon != std::string::npos) {
      out.erase(colon + 2, 1);
    }
  }
  return out;
}

} // namespace

std::optional<std::vector<std::string>> internal_lines(const json::value& of,
                                                       std::span<const Member> members) {
  if (!of.is_object()) {
    return std::nullopt;
  }
  Writer writer;
  writer.object(of.get_object(), members, "", "");
  return writer.complete() ? std::optional(writer.take()) : std::nullopt;
}

std::string on_one_line(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) {
    out += tight(line);
  }
  return out;
}

} // namespace berth::store
