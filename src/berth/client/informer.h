// A local, eventually consistent copy of what a list-and-watch shows. Survives lost, repeated and
// reordered delivery: an event older than what is held is ignored, "too old" and broken watches
// relist, and a relist turns every difference into the right callback.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "berth/base/loop.h"
#include "berth/client/client.h"
#include "berth/client/informer_source.h"

namespace berth::client {

/// Callbacks run on the Loop. `old` is empty for an object first seen; `now` is empty when it is
/// gone. Invariant: for each object the callbacks form a chain: (none -> v1), (v1 -> v2), (v2 ->
/// none), and resource versions only grow. An object deleted and created again under the same name
/// shows as gone and then new.
class Informer {
 public:
  using OnChange = InformerSource::OnChange;

  /// Starts listing at once, unless the client has an informer of this selection whose list, watch
  /// and cache it may share (Client::informer_sources). The client and loop must outlive it.
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
  /// Empty until the informer has begun to tell.
  const std::map<api::Key, api::Object>& all() const;

 private:
  std::shared_ptr<InformerSource> source_;
  std::shared_ptr<InformerSource::Reader> reader_;
};

} // namespace berth::client
