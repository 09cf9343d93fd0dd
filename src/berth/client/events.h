// core/v1 Events with the recorder's aggregation: an equal event raises `count` instead of adding
// an object; when a source tells ten different messages for one object and reason within ten
// minutes, the further ones collapse into one whose message starts "(combined from similar events):
// "; a source's events about one object are limited (burst 25, one more every five minutes). Rules
// of client-go tools/record.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "berth/base/loop.h"
#include "berth/base/rng.h"
#include "berth/client/client.h"

namespace berth::client {

enum class EventType { Normal, Warning };

class EventRecorder {
 public:
  /// `component` is source.component, e.g. "default-scheduler", "kubelet"; `host` is source.host
  /// ("" for none).
  EventRecorder(Client& client, Loop& loop, Rng rng, std::string component, std::string host = "");
  ~EventRecorder();

  /// Fire and forget; a failed write is dropped. Messages over 1024 bytes are cut.
  void record(const api::Object& about, EventType type, std::string_view reason,
              std::string_view message);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace berth::client
