// Keeping the Node object what the agent says it is: registers it, writes what changes, and puts
// right what others changed (a controller that had given the node up, for example).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "berth/api/json.h"
#include "berth/api/object.h"
#include "berth/base/loop.h"
#include "berth/client/client.h"
#include "berth/node/node_status.h"

namespace berth::node {

/// One request at a time. A Node that somebody deletes while the agent runs is not registered
/// again, as with the kubelet: a new agent does that.
class NodeReporter {
 public:
  /// `facts` is asked whenever something is to be written; `on_node` hears of every stored version.
  /// Nothing is written before open().
  NodeReporter(Loop& loop, client::Client& client, api::json::value base,
               std::function<NodeFacts()> facts, std::function<void(const api::Object&)> on_node);
  ~NodeReporter();
  NodeReporter(const NodeReporter&) = delete;
  NodeReporter& operator=(const NodeReporter&) = delete;

  /// From now on the facts are fit to be published.
  void open();
  /// The facts may have changed.
  void poke();
  /// The stored Node; empty before it is known.
  const api::Object& node() const;
  bool clean() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::node
