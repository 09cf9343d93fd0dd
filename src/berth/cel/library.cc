#include "berth/cel/library.h"

#include <algorithm>
#include <iterator>

#include "berth/base/assert.h"

namespace berth::cel {
namespace {

/// Reads signatures, which are this program's own.
class Signature {
 public:
  explicit Signature(std::string_view text) : rest_(text) {}

  std::pair<std::string, Overload> read(Run run) {
    Overload out{.run = run};
    std::string name = word();
    if (accept("::")) {
      out.member = true;
      out.args.push_back(type(name));
      name = word();
    } else if (accept("(")) {
      return rest(std::move(name), std::move(out));
    }
    if (!accept("(")) { // a target with parameters of its own: "list(A)::f("
      BERTH_ASSERT(false, "a signature without arguments");
    }
    return rest(std::move(name), std::move(out));
  }

 private:
  std::pair<std::string, Overload> rest(std::string name, Overload out) {
    if (!accept(")")) {
      do {
        out.args.push_back(type(word()));
      } while (accept(","));
      BERTH_ASSERT(accept(")"), "a signature is not closed");
    }
    if (accept("::")) { // what was read is the target
      out.args = {with(name, std::move(out.args))};
      out.member = true;
      name = word();
      BERTH_ASSERT(accept("("), "a member without arguments");
      return rest_of_member(std::move(name), std::move(out));
    }
    return result(std::move(name), std::move(out));
  }

  std::pair<std::string, Overload> rest_of_member(std::string name, Overload out) {
    while (!accept(")")) {
      out.args.push_back(type(word()));
      accept(",");
    }
    return result(std::move(name), std::move(out));
  }

  std::pair<std::string, Overload> result(std::string name, Overload out) {
    BERTH_ASSERT(accept("->"), "a signature without a result");
    out.result = type(word());
    return {std::move(name), std::move(out)};
  }

  bool accept(std::string_view sign) {
    while (rest_.starts_with(' ')) {
      rest_.remove_prefix(1);
    }
    if (!rest_.starts_with(sign)) {
      return false;
    }
    rest_.remove_prefix(sign.size());
    return true;
  }

  std::string word() {
    accept("");
    const std::size_t end =
        std::min({rest_.find_first_of("(),"), rest_.find("::"), rest_.find(" ->")});
    std::string out(rest_.substr(0, end));
    rest_.remove_prefix(out.size());
    return out;
  }

  TypeRef type(const std::string& name) {
    std::vector<TypeRef> of;
    if (accept("(")) {
      do {
        of.push_back(type(word()));
      } while (accept(","));
      BERTH_ASSERT(accept(")"), "a type is not closed");
    }
    return with(name, std::move(of));
  }

  static TypeRef with(const std::string& name, std::vector<TypeRef> of) {
    if (name.size() == 1) {
      return std::make_shared<const Type>(Type{.kind = Kind::Parameter, .name = name});
    }
    if (name.find('.') != std::string::npos) {
      return opaque(name);
    }
    constexpr std::pair<std::string_view, Kind> kKinds[] = {
        {"dyn", Kind::Dyn},           {"null", Kind::Null},
        {"bool", Kind::Bool},         {"int", Kind::Int},
        {"uint", Kind::Uint},         {"double", Kind::Double},
        {"string", Kind::String},     {"bytes", Kind::Bytes},
        {"duration", Kind::Duration}, {"timestamp", Kind::Timestamp},
        {"list", Kind::List},         {"map", Kind::Map},
        {"optional", Kind::Optional}, {"type", Kind::Type}};
    const auto kind = std::ranges::find(kKinds, name, [](const auto& one) { return one.first; });
    BERTH_ASSERT(kind != std::end(kKinds), "a signature names a type that is none");
    return of.empty()
               ? simple(kind->second)
               : std::make_shared<const Type>(Type{.kind = kind->second, .of = std::move(of)});
  }

  std::string_view rest_;
};

Library built() {
  Library out;
  for (auto* const subject :
       {operators, conversions, text_functions, time_functions, list_functions, optional_functions,
        quantity_functions, network_functions, version_functions, access_functions}) {
    for (const Declaration& one : subject()) {
      auto [name, overload] = Signature(one.signature).read(one.run);
      out[name].push_back(std::move(overload));
    }
  }
  return out;
}

bool takes(const Type& type, const Value& value) {
  if (type.kind == Kind::Dyn || type.kind == Kind::Parameter) {
    return true;
  }
  if (type.kind == Kind::Map) { // or an object
    return value.map() != nullptr;
  }
  const TypeRef given = type_of(value);
  return given->kind == type.kind && given->name == type.name;
}

} // namespace

const Library& library() {
  static const Library kLibrary = built();
  return kLibrary;
}

bool is_function(std::string_view name) {
  return library().contains(name);
}

Outcome call(std::string_view name, bool member, std::span<const Value> args) {
  const auto overloads = library().find(name);
  if (overloads != library().end()) {
    for (const Overload& one : overloads->second) {
      if (one.member == member && one.run != nullptr &&
          std::ranges::equal(one.args, args, [](const TypeRef& type, const Value& value) {
            return takes(*type, value);
          })) {
        return one.run(args);
      }
    }
  }
  return failure("no such overload");
}

} // namespace berth::cel
