// Where a lasting cluster lives: $BERTH_HOME, else ~/.berth.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "berth/base/result.h"
#include "berth/cli/terminal.h"

namespace berth::cli {

struct Home {
  std::filesystem::path folder;

  std::filesystem::path data() const { return folder / "data"; }
  std::filesystem::path database() const { return data() / "berth.db"; }
  /// The nodes that the cluster was made with, PLATFORM:COUNT a line.
  std::filesystem::path nodes() const { return data() / "nodes"; }
  std::filesystem::path pki() const { return folder / "pki"; }
  std::filesystem::path kubeconfig() const { return folder / "kubeconfig"; }
  std::filesystem::path log() const { return folder / "berth.log"; }
  /// The process and where it answers; locked for as long as it lives.
  std::filesystem::path lock() const { return folder / "berth.pid"; }
};

/// Error: neither variable is set.
Result<Home> home_of(const Environment& env);

/// Makes the folders, readable by their owner alone. Error: the folder cannot be written.
Result<void> make_folders(const Home& home);
Result<void> make_private_folder(const std::filesystem::path& folder);
/// Replaces a file by a new one with this text, readable by its owner alone, in one step.
Result<void> write_private(const std::filesystem::path& path, const std::string& text);

/// A file of pki(); "" where there is none. Error: it is there and cannot be read.
Result<std::string> read_key_file(const Home& home, const std::string& name);

/// The process that serves a home.
struct Running {
  int pid = 0;
  std::string url;
};
/// None: nobody does.
std::optional<Running> running_at(const Home& home);

/// Holds a home's lock; the file says who does.
class HomeLock {
 public:
  /// Error Conflict: another process serves this home.
  static Result<HomeLock> take(const Home& home);
  HomeLock(HomeLock&& other) noexcept;
  HomeLock& operator=(HomeLock&& other) noexcept;
  ~HomeLock();

  Result<void> tell(const Running& running);

 private:
  explicit HomeLock(int file) : file_(file) {}
  int file_ = -1;
};

} // namespace berth::cli
