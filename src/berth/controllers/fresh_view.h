// A controller's picture of one kind: what its informer shows, and what the controller itself has
// written since. A reconciler that reads this never acts twice on its own stale reads: a pod it has
// created or deleted is (not) there at once, however late the watch is. (Kubernetes' controllers
// reach the same with expectations.)
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/loop.h"
#include "berth/client/client.h"
#include "berth/client/work_queue.h"

namespace berth::controllers {

/// Of each object the newest version known is shown, by resourceVersion. Lookups are O(log n).
class FreshView {
 public:
  class Objects;
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
  /// In the order of their keys; for as long as nothing changes.
  Objects all() const;
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

/// What an informer holds, with what lies over it: own writes instead of what they changed, and
/// without the objects that are known to be gone.
class FreshView::Objects {
  using Held = std::map<api::Key, api::Object>;
  using Gone = std::map<api::Key, std::string>;

 public:
  class Iterator {
   public:
    explicit Iterator(const Objects& of)
        : of_(&of), shown_(of.shown_->begin()), own_(of.own_->begin()) {
      skip_gone();
    }

    using difference_type = std::ptrdiff_t;
    using value_type = std::pair<const api::Key&, const api::Object&>;

    value_type operator*() const { return {at()->first, at()->second}; }
    Iterator& operator++();
    bool operator==(std::default_sentinel_t /*end*/) const {
      return shown_ == of_->shown_->end() && own_ == of_->own_->end();
    }

   private:
    bool own_is_next() const {
      return own_ != of_->own_->end() &&
             (shown_ == of_->shown_->end() || own_->first <= shown_->first);
    }
    Held::const_iterator at() const { return own_is_next() ? own_ : shown_; }
    void skip_gone();

    const Objects* of_;
    Held::const_iterator shown_;
    Held::const_iterator own_;
  };

  /// All three must outlive this.
  Objects(const Held& shown, const Held& own, const Gone& gone)
      : shown_(&shown), own_(&own), gone_(&gone) {}

  Iterator begin() const { return Iterator(*this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  const Held* shown_;
  const Held* own_;
  const Gone* gone_; ///< their uids
};

} // namespace berth::controllers
