// Writing one pod's status, now and then an annotation, and in the end its removal: one request at
// a time, the latest wish wins, conflicts are read again, an unreachable server is tried again.
// Never touches another pod that got the same name.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "berth/api/json.h"
#include "berth/api/object.h"
#include "berth/base/loop.h"
#include "berth/client/client.h"

namespace berth::node {

/// Called as later tasks. `on_object`: a newer version is known; `on_gone`: no such pod (or another
/// uid) any more.
struct PodWriterEvents {
  std::function<void(api::Object)> on_object;
  std::function<void()> on_gone;
};

/// A pod's whole status, given the one that is stored, if any: what others have written of it is
/// theirs to keep.
using MakeStatus = std::function<api::json::object(const api::json::value* stored)>;

/// Destroying it abandons what is not yet written.
class PodWriter {
 public:
  PodWriter(Loop& loop, client::Client& client, api::Object pod, PodWriterEvents events);
  ~PodWriter();
  PodWriter(const PodWriter&) = delete;
  PodWriter& operator=(const PodWriter&) = delete;

  const api::Object& pod() const;
  /// A version seen elsewhere; older ones are ignored.
  void observe(api::Object pod);
  /// Makes this the pod's status: asked at once, and again for each version that others wrote.
  void put_status(MakeStatus make);
  /// Makes this one of the pod's annotations, once.
  void annotate(std::string_view key, std::string value);
  /// Deletes the object for good (grace 0) once the status is written.
  void remove();
  /// Nothing is being written and nothing is left to write.
  bool clean() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::node
