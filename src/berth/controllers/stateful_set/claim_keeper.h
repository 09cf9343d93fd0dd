// Makes the PersistentVolumeClaims of StatefulSets' replicas and keeps them with whom they go.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berth/base/loop.h"
#include "berth/client/client.h"
#include "berth/client/events.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/stateful_set/claim_owners.h"

namespace berth::controllers {

class ClaimKeeper {
 public:
  struct Spec {
    std::function<void(const std::string& ns)> changed; ///< a claim of this namespace went
    std::function<void()> synced;
  };
  /// Nothing is watched before start(). The recorder must outlive it.
  ClaimKeeper(client::Client& client, Loop& loop, client::EventRecorder& recorder, Spec spec);
  ~ClaimKeeper();
  ClaimKeeper(const ClaimKeeper&) = delete;
  ClaimKeeper& operator=(const ClaimKeeper&) = delete;

  void start();
  bool synced() const;

  /// Whether one of the replica's claims goes with an earlier pod: no new pod before it is gone.
  bool waits(const api::Object& set, std::int64_t ordinal) const;
  /// Creates the claims that the replica lacks; Retry if one cannot be had now.
  void ensure(const api::Object& set, std::int64_t ordinal,
              std::function<void(client::Outcome)> then);
  struct Replica {
    std::int64_t ordinal = 0;
    api::Object pod;
    bool condemned = false;
  };
  /// Corrects the owners of the replicas' claims.
  void settle_owners(const api::Object& set, const std::vector<Replica>& replicas,
                     std::function<void(client::Outcome)> then);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
