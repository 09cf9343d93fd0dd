// Writes the revisions of one kind's sets: makes one for a new template, renumbers one for a
// template that has come back, deletes those beyond the history.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/loop.h"
#include "berth/client/client.h"
#include "berth/client/work_queue.h"

namespace berth::controllers {

class RevisionKeeper {
 public:
  struct Spec {
    std::string_view owner_kind;
    std::string_view hash_label;
    std::function<void(const api::Key& owner)> changed; ///< a revision of this owner has
    std::function<void()> synced;
  };
  /// Nothing is watched before start().
  RevisionKeeper(client::Client& client, Loop& loop, Spec spec);
  ~RevisionKeeper();
  RevisionKeeper(const RevisionKeeper&) = delete;
  RevisionKeeper& operator=(const RevisionKeeper&) = delete;

  void start();
  bool synced() const;
  /// Of the set, oldest first.
  std::vector<api::Object> of(const api::Object& set) const;

  struct Current {
    api::Object revision;
    std::int64_t collisions = 0; ///< for the set's status
  };
  /// The revision of the set's present template, which then has the highest number. None: a write
  /// failed; ask again later.
  void ensure(const api::Object& set, std::function<void(std::optional<Current>)> then);
  /// Deletes revisions beyond spec.revisionHistoryLimit; `live` names those in use.
  void trim(const api::Object& set, const std::vector<std::string>& live,
            std::function<void(client::Outcome)> then);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
