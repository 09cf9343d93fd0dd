// A whole cluster's data in one file, to be kept elsewhere and brought back: a copy of the journal
// as of one commit, the files that belong to it, and a SHA-256 over all of it, as etcdctl snapshot
// has it. The revision moves on when it is brought back (etcd's --bump-revision), so that nobody
// takes what comes for what they saw.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "berth/base/result.h"

namespace berth::store {

/// How far the revision moves on: more than a cluster writes between a snapshot and its use.
inline constexpr std::uint64_t kRevisionBump = 1'000'000'000;

struct Snapshot {
  std::size_t objects = 0;
  std::uint64_t revision = 0;               ///< of the last write in it
  std::map<std::string, std::string> files; ///< by name; small ones, e.g. which nodes there are
};

/// Copies the database while another process may be writing to it; what that has answered is in
/// the copy. O(bytes). `files` go into it. Errors: AlreadyExists (`to` is there), NotFound (no
/// database), Unavailable: reading or writing failed, and nothing is left at `to`.
Result<Snapshot> save_snapshot(const std::string& database,
                               const std::map<std::string, std::string>& files,
                               const std::string& to);

/// Puts a snapshot where a database belongs, in place of one that may be there: whole, or not at
/// all. Errors: NotFound; Invalid: no snapshot, or damaged; Unavailable: a process uses the
/// database, or it cannot be written.
Result<Snapshot> restore_snapshot(const std::string& from, const std::string& database);

} // namespace berth::store
