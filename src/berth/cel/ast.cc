#include "berth/cel/ast.h"

#include <algorithm>

namespace berth::cel {

NodePtr make_node(Node node) {
  node.depth = 1;
  for (const NodePtr& arg : node.args) {
    node.depth = std::max(node.depth, arg == nullptr ? 1 : arg->depth + 1);
  }
  return std::make_shared<const Node>(std::move(node));
}

} // namespace berth::cel
