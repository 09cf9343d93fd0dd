// Empties namespaces that are deleted, custom resources included, says in their conditions what is
// left, and lets them go when nothing is. Source: kubernetes pkg/controller/namespace.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/client/client.h"

namespace berth::controllers {

/// Watches what is in a namespace only while that namespace is being deleted.
class NamespaceController {
 public:
  NamespaceController(client::Client& client, Loop& loop);
  ~NamespaceController();
  NamespaceController(const NamespaceController&) = delete;
  NamespaceController& operator=(const NamespaceController&) = delete;

  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
