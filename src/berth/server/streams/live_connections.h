// The connections that have left HTTP: what speaks with containers. Keeps them while they last, and
// ends them all when the server stops.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <utility>

namespace berth::server {

class LiveConnection {
 public:
  virtual ~LiveConnection() = default;
  /// Ends it, at once, and what it has under way.
  virtual void cut() = 0;
};

/// Belongs to one loop. Destroying it ends what lives.
class LiveConnections {
 public:
  LiveConnections() = default;
  ~LiveConnections() { cut_all(); }
  LiveConnections(const LiveConnections&) = delete;
  LiveConnections& operator=(const LiveConnections&) = delete;

  void add(std::shared_ptr<LiveConnection> connection) { live_.insert(std::move(connection)); }
  /// By the connection itself, once it has ended. Harmless if it is not there.
  void remove(const std::shared_ptr<LiveConnection>& connection) { live_.erase(connection); }
  std::size_t count() const { return live_.size(); }
  void cut_all() {
    const auto all = std::exchange(live_, {});
    for (const auto& connection : all) {
      connection->cut();
    }
  }

 private:
  std::set<std::shared_ptr<LiveConnection>> live_;
};

} // namespace berth::server
