// Every change below a prefix, in order, for as long as it is held: a watch on one member of etcd
// that goes on at another when its own falls silent. Runs on the process's loop and blocks nobody.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berth/etcd/messages.h"
#include "berth/net/http_client.h"

namespace berth::etcd {

class Feed {
 public:
  struct Options {
    std::string prefix;
    Duration first_wait = Duration::millis(100); ///< before it connects anew; doubled each time
    Duration longest_wait = Duration::seconds(2);
    Duration look = Duration::seconds(5);   ///< how often its member is asked whether it is well
    Duration answer = Duration::seconds(3); ///< and how long that may take
    std::shared_ptr<const net::TlsContext> tls;
  };
  struct Events {
    /// The revision up to which everything is known; the feed goes on after it.
    std::function<std::uint64_t()> known;
    std::function<void(const std::vector<Event>&)> changed;
    /// History from known() on is gone in etcd: what is there is to be read anew.
    std::function<void()> too_old;
    /// etcd's revision is below known(): it holds other data than it did.
    std::function<void(std::uint64_t)> went_back;
  };

  /// Begins at once. The loop must outlive it.
  Feed(net::AsioLoop& loop, std::vector<net::HttpUrl> members, Options options, Events events);
  ~Feed();
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::etcd
