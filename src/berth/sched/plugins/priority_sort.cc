#include "berth/sched/plugins/priority_sort.h"

namespace berth::sched {
namespace {

class PrioritySort final : public Plugin {
 public:
  std::string_view name() const override { return kPrioritySort; }
  Points points() const override { return static_cast<Points>(Point::QueueSort); }
  bool less(const QueuedPod& a, const QueuedPod& b) const override {
    return by_priority_then_time(a, b);
  }
};

} // namespace

bool by_priority_then_time(const QueuedPod& a, const QueuedPod& b) {
  if (a.pod->priority != b.pod->priority) {
    return a.pod->priority > b.pod->priority;
  }
  return a.timestamp < b.timestamp;
}

std::unique_ptr<Plugin> make_priority_sort() {
  return std::make_unique<PrioritySort>();
}

} // namespace berth::sched
