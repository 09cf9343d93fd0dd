#include "berth/base/loop.h"

namespace berth {

void Timer::set(Duration delay, Task task) {
  cancel();
  id_ = loop_->after(delay, [this, run = std::move(task)] {
    id_ = 0;
    run();
  });
}

void Timer::cancel() {
  if (id_ != 0) {
    loop_->cancel(id_);
    id_ = 0;
  }
}

} // namespace berth
