// One process writes a database; others may read it meanwhile.
#pragma once

#include <string>

#include "berth/base/result.h"

namespace berth::store {

/// Held by a file beside the database for as long as this lives, and given back by the system when
/// the process ends, however it does.
class WriterLock {
 public:
  /// Error Unavailable: another process writes there, or this user may not.
  static Result<WriterLock> take(const std::string& database);
  WriterLock(WriterLock&& other) noexcept;
  WriterLock& operator=(WriterLock&& other) noexcept;
  ~WriterLock();

 private:
  explicit WriterLock(int file) : file_(file) {}
  int file_ = -1;
};

} // namespace berth::store
