// A local, eventually consistent copy of what a list-and-watch shows. Survives lost, repeated and
// reordered delivery: an event older than what is held is ignored, "too old" and broken watches
// relist, and a relist turns every difference into the right callback.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/base/loop.h"
#include "berth/client/client.h"

namespace berth::client {

/// Callbacks run on the Loop. `old` is empty for an object first seen; `now` is empty when it is
/// gone. Invariant: for each object the callbacks form a chain: (none -> v1), (v1 -> v2), (v2 ->
/// none), and resource versions only grow. An object deleted and created again under the same name
/// shows as gone and then new.
class Informer {
 public:
  using OnChange = std::function<void(const api::Object& old, const api::Object& now)>;

  /// Starts listing at once. The client and loop must outlive the informer.
  Informer(Client& client, Loop& loop, ListOptions what, OnChange on_change);
  ~Informer();
  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;

  /// The first list has been delivered.
  bool synced() const;
  /// Runs once, when (or if) synced.
  void on_sync(Task task);
  /// nullptr if not held.
  const api::Object* find(const api::Key& key) const;
  const std::map<api::Key, api::Object>& all() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::client
