#include "berth/client/cross_thread_client.h"

#include <unordered_map>
#include <utility>

#include "berth/client/standing_lease.h"

namespace berth::client {

/// `next` belongs to the thread at home, the rest to the registry's.
struct CrossThreadClient::FarSide {
  store::Registry& registry;
  net::AsioLoop& loop;
  net::AsioLoop& home;
  std::uint64_t next = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<store::Subscription>> watches = {};
  std::unordered_map<std::uint64_t, std::unique_ptr<StandingLease>> leases = {};
};

namespace {

using FarSide = CrossThreadClient::FarSide;

/// Runs `work` beside the registry, unless the client has gone by then.
template <class Work> void over(const std::shared_ptr<FarSide>& far, Work work) {
  far->loop.post_from_any_thread([weak = std::weak_ptr(far), work = std::move(work)]() mutable {
    if (const auto side = weak.lock()) {
      work(*side);
    }
  });
}

/// As over(); what `ask` answers reaches `done` at home.
template <class T, class Ask>
void request(const std::shared_ptr<FarSide>& far, Done<T> done, Ask ask) {
  over(far, [done = std::move(done), ask = std::move(ask)](FarSide& side) mutable {
    Result<T> result = ask(side.registry, side.loop.now());
    if (done) {
      side.home.post_from_any_thread(
          [done = std::move(done), result = std::move(result)] { done(result); });
    }
  });
}

store::WriteOptions judged(const store::Registry& registry) {
  return {.admit = registry.components()};
}

class CrossThreadWatch final : public Watch {
 public:
  /// Lives and dies at home; who sends to it from afar holds it weakly and asks there only.
  struct Receiver {
    std::function<void(Result<WatchEvent>)> on_event;
  };

  CrossThreadWatch(std::shared_ptr<FarSide> far, const WatchOptions& options,
                   std::function<void(Result<WatchEvent>)> on_event)
      : far_(std::move(far)), number_(++far_->next),
        receiver_(std::make_shared<Receiver>(Receiver{std::move(on_event)})) {
    over(far_, [number = number_, options, to = std::weak_ptr(receiver_)](FarSide& side) {
      net::AsioLoop& home = side.home;
      auto begun = side.registry.watch(
          options, [&home, to](const WatchEvent& event) { send(home, to, event); });
      if (begun) {
        side.watches.emplace(number, *std::move(begun));
      } else {
        send(home, to, tl::unexpected(std::move(begun).error()));
      }
    });
  }
  ~CrossThreadWatch() override {
    over(far_, [number = number_](FarSide& side) { side.watches.erase(number); });
  }
  CrossThreadWatch(const CrossThreadWatch&) = delete;
  CrossThreadWatch& operator=(const CrossThreadWatch&) = delete;

 private:
  static void send(net::AsioLoop& home, std::weak_ptr<Receiver> to, Result<WatchEvent> event) {
    home.post_from_any_thread([to = std::move(to), event = std::move(event)] {
      if (const auto receiver = to.lock()) {
        receiver->on_event(event);
      }
    });
  }

  std::shared_ptr<FarSide> far_;
  std::uint64_t number_;
  std::shared_ptr<Receiver> receiver_;
};

class CrossThreadLease final : public StandingLease {
 public:
  CrossThreadLease(std::shared_ptr<FarSide> far, const LeaseSpec& lease)
      : far_(std::move(far)), number_(++far_->next) {
    over(far_, [number = number_, lease](FarSide& side) {
      side.leases.emplace(number, hold_standing_lease(side.registry, side.loop, lease));
    });
  }
  ~CrossThreadLease() override {
    over(far_, [number = number_](FarSide& side) { side.leases.erase(number); });
  }
  CrossThreadLease(const CrossThreadLease&) = delete;
  CrossThreadLease& operator=(const CrossThreadLease&) = delete;

 private:
  std::shared_ptr<FarSide> far_;
  std::uint64_t number_;
};

} // namespace

CrossThreadClient::CrossThreadClient(store::Registry& registry, net::AsioLoop& of_registry,
                                     net::AsioLoop& home)
    : far_(std::make_shared<FarSide>(
          FarSide{.registry = registry, .loop = of_registry, .home = home})) {}

// Handles may still hold the far side: what belongs to the registry's thread goes here and now.
CrossThreadClient::~CrossThreadClient() {
  far_->watches.clear();
  far_->leases.clear();
}

void CrossThreadClient::get(const GroupKind& kind, const api::Key& key, Done<api::Object> done) {
  request(far_, std::move(done), [kind, key](store::Registry& registry, TimePoint /*now*/) {
    return registry.get(kind, key);
  });
}

void CrossThreadClient::list(const ListOptions& what, Done<ObjectList> done) {
  request(far_, std::move(done), [what](store::Registry& registry, TimePoint /*now*/) {
    return Result<ObjectList>(registry.list(what));
  });
}

void CrossThreadClient::create(api::Object object, Done<api::Object> done) {
  request(far_, std::move(done),
          [object = std::move(object)](store::Registry& registry, TimePoint now) {
            return registry.create(object, now, judged(registry));
          });
}

void CrossThreadClient::update(api::Object object, Subresource subresource,
                               Done<api::Object> done) {
  request(far_, std::move(done),
          [object = std::move(object), subresource](store::Registry& registry, TimePoint now) {
            return registry.update(object, subresource, now, judged(registry));
          });
}

void CrossThreadClient::patch(const GroupKind& kind, const api::Key& key,
                              api::json::value merge_patch, Subresource subresource,
                              Done<api::Object> done) {
  request(far_, std::move(done),
          [kind, key, merge_patch = std::move(merge_patch), subresource](store::Registry& registry,
                                                                         TimePoint now) {
            return registry.patch(kind, key, merge_patch, subresource, now, judged(registry));
          });
}

void CrossThreadClient::remove(const GroupKind& kind, const api::Key& key,
                               const DeleteOptions& options, Done<api::Object> done) {
  request(far_, std::move(done), [kind, key, options](store::Registry& registry, TimePoint now) {
    return registry.remove(kind, key, options, now, judged(registry));
  });
}

void CrossThreadClient::bind(const Binding& binding, Done<api::Object> done) {
  request(far_, std::move(done), [binding](store::Registry& registry, TimePoint now) {
    return registry.bind(binding, now, judged(registry));
  });
}

std::unique_ptr<Watch> CrossThreadClient::watch(const WatchOptions& options,
                                                std::function<void(Result<WatchEvent>)> on_event) {
  return std::make_unique<CrossThreadWatch>(far_, options, std::move(on_event));
}

std::unique_ptr<StandingLease> CrossThreadClient::hold_lease(const LeaseSpec& lease) {
  return std::make_unique<CrossThreadLease>(far_, lease);
}

} // namespace berth::client
