#include "berth/runtime/cri/container_watch.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "berth/base/log.h"

namespace berth::runtime::cri {
namespace {

constexpr Duration kTryAgain = Duration::seconds(1);

} // namespace

class ContainerWatch::Listener final : public EventStream {
 public:
  Listener(std::shared_ptr<ContainerWatch> watch,
           std::function<void(const ContainerEvent&)> its_on_event)
      : on_event(std::move(its_on_event)), watch_(std::move(watch)) {
    watch_->listeners_.push_back(this);
  }
  ~Listener() override {
    std::erase(watch_->listeners_, this);
    if (watch_->listeners_.empty()) {
      watch_->look_again_.cancel();
    }
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::function<void(const ContainerEvent&)> on_event;

 private:
  std::shared_ptr<ContainerWatch> watch_;
};

ContainerWatch::ContainerWatch(Loop& loop, WatchSource source, Duration every)
    : source_(std::move(source)), every_(every), look_again_(loop) {}

std::unique_ptr<EventStream>
ContainerWatch::listen(std::function<void(const ContainerEvent&)> on_event) {
  auto listener = std::make_unique<Listener>(shared_from_this(), std::move(on_event));
  seen_.clear();
  look_soon();
  return listener;
}

void ContainerWatch::look_soon() {
  if (looking_) {
    look_after_ = true;
  } else if (!listeners_.empty() && !closed_) {
    look_again_.set(Duration(), [this] { look(); });
  }
}

void ContainerWatch::close() {
  closed_ = true;
  look_again_.cancel();
}

void ContainerWatch::look() {
  looking_ = true;
  look_after_ = false;
  source_.look([this](Result<Seen> now) {
    if (!now) {
      log(LogLevel::Warn, "cri",
          fmt::format("the container runtime does not say what it has: {}", now.error().message));
      looking_ = false;
      look_again_.set(kTryAgain, [this] { look(); });
      return;
    }
    const std::vector<Change> changes = changes_between(seen_, *now);
    tell(changes, *std::move(now));
  });
}

// Statuses are read one after the other, so that events come in order; then the next look.
void ContainerWatch::tell(const std::vector<Change>& changes, Seen now) {
  if (changes.empty()) {
    seen_ = std::move(now);
    looking_ = false;
    if (!listeners_.empty()) {
      look_again_.set(std::exchange(look_after_, false) ? Duration() : every_, [this] { look(); });
    }
    return;
  }
  const Change change = changes.front();
  std::vector<Change> rest(changes.begin() + 1, changes.end());
  if (change.type == ContainerEvent::Type::Deleted) {
    if (const auto known = last_.find(change.id); known != last_.end()) {
      const ContainerStatus status = known->second;
      last_.erase(known);
      source_.gone(change.id);
      emit({change.type, status});
    }
    tell(rest, std::move(now));
    return;
  }
  source_.status(change.id, [this, change, rest = std::move(rest),
                             now = std::move(now)](Result<ContainerStatus> status) mutable {
    if (status) {
      last_[change.id] = *status;
      emit({change.type, *std::move(status)});
    } else if (status.error().code != Code::NotFound) {
      now.erase(change.id); // it is news again next time
    }
    tell(rest, std::move(now));
  });
}

void ContainerWatch::emit(const ContainerEvent& event) {
  const std::vector<Listener*> told = listeners_;
  for (Listener* listener : told) {
    if (std::ranges::find(listeners_, listener) != listeners_.end()) {
      listener->on_event(event);
    }
  }
}

} // namespace berth::runtime::cri
