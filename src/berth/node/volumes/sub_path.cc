#include "berth/node/volumes/sub_path.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include "berth/node/volumes/files.h"
#include "berth/node/volumes/mounts.h"

namespace berth::node {
namespace {

constexpr std::uint32_t kFolderMode = 0750;

tl::unexpected<Error> leaves(const SubPathOrder& order) {
  return fail(
      Code::Invalid,
      fmt::format("subPath leads out of its volume; name a path below it: {}", order.sub_path));
}

// Opens `path` below `root`, links and all, but never outside.
Descriptor open_beneath(int root, const std::string& path) {
  struct open_how how {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return Descriptor(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
}

// A folder has the mode of its volume, so that whoever may write there may write here.
Result<void> make_below(const Descriptor& at, const std::string& name, std::uint32_t mode,
                        const std::string& path) {
  if (::mkdirat(at.get(), name.c_str(), kFolderMode) != 0) {
    return errno == EEXIST ? Result<void>() : system_error("mkdir", path);
  }
  // Not by name: it may be another thing by now.
  const Descriptor made(
      ::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made.ok() || ::fchmod(made.get(), mode) != 0) {
    return system_error("chmod", path);
  }
  return {};
}

// Makes what is missing on the way, step by step, each below the one before.
Result<Descriptor> walk(int root, const SubPathOrder& order) {
  std::string way;
  struct stat volume {};
  if (::fstat(root, &volume) != 0) {
    return system_error("stat", order.volume);
  }
  const std::uint32_t mode = volume.st_mode & 07777;
  Descriptor at = open_beneath(root, ".");
  std::string_view rest(order.sub_path);
  while (!rest.empty()) {
    const std::string name(rest.substr(0, rest.find('/')));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name.empty() || name == ".") {
      continue;
    }
    if (name == "..") {
      return leaves(order);
    }
    way += (way.empty() ? "" : "/") + name;
    Descriptor next = open_beneath(root, way);
    if (!next.ok() && errno == ENOENT) {
      BERTH_CHECK(make_below(at, name, mode, fmt::format("{}/{}", order.volume, way)));
      next = open_beneath(root, way);
    }
    if (!next.ok()) {
      return errno == EXDEV ? leaves(order)
                            : system_error("open", fmt::format("{}/{}", order.volume, way));
    }
    at = std::move(next);
  }
  return at;
}

// A bind mount needs something of the same kind below it.
Result<void> make_target(const std::string& target, int of) {
  struct stat found {};
  if (::fstat(of, &found) != 0) {
    return system_error("stat", target);
  }
  if (S_ISDIR(found.st_mode)) {
    return make_folder(target, kFolderMode);
  }
  BERTH_CHECK(make_folder(target.substr(0, target.rfind('/')), kFolderMode));
  const Descriptor file(::open(target.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0640));
  return file.ok() ? Result<void>() : system_error("open", target);
}

Result<std::string> real_path(int fd) {
  std::error_code failure;
  const auto path = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd), failure);
  if (failure) {
    errno = failure.value();
    return system_error("readlink", "/proc/self/fd");
  }
  return path.string();
}

} // namespace

Result<std::string> set_up_sub_path(const SubPathOrder& order) {
  if (order.sub_path.starts_with('/')) {
    return leaves(order);
  }
  const Descriptor root(::open(order.volume.c_str(), O_PATH | O_CLOEXEC));
  if (!root.ok()) {
    return system_error("open", order.volume);
  }
  BERTH_TRY(const Descriptor end, walk(root.get(), order));
  // What an earlier attempt of the container was given may be another thing by now.
  BERTH_CHECK(unmount_below(order.target));
  BERTH_CHECK(remove_tree(order.target));
  BERTH_CHECK(make_target(order.target, end.get()));
  const auto mounted = bind_mount(end.get(), order.target);
  if (mounted) {
    return order.target;
  }
  if (mounted.error().code != Code::Forbidden) {
    return tl::unexpected(mounted.error());
  }
  return real_path(end.get());
}

} // namespace berth::node
