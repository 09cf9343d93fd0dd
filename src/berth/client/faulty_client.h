// A client with a bad line to its server, by seed: what whole-cluster tests put between a component
// and the API.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/base/rng.h"
#include "berth/client/client.h"

namespace berth::client {

/// Chances are in thousandths, per request or per event. All zero: a perfect line.
struct Faults {
  Duration longest_delay;            ///< answers and events arrive up to this much late
  unsigned conflict_permille = 0;    ///< a write is refused as outdated and not made
  unsigned lost_permille = 0;        ///< a write times out and was not made
  unsigned unanswered_permille = 0;  ///< a write times out but was made
  unsigned failed_read_permille = 0; ///< a get or list is Unavailable
  unsigned duplicate_permille = 0;   ///< an event arrives twice
  unsigned reorder_permille =
      0; ///< an event may overtake or be overtaken, those of its own object too
  unsigned lose_permille = 0;   ///< an event never arrives; its watch expires soon after
  unsigned expire_permille = 0; ///< a watch ends as Expired
};

/// Requests reach the inner client in the order in which they are made; only answers and events
/// suffer. The inner client and the loop must outlive this, and this the handles it gave. Equal
/// seeds give equal faults.
class FaultyClient final : public Client {
 public:
  FaultyClient(Client& inner, Loop& loop, Rng rng, Faults faults);
  ~FaultyClient() override;
  FaultyClient(const FaultyClient&) = delete;
  FaultyClient& operator=(const FaultyClient&) = delete;

  void set_faults(const Faults& faults);
  /// Until reconnect(): watches end and requests fail as Unavailable, answers on their way turn
  /// into Timeout, standing leases lapse.
  void disconnect();
  /// Takes lapsed leases again.
  void reconnect();
  bool connected() const;

  void get(const GroupKind& kind, const api::Key& key, Done<api::Object> done) override;
  void list(const ListOptions& what, Done<ObjectList> done) override;
  void create(api::Object object, Done<api::Object> done) override;
  void update(api::Object object, Subresource subresource, Done<api::Object> done) override;
  void patch(const GroupKind& kind, const api::Key& key, api::json::value merge_patch,
             Subresource subresource, Done<api::Object> done) override;
  void remove(const GroupKind& kind, const api::Key& key, const DeleteOptions& options,
              Done<api::Object> done) override;
  void bind(const Binding& binding, Done<api::Object> done) override;
  std::unique_ptr<Watch> watch(const WatchOptions& options,
                               std::function<void(Result<WatchEvent>)> on_event) override;
  std::unique_ptr<StandingLease> hold_lease(const LeaseSpec& lease) override;

  /// The line itself: shared by requests, watches and leases.
  struct Line;

 private:
  std::shared_ptr<Line> line_;
};

} // namespace berth::client
