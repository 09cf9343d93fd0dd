#include "berth/sched/node_trial.h"

namespace berth::sched {

NodeTrial::~NodeTrial() {
  while (!steps_.empty()) {
    take_back();
  }
}

void NodeTrial::tell(Kind kind, const PodInfo& pod) {
  for (FilterSession* session : sessions_) {
    if (kind == Kind::Removed) {
      session->removed(pod, node_);
    } else {
      session->added(pod, node_);
    }
  }
}

void NodeTrial::remove(const PodPtr& pod) {
  steps_.push_back({.undo = state().try_remove(pod->uid), .pod = pod, .kind = Kind::Removed});
  tell(Kind::Removed, *pod);
}

void NodeTrial::add(const PodPtr& pod, hardware::GpuMask gpus) {
  steps_.push_back({.undo = state().try_assume(pod, node_, gpus), .pod = pod, .kind = Kind::Added});
  tell(Kind::Added, *pod);
}

void NodeTrial::take_back() {
  Step step = std::move(steps_.back());
  steps_.pop_back();
  step.undo.rollback();
  tell(step.kind == Kind::Removed ? Kind::Added : Kind::Removed, *step.pod);
}

} // namespace berth::sched
