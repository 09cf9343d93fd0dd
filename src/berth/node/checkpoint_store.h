// Where a checkpoint's bytes live: a file replaced atomically, or a simulated disk that survives
// agents and can fail.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "berth/base/result.h"

namespace berth::node {

/// After write() has succeeded, read() gives those bytes until the next success, whatever crashes
/// in between. A write that fails or is cut short leaves the previous bytes.
class CheckpointStore {
 public:
  virtual ~CheckpointStore() = default;

  /// nullopt if nothing was ever written.
  virtual Result<std::optional<std::string>> read() = 0;
  virtual Result<void> write(std::string_view bytes) = 0;
};

/// One file: temporary file in the same directory (name starts with "."), fsync, rename, fsync of
/// the directory.
class FileCheckpointStore final : public CheckpointStore {
 public:
  explicit FileCheckpointStore(std::string path);
  Result<std::optional<std::string>> read() override;
  Result<void> write(std::string_view bytes) override;

 private:
  std::string path_;
};

/// A disk in memory with the same steps as the file, any of which can be the last.
class MemoryCheckpointStore final : public CheckpointStore {
 public:
  Result<std::optional<std::string>> read() override;
  Result<void> write(std::string_view bytes) override;

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
  void corrupt(std::string bytes) { file_ = std::move(bytes); }
  const std::optional<std::string>& bytes() const { return file_; }

 private:
  std::optional<std::string> file_;
  std::optional<std::string> temporary_;
  std::optional<Crash> crash_;
  Space space_ = Space::Free;
};

} // namespace berth::node
