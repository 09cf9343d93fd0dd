// Where a checkpoint's bytes live: a file replaced atomically, or a simulated disk that survives
// agents and can fail.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "berth/base/result.h"

namespace berth::node {

/// After write() has succeeded, read() gives those bytes until the next success, whatever crashes
/// in between. A write that fails or is cut short leaves the previous bytes.
class CheckpointStore {
 public:
  /// The bytes to be written, equal whenever it is asked.
  using Contents = std::function<std::string()>;

  virtual ~CheckpointStore() = default;

  /// nullopt if nothing was ever written.
  virtual Result<std::optional<std::string>> read() = 0;
  /// A disk that is simulated asks for the contents when somebody reads them.
  virtual Result<void> write(Contents contents) = 0;
};

/// One file: temporary file in the same directory (name starts with "."), fsync, rename, fsync of
/// the directory.
class FileCheckpointStore final : public CheckpointStore {
 public:
  explicit FileCheckpointStore(std::string path);
  Result<std::optional<std::string>> read() override;
  Result<void> write(Contents contents) override;

 private:
  std::string path_;
};

/// A disk in memory with the same steps as the file, any of which can be the last.
class MemoryCheckpointStore final : public CheckpointStore {
 public:
  Result<std::optional<std::string>> read() override;
  Result<void> write(Contents contents) override;

  /// Where the power goes during the next write: after so many bytes of the temporary file, or
  /// later.
  enum class CrashAt { Byte, BeforeSync, BeforeRename, AfterRename };
  struct Crash {
    CrashAt at = CrashAt::Byte;
    std::size_t byte = 0;
  };
  /// The next write reports Unavailable and leaves what the disk would hold then.
  void crash_next_write(Crash crash) { crash_ = crash; }
  /// Every write fails, as on a full disk, until called with None.
  enum class Space { Full, Free };
  void set_space(Space space) { space_ = space; }
  /// Puts bytes on the disk as a bad medium would.
  void corrupt(std::string bytes) {
    file_ = [bytes = std::move(bytes)] { return bytes; };
  }
  std::optional<std::string> bytes() const { return file_ ? std::optional(file_()) : std::nullopt; }

 private:
  Contents file_; ///< none: nothing was ever written
  std::optional<std::string> temporary_;
  std::optional<Crash> crash_;
  Space space_ = Space::Free;
};

} // namespace berth::node
