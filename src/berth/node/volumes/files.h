// Files and folders of volumes on a real machine: a few system calls whose errors name the path.
// Nothing here follows a symbolic link at the last step of a path that it writes to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/base/result.h"

namespace berth::node {

/// A file descriptor that is closed when it goes.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// The error of the system call that failed last: "mkdir /a/b: no space left on device".
tl::unexpected<Error> system_error(std::string_view call, std::string_view path);

/// The folder and those above it; `mode` is exactly that of a folder that is made here, which those
/// above it get as 0755. An existing one is left as it is.
Result<void> make_folder(const std::string& path, std::uint32_t mode);
/// Replaces what is there.
Result<void> write_file(const std::string& path, std::string_view bytes, std::uint32_t mode);
/// The first `limit` bytes. Error NotFound if there is none.
Result<std::string> read_file(const std::string& path, std::size_t limit);
/// A file or a folder with all in it; it is no error if there is none. Follows no link, but goes
/// into what is mounted there: see unmount_below().
Result<void> remove_tree(const std::string& path);

} // namespace berth::node
