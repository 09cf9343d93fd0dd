// How many requests run at once, and which next: so that a flood of lists starves neither
// heartbeats nor other users. Source: Kubernetes' API priority and fairness
// (flowcontrol.apiserver.k8s.io), with a fixed set of levels and start-time fair queueing.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "berth/base/time.h"
#include "berth/server/request_info.h"
#include "berth/server/status.h"
#include "berth/server/user.h"

namespace berth::server {

/// Each level has seats of its own: none can take those of another.
enum class Level {
  Exempt, ///< health probes: always at once
  System, ///< nodes' heartbeats and statuses, leases of the system's components
  Writing,
  Reading
};
inline constexpr std::size_t kLevels = 4;

Level level_of(const User& user, const RequestInfo& info);
/// What a request takes of its level: a list one seat for each 100 objects that it may have to go
/// through, at most 10; all else 1.
int seats_of(const RequestInfo& info, std::size_t objects);

/// No clock, no callbacks: the caller tells time and runs what it is told to. A step is O(log) in
/// the flows and requests that are known; one that leaves its queue costs O(waiting of its flow).
class FlowControl {
 public:
  struct Limits {
    int seats = 1;
    std::size_t waiting = 0;         ///< at most this many wait
    std::size_t waiting_of_flow = 0; ///< and this many of one flow
  };
  struct Options {
    Limits system{.seats = 100, .waiting = 1000, .waiting_of_flow = 100};
    Limits writing{.seats = 200, .waiting = 400, .waiting_of_flow = 100};
    Limits reading{.seats = 400, .waiting = 400, .waiting_of_flow = 100};
    Duration patience = Duration::seconds(15); ///< longest wait
  };
  explicit FlowControl(Options options);

  struct Request {
    Level level = Level::Reading;
    std::string flow; ///< requests of one flow wait for each other first: the user's name
    int seats = 1;    ///< more than the level has counts as all of them
  };
  using Id = std::uint64_t;
  enum class Verdict { Run, Wait, Refuse };
  struct Ticket {
    Verdict verdict = Verdict::Refuse;
    Id id = 0; ///< 0 of refused ones, which are forgotten
  };
  Ticket offer(const Request& request, TimePoint now);

  /// A request is done, or a waiting one has gone. Returns those that run now. Unknown ids are
  /// harmless.
  std::vector<Id> finished(Id id);

  struct Expired {
    std::vector<Id> refused; ///< waited too long, and are forgotten
    std::vector<Id> running; ///< run now instead
  };
  Expired expire(TimePoint now);
  /// When expire() has something to do next.
  std::optional<TimePoint> next_expiry() const;

  int seats_in_use(Level level) const { return at(level).in_use; }
  std::size_t waiting(Level level) const { return at(level).waiting; }

 private:
  struct Flow {
    std::deque<Id> waiting;
    std::int64_t start = 0; ///< virtual time at which its next request may begin
    std::size_t running = 0;
  };
  struct Shelf {
    Limits limits;
    int in_use = 0;
    std::size_t waiting = 0;
    std::int64_t time = 0; ///< virtual: the start of what began last
    std::map<std::string, Flow> flows;
    std::set<std::pair<std::int64_t, std::string>> ready; ///< flows that wait, by start
  };
  struct Known {
    Level level = Level::Reading;
    std::string flow;
    int seats = 1;
    bool running = false;
  };

  Shelf& at(Level level) { return shelves_[static_cast<std::size_t>(level)]; }
  const Shelf& at(Level level) const { return shelves_[static_cast<std::size_t>(level)]; }
  static void begin(Shelf& shelf, Flow& flow, Known& known);
  void leave(Id id);
  void dispatch(Shelf& shelf, std::vector<Id>& running);

  Duration patience_;
  std::array<Shelf, kLevels> shelves_;
  std::unordered_map<Id, Known> known_;
  std::map<Id, TimePoint> deadlines_; ///< of those that wait, in order of arrival
  Id last_ = 0;
};

/// 429 with Retry-After.
Status too_many_requests();

} // namespace berth::server
