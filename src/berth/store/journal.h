// Where a store's objects outlive the process: one SQLite file, in WAL mode, with every commit
// synced to the disk. It holds what is there now, no history, and gives room back to the disk when
// objects have gone. SQLite stays inside this room's sources.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
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

/// Changes are gathered and become durable together: all of those since the last commit or none.
class Journal {
 public:
  /// Makes the file if it is not there. Errors say what to do: the folder cannot be written,
  /// another process has the file, it is no SQLite file or a damaged one, it was written by a newer
  /// Berth.
  static Result<std::unique_ptr<Journal>> open(const std::string& path);
  virtual ~Journal() = default;

  /// O(objects). An object that cannot be read is an error that names it.
  virtual Result<Journaled> load() = 0;
  virtual void put(const api::Object& object) = 0;
  virtual void erase(const GroupKind& kind, const api::Key& key, std::uint64_t revision) = 0;
  /// Error Unavailable: the disk is full or gone; nothing of the changes is in the file then, and
  /// they stay gathered.
  virtual Result<void> commit() = 0;
  /// Whether a write of ordinary size would succeed: room on the disk is taken and given back.
  virtual Result<void> try_room() = 0;
};

} // namespace berth::store
