#include "berth/sched/undo.h"

#include <utility>

#include "berth/sched/cluster_state.h"

namespace berth::sched {

Undo::Undo(Undo&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)), change_(std::move(other.change_)) {}

Undo& Undo::operator=(Undo&& other) noexcept {
  if (this != &other) {
    rollback();
    state_ = std::exchange(other.state_, nullptr);
    change_ = std::move(other.change_);
  }
  return *this;
}

Undo::~Undo() {
  rollback();
}

void Undo::commit() {
  if (auto* state = std::exchange(state_, nullptr)) {
    ++state->version_;
  }
}

void Undo::rollback() {
  if (auto* state = std::exchange(state_, nullptr)) {
    state->undo(change_);
  }
}

} // namespace berth::sched
