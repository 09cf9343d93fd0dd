#include "berth/deviceplugin/wire/socket_file.h"

#include <filesystem>
#include <system_error>

#include <sys/stat.h>
#include <sys/un.h>

#include <fmt/format.h>

#include "berth/deviceplugin/wire/kubelet_paths.h"

namespace berth::deviceplugin {
namespace {

namespace fs = std::filesystem;

} // namespace

std::optional<SocketIdentity> socket_at(const std::string& path) {
  struct ::stat found {};
  if (::lstat(path.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode)) {
    return std::nullopt;
  }
  // The time of the last change of permissions would not do: they are set after the socket is made.
  constexpr std::int64_t kNanos = 1'000'000'000;
  return SocketIdentity{.device = found.st_dev,
                        .inode = found.st_ino,
                        .made_nanos = found.st_mtim.tv_sec * kNanos + found.st_mtim.tv_nsec};
}

Result<std::string> endpoint_path(const std::string& directory, std::string_view endpoint) {
  const auto refuse = [&](std::string_view why) {
    return fail(Code::Invalid, fmt::format("endpoint \"{}\" {}", endpoint, why));
  };
  if (endpoint.empty()) {
    return refuse("is no name of a socket");
  }
  if (endpoint.find('/') != std::string_view::npos || endpoint == "." || endpoint == ".." ||
      endpoint.find('\0') != std::string_view::npos) {
    return refuse("leaves the directory of the kubelet's plugins; want the base name of a socket");
  }
  if (endpoint == kKubeletSocketName) {
    return refuse("is the kubelet's own");
  }
  std::string path = directory + "/" + std::string(endpoint);
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return refuse("is too long for a socket there");
  }
  struct ::stat found {};
  if (::lstat(path.c_str(), &found) == 0 && !S_ISSOCK(found.st_mode)) {
    return refuse("is no socket");
  }
  return path;
}

Result<void> make_directory(const std::string& directory) {
  std::error_code error;
  if (fs::is_directory(directory, error)) {
    return {};
  }
  fs::create_directories(directory, error);
  if (!error) {
    fs::permissions(directory, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec,
                    error);
  }
  if (error) {
    return fail(Code::Unavailable,
                fmt::format("directory {}: cannot be made: {}", directory, error.message()));
  }
  return {};
}

Result<void> sweep_sockets(const std::string& directory) {
  std::error_code error;
  for (fs::directory_iterator each(directory, error), end; !error && each != end;
       each.increment(error)) {
    const fs::file_status status = each->symlink_status(error);
    if (!error && status.type() == fs::file_type::socket) {
      fs::remove(each->path(), error);
    }
    if (error) {
      return fail(Code::Unavailable, fmt::format("socket {}: cannot be deleted: {}",
                                                 each->path().string(), error.message()));
    }
  }
  if (error) {
    return fail(Code::Unavailable,
                fmt::format("directory {}: cannot be read: {}", directory, error.message()));
  }
  return {};
}

} // namespace berth::deviceplugin
