#include "berth/client/local_client.h"

#include <utility>

#include "berth/client/standing_lease.h"

namespace berth::client {
namespace {

/// Hands `result` to `done`, if there is one, as a later task.
template <class T> void answer(Loop& loop, Done<T> done, Result<T> result) {
  if (done) {
    loop.post([done = std::move(done), result = std::move(result)] { done(result); });
  }
}

class LocalWatch final : public Watch {
 public:
  /// Shared with tasks on their way, which deliver nothing once the watch is dropped.
  struct Receiver {
    std::function<void(Result<WatchEvent>)> on_event;
  };

  LocalWatch(Loop& loop, std::function<void(Result<WatchEvent>)> on_event)
      : loop_(&loop), receiver_(std::make_shared<Receiver>(Receiver{std::move(on_event)})) {}

  store::Sink sink() {
    return [loop = loop_, to = std::weak_ptr(receiver_)](const WatchEvent& event) {
      send(*loop, to, event);
    };
  }
  void start(Result<std::unique_ptr<store::Subscription>> subscription) {
    if (subscription) {
      subscription_ = *std::move(subscription);
    } else {
      send(*loop_, receiver_, tl::unexpected(std::move(subscription).error()));
    }
  }

 private:
  static void send(Loop& loop, std::weak_ptr<Receiver> to, Result<WatchEvent> event) {
    loop.post([to = std::move(to), event = std::move(event)] {
      if (const auto receiver = to.lock()) {
        receiver->on_event(event);
      }
    });
  }

  Loop* loop_;
  std::shared_ptr<Receiver> receiver_;
  std::unique_ptr<store::Subscription> subscription_;
};

} // namespace

store::WriteOptions LocalClient::judged() const {
  return {.admit = registry_->components()};
}

void LocalClient::get(const GroupKind& kind, const api::Key& key, Done<api::Object> done) {
  answer(*loop_, std::move(done), registry_->get(kind, key));
}

void LocalClient::list(const ListOptions& what, Done<ObjectList> done) {
  answer(*loop_, std::move(done), Result<ObjectList>(registry_->list(what)));
}

void LocalClient::create(api::Object object, Done<api::Object> done) {
  answer(*loop_, std::move(done), registry_->create(object, loop_->now(), judged()));
}

void LocalClient::update(api::Object object, Subresource subresource, Done<api::Object> done) {
  answer(*loop_, std::move(done), registry_->update(object, subresource, loop_->now(), judged()));
}

void LocalClient::patch(const GroupKind& kind, const api::Key& key, api::json::value merge_patch,
                        Subresource subresource, Done<api::Object> done) {
  answer(*loop_, std::move(done),
         registry_->patch(kind, key, merge_patch, subresource, loop_->now(), judged()));
}

void LocalClient::remove(const GroupKind& kind, const api::Key& key, const DeleteOptions& options,
                         Done<api::Object> done) {
  answer(*loop_, std::move(done), registry_->remove(kind, key, options, loop_->now(), judged()));
}

void LocalClient::bind(const Binding& binding, Done<api::Object> done) {
  answer(*loop_, std::move(done), registry_->bind(binding, loop_->now(), judged()));
}

std::unique_ptr<Watch> LocalClient::watch(const WatchOptions& options,
                                          std::function<void(Result<WatchEvent>)> on_event) {
  auto watch = std::make_unique<LocalWatch>(*loop_, std::move(on_event));
  watch->start(registry_->watch(options, watch->sink()));
  return watch;
}

std::unique_ptr<StandingLease> LocalClient::hold_lease(const LeaseSpec& lease) {
  return hold_standing_lease(*registry_, *loop_, lease);
}

} // namespace berth::client
