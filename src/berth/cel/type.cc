#include "berth/cel/type.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::cel {
namespace {

constexpr std::array<std::string_view, 17> kNames = {
    "dyn",       "null", "bool", "int",    "uint",          "double", "string", "bytes", "duration",
    "timestamp", "list", "map",  "object", "optional_type", "type",   "",       ""};

/// Words that are not identifiers, so that fields of these names are written between underscores.
constexpr std::array<std::string_view, 21> kReserved = {
    "true",     "false",   "null",      "in",       "as",  "break",  "const",
    "continue", "else",    "for",       "function", "if",  "import", "let",
    "loop",     "package", "namespace", "return",   "var", "void",   "while"};

struct Escape {
  std::string_view plain;
  std::string_view written;
};
constexpr std::array<Escape, 4> kEscapes = {{{.plain = "__", .written = "__underscores__"},
                                             {.plain = ".", .written = "__dot__"},
                                             {.plain = "-", .written = "__dash__"},
                                             {.plain = "/", .written = "__slash__"}}};

bool is_word(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

/// null, and what may be null in its stead.
bool holds_null(Kind kind) {
  return kind == Kind::Object || kind == Kind::Duration || kind == Kind::Timestamp ||
         kind == Kind::Opaque || kind == Kind::Null;
}

} // namespace

TypeRef simple(Kind kind) {
  static const auto kSimple = [] {
    std::array<TypeRef, kNames.size()> all;
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = std::make_shared<const Type>(Type{.kind = static_cast<Kind>(i)});
    }
    return all;
  }();
  return kSimple[static_cast<std::size_t>(kind)];
}

TypeRef list_of(TypeRef element) {
  return std::make_shared<const Type>(Type{.kind = Kind::List, .of = {std::move(element)}});
}

TypeRef map_of(TypeRef key, TypeRef value) {
  return std::make_shared<const Type>(
      Type{.kind = Kind::Map, .of = {std::move(key), std::move(value)}});
}

TypeRef optional_of(TypeRef value) {
  return std::make_shared<const Type>(Type{.kind = Kind::Optional, .of = {std::move(value)}});
}

TypeRef opaque(std::string_view name) {
  return std::make_shared<const Type>(Type{.kind = Kind::Opaque, .name = std::string(name)});
}

std::string to_string(const Type& type) {
  const std::string name(type.name.empty() ? kNames[static_cast<std::size_t>(type.kind)]
                                           : std::string_view(type.name));
  if (type.of.empty() || type.kind == Kind::Type) {
    return name;
  }
  std::vector<std::string> of;
  of.reserve(type.of.size());
  for (const TypeRef& one : type.of) {
    of.push_back(to_string(*one));
  }
  return fmt::format("{}({})", name, fmt::join(of, ", "));
}

bool assignable(const TypeRef& to, const TypeRef& from, Bindings& bindings) {
  if (to == from || from->kind == Kind::Dyn) {
    return true;
  }
  if (to->kind == Kind::Parameter) {
    const auto bound = bindings.find(to->name);
    if (bound == bindings.end()) {
      bindings.emplace(to->name, from);
      return true;
    }
    const TypeRef both = joined(bound->second, from);
    if (both == nullptr) {
      return false;
    }
    bound->second = both;
    return true;
  }
  if (to->kind == Kind::Dyn) {
    return true;
  }
  if (from->kind == Kind::Null) {
    return holds_null(to->kind);
  }
  if (to->kind != from->kind || to->name != from->name) {
    return false;
  }
  return to->kind == Kind::Type || // whatever of
         std::ranges::equal(to->of, from->of, [&](const TypeRef& one, const TypeRef& other) {
           return assignable(one, other, bindings);
         });
}

TypeRef substitute(const TypeRef& type, const Bindings& bindings) {
  if (type->kind == Kind::Parameter) {
    const auto bound = bindings.find(type->name);
    return bound == bindings.end() ? simple(Kind::Dyn) : bound->second;
  }
  if (type->of.empty()) {
    return type;
  }
  Type out = *type;
  for (TypeRef& one : out.of) {
    one = substitute(one, bindings);
  }
  return std::make_shared<const Type>(std::move(out));
}

TypeRef joined(const TypeRef& a, const TypeRef& b) {
  Bindings none;
  if (a->kind == Kind::Dyn || b->kind == Kind::Dyn) {
    return simple(Kind::Dyn);
  }
  if (assignable(a, b, none)) {
    return a;
  }
  return assignable(b, a, none) ? b : nullptr;
}

std::string escaped(std::string_view field) {
  if (std::ranges::find(kReserved, field) != kReserved.end()) {
    return fmt::format("__{}__", field);
  }
  std::string out;
  while (!field.empty()) {
    const auto escape = std::ranges::find_if(
        kEscapes, [&](const Escape& one) { return field.starts_with(one.plain); });
    if (escape == kEscapes.end()) {
      out += field.front();
      field.remove_prefix(1);
    } else {
      out += escape->written;
      field.remove_prefix(escape->plain.size());
    }
  }
  return is_word(out) ? out : std::string();
}

std::string unescaped(std::string_view written) {
  if (written.size() > 4 && written.starts_with("__") && written.ends_with("__")) {
    const std::string_view inside = written.substr(2, written.size() - 4);
    if (std::ranges::find(kReserved, inside) != kReserved.end()) {
      return std::string(inside);
    }
  }
  std::string out;
  while (!written.empty()) {
    const auto escape = std::ranges::find_if(
        kEscapes, [&](const Escape& one) { return written.starts_with(one.written); });
    if (escape == kEscapes.end()) {
      out += written.front();
      written.remove_prefix(1);
    } else {
      out += escape->plain;
      written.remove_prefix(escape->written.size());
    }
  }
  return out;
}

} // namespace berth::cel
