#include "berth/node/volumes/host_path.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include "berth/node/volumes/files.h"

namespace berth::node {
namespace {

constexpr std::uint32_t kFolderMode = 0755;
constexpr std::uint32_t kFileMode = 0644;

struct Type {
  std::string_view name;
  mode_t kind;
  std::string_view called;
};

constexpr std::array<Type, 7> kTypes{{{"Directory", S_IFDIR, "directory"},
                                      {"DirectoryOrCreate", S_IFDIR, "directory"},
                                      {"File", S_IFREG, "file"},
                                      {"FileOrCreate", S_IFREG, "file"},
                                      {"Socket", S_IFSOCK, "socket file"},
                                      {"CharDevice", S_IFCHR, "character device"},
                                      {"BlockDevice", S_IFBLK, "block device"}}};

Result<void> make(const std::string& path, const Type& type) {
  if (type.kind == S_IFDIR) {
    return make_folder(path, kFolderMode);
  }
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode));
  // Somebody may have made it meanwhile, which is as good.
  return file.ok() || errno == EEXIST ? Result<void>() : system_error("open", path);
}

bool has_backsteps(std::string_view path) {
  return path == ".." || path.starts_with("../") || path.ends_with("/..") ||
         path.find("/../") != std::string_view::npos;
}

} // namespace

Result<void> check_host_path(const std::string& path, std::string_view type) {
  if (path.empty() || path.front() != '/' || has_backsteps(path)) {
    return fail(Code::Invalid,
                fmt::format("hostPath must be absolute and must not contain '..': {}", path));
  }
  if (type.empty()) {
    return {};
  }
  const auto known = std::ranges::find(kTypes, type, &Type::name);
  if (known == kTypes.end()) {
    return fail(Code::Invalid, fmt::format("{} is an invalid volume type", type));
  }
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) {
      return system_error("stat", path);
    }
    if (errno == ENOENT && type.ends_with("OrCreate")) {
      return make(path, *known);
    }
    found.st_mode = 0;
  }
  if ((found.st_mode & S_IFMT) != known->kind) {
    return fail(Code::Invalid,
                fmt::format("hostPath type check failed: {} is not a {}", path, known->called));
  }
  return {};
}

} // namespace berth::node
