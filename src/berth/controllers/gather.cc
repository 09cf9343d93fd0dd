#include "berth/controllers/gather.h"

#include <utility>

namespace berth::controllers {

using client::Outcome;

Gather::Gather(Key, Then then) : then_(std::move(then)) {}

std::shared_ptr<Gather> Gather::make(Then then) {
  return std::make_shared<Gather>(Key(), std::move(then));
}

std::function<void(Outcome)> Gather::expect() {
  ++waiting_;
  return [self = shared_from_this()](Outcome outcome) { self->answered(outcome); };
}

void Gather::close() {
  closed_ = true;
  finish_if_done();
}

void Gather::answered(Outcome outcome) {
  --waiting_;
  if (outcome == Outcome::Retry) {
    worst_ = Outcome::Retry;
  }
  finish_if_done();
}

void Gather::finish_if_done() {
  if (closed_ && waiting_ == 0 && then_) {
    std::exchange(then_, nullptr)(worst_);
  }
}

} // namespace berth::controllers
