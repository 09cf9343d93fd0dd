// Where a store's objects outlive the process: one SQLite file, in WAL mode, with every commit
// synced to the disk. It holds what is there now, no history, and gives room back to the disk when
// objects have gone. SQLite stays inside this room's sources.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/api/object.h"
#include "berth/base/result.h"
#include "berth/store/request.h"

namespace berth::store {

/// What the file held when it was opened.
struct Journaled {
  std::vector<api::Object> objects;
  /// Where to go on: no lower than any number that somebody may have seen, removals and writes that
  /// were lost included; 0: the file is new.
  std::uint64_t revision = 0;
};

/// Changes that become durable together: of every object the last one.
class Batch {
 public:
  /// What has become of an object. An empty `now`: it is gone; an empty `before`: the file has
  /// none.
  struct Entry {
    api::Object before;
    api::Object now;
  };
  using Entries = std::map<std::pair<GroupKind, api::Key>, Entry>;

  void put(const api::Object& now, api::Object before);
  /// `last` has the removal's revision.
  void erase(const api::Object& last, api::Object before);
  /// Changes that come before those of this batch, which stand where both have one.
  void add_older(const Batch& older);

  bool empty() const { return entries_.empty(); }
  const Entries& entries() const { return entries_; }
  /// Of the last change; 0: none.
  std::uint64_t revision() const { return revision_; }

 private:
  Entry& entry_of(const api::Object& object, api::Object before);

  Entries entries_;
  std::uint64_t revision_ = 0;
};

/// One call at a time, from any thread.
class Journal {
 public:
  /// Makes the file if it is not there. Errors say what to do: the folder cannot be written,
  /// another process has the file, it is no SQLite file or a damaged one, it was written by a newer
  /// Berth.
  static Result<std::unique_ptr<Journal>> open(const std::string& path);
  virtual ~Journal() = default;

  /// O(objects). An object that cannot be read is an error that names it.
  virtual Result<Journaled> load() = 0;
  /// All of it or nothing, and synced to the disk. Error Unavailable: the disk is full or gone.
  virtual Result<void> write(const Batch& batch) = 0;
  /// Whether a write of ordinary size would succeed: room on the disk is taken and given back.
  virtual Result<void> try_room() = 0;
};

} // namespace berth::store
