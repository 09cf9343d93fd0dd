// One call to a device plugin, with the end of patience.
#pragma once

#include <memory>
#include <utility>

#include "berth/base/loop.h"
#include "berth/deviceplugin/contract.h"

namespace berth::node {

/// Makes the call (`start` is given where the answer goes). The answer, or Timeout when none has
/// come by then, is delivered once, and only while `alive` lives: the loop must do so as long.
template <class T, class Call>
void call_plugin(Loop& loop, Duration timeout, std::weak_ptr<void> alive, Call start,
                 deviceplugin::Done<T> done) {
  struct Answer {
    deviceplugin::Done<T> done;
    TimerId timer = 0;
  };
  auto answer = std::make_shared<Answer>(Answer{std::move(done)});
  const auto deliver = [loop = &loop, weak = std::move(alive), answer](Result<T> result) {
    const auto owner = weak.lock();
    if (owner && answer->done) {
      loop->cancel(answer->timer);
      const auto now = std::exchange(answer->done, nullptr);
      now(std::move(result));
    }
  };
  answer->timer = loop.after(
      timeout, [deliver] { deliver(fail(Code::Timeout, "the device plugin does not answer")); });
  start(deliver);
}

} // namespace berth::node
