// An expression as it was read. Macros are nodes of their own, not folded into one comprehension:
// what they do is then said in one place, by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/cel/value.h"

namespace berth::cel {

struct Node;
using NodePtr = std::shared_ptr<const Node>;

/// What loops over a list or a map. Sources: cel-spec, doc/langdef.md ("Macros"); cel-go ext
/// (two-variable comprehensions).
enum class Macro {
  All,
  Exists,
  ExistsOne,
  Map,
  Filter,
  TransformList,
  TransformMap,
  TransformMapEntry,
};

struct Node {
  enum class Form {
    Literal,  ///< `literal`
    Name,     ///< `name`: a variable or a type
    Select,   ///< args[0].name; `optional`: args[0].?name
    Has,      ///< has(args[0].name)
    Call,     ///< name(args), args[0].name(args...) if `member`; operators too: "_+_"
    List,     ///< args; `optionals`: those written with a question mark
    Map,      ///< keys and values in turn
    Loop,     ///< `macro` over args[0], with `variables`: args[1], or args[1] ? args[2]
    Let,      ///< variables[0] is args[0] in args[1]: cel.bind
    IfPresent ///< args[0].optMap(variable, args[1]); `optional`: optFlatMap
  };
  Form form = Form::Literal;
  std::size_t at = 0; ///< characters from the beginning
  Value literal;
  std::string name;
  bool member = false;
  bool optional = false;
  std::vector<NodePtr> args;
  std::vector<bool> optionals;
  Macro macro = Macro::All;
  std::vector<std::string> variables;
  int depth = 1; ///< of the tree below, itself included
};

/// With its depth.
NodePtr make_node(Node node);

} // namespace berth::cel
