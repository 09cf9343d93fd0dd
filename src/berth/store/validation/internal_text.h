// Values as kube-apiserver shows them where it speaks of its internal types: every field of the
// type by its Go name, set or not. Tables say what the types are; source:
// kubernetes/pkg/apis/core/types.go.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/json.h"

namespace berth::store {

/// How a field is shown: of a plain one an absent value is its zero, of others null.
enum class Form {
  Text,
  Number,
  Flag,
  Pointer, ///< to a plain value
  Amount,  ///< a quantity, "0" if absent
  Port,    ///< a number or a name, 0 if absent
  Texts,
  Amounts, ///< a map, sorted by name
  Structs,
  Struct,
  StructPointer,
  Plain,  ///< of a type that is shown as it is written: a label selector
  Unknown ///< not known here how
};

struct Member {
  std::string_view name;
  std::string_view json_name;
  Form form;
  std::span<const Member> inner = {};
};

/// The struct, one field a line; none if a field is set whose form is not known.
std::optional<std::vector<std::string>> internal_lines(const api::json::value& of,
                                                       std::span<const Member> members);

/// Such lines put on one.
std::string on_one_line(const std::vector<std::string>& lines);

} // namespace berth::store
