#include "berth/node/orphan.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "berth/node/container_config.h"

namespace berth::node {
namespace {

Duration grace_of(const runtime::ContainerStatus& container) {
  std::int64_t seconds = 30;
  if (const auto it = container.annotations.find(kGraceAnnotation);
      it != container.annotations.end()) {
    std::from_chars(it->second.data(), it->second.data() + it->second.size(), seconds);
  }
  return Duration::seconds(std::max<std::int64_t>(seconds, 1));
}

// Calls `done` when the last of `count` answers is in; at once for none.
class Countdown : public std::enable_shared_from_this<Countdown> {
 public:
  Countdown(std::size_t count, std::weak_ptr<void> alive, std::function<void()> done)
      : left_(count), alive_(std::move(alive)), done_(std::move(done)) {}

  std::function<void(Result<void>)> one() {
    return [self = shared_from_this()](const Result<void>&) {
      if (--self->left_ == 0 && !self->alive_.expired()) {
        self->done_();
      }
    };
  }

 private:
  std::size_t left_;
  std::weak_ptr<void> alive_;
  std::function<void()> done_;
};

} // namespace

void end_orphan(runtime::Runtime& runtime, const PodRecord& record,
                const std::weak_ptr<void>& alive, std::function<void()> done) {
  std::vector<std::string> sandboxes;
  for (const auto& [id, sandbox] : record.sandboxes) {
    sandboxes.push_back(id);
  }
  const auto remove_sandboxes = [&runtime, sandboxes, alive, done = std::move(done)] {
    const auto removed = std::make_shared<Countdown>(sandboxes.size(), alive, done);
    for (const std::string& id : sandboxes) {
      runtime.remove_pod_sandbox(id, removed->one());
    }
    if (sandboxes.empty()) {
      done();
    }
  };
  const auto stopped =
      std::make_shared<Countdown>(record.containers.size() + 1, alive, remove_sandboxes);
  for (const auto& [id, container] : record.containers) {
    runtime.stop_container(id, grace_of(container), stopped->one());
  }
  // One more than there are containers, so that none at all is answered by a later task too.
  runtime.list([last = stopped->one()](const Result<runtime::Listing>&) { last({}); });
}

} // namespace berth::node
