// A controller's picture of one kind: what its informer shows, and what the controller itself has
// written since. A reconciler that reads this never acts twice on its own stale reads: a pod it has
// created or deleted is (not) there at once, however late the watch is. (Kubernetes' controllers
// reach the same with expectations.)
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/loop.h"
#include "berth/client/client.h"
#include "berth/client/work_queue.h"

namespace berth::controllers {

/// Of each object the newest version known is held, by resourceVersion. Lookups are O(log n).
class FreshView {
 public:
  /// The names under which `keyed` finds an object.
  using IndexOf = std::function<std::vector<std::string>(const api::Object&)>;
  /// As Informer::OnChange; own writes show here too.
  using OnChange = std::function<void(const api::Object& old, const api::Object& now)>;

  enum class Start {
    AtOnce,
    WhenAsked ///< with start(): nothing is listed or watched for a controller without work
  };
  struct Spec {
    client::ListOptions what;
    IndexOf index_of;   ///< may be empty
    OnChange on_change; ///< may be empty
    Start start = Start::AtOnce;
  };

  /// The client and the loop must outlive the view.
  FreshView(client::Client& client, Loop& loop, Spec spec);
  ~FreshView();
  FreshView(const FreshView&) = delete;
  FreshView& operator=(const FreshView&) = delete;

  /// Begins to list, unless it has begun.
  void start();
  bool synced() const;
  /// Runs once, when (or if) synced.
  void on_sync(Task task);
  /// nullptr if not held.
  const api::Object* find(const api::Key& key) const;
  const std::map<api::Key, api::Object>& all() const;
  /// In order; empty if nothing has this name.
  const std::set<api::Key>& keyed(std::string_view name) const;

  /// Writes the status of `wanted`, a changed copy of `held`, unless it changes nothing. `done`:
  /// Done once stored or when the object is gone, Retry after a failure; not called once the view
  /// is gone.
  void store_status(const api::Object& held, const api::Object& wanted,
                    std::function<void(client::Outcome)> done);
  /// An answer to a write (or a live read) of ours. An object whose deletion is complete counts as
  /// gone.
  void wrote(const api::Object& now);
  /// The answer to a deletion of ours.
  void removed(const api::Object& left);
  /// A write or read of ours found that this incarnation does not exist any more.
  void gone(const api::Key& key, const std::string& uid);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
