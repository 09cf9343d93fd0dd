#include "berth/node/volumes/mounts.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <sys/mount.h>

#include <fmt/format.h>

#include "berth/node/volumes/files.h"

namespace berth::node {
namespace {

// mountinfo writes blanks, tabs, line ends and backslashes of paths as \ooo.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool octal =
        text[i] == '\\' && i + 3 < text.size() &&
        std::ranges::all_of(text.substr(i + 1, 3), [](char c) { return c >= '0' && c <= '7'; });
    if (!octal) {
      out += text[i];
      continue;
    }
    out +=
        static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return out;
}

// The fifth of the blank-separated fields of a line.
std::string_view mount_point_of(std::string_view line) {
  for (int field = 0; field < 4; ++field) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) {
      return {};
    }
    line.remove_prefix(blank + 1);
  }
  return line.substr(0, line.find(' '));
}

std::string own_mountinfo() {
  std::ifstream file("/proc/self/mountinfo");
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

Result<void> mount_hugepages(const std::string& path, std::string_view page_size) {
  if (page_size.ends_with('i')) {
    page_size.remove_suffix(1); // the kernel's "2M"
  }
  const std::string options = fmt::format("pagesize={}", page_size);
  if (::mount("nodev", path.c_str(), "hugetlbfs", 0, options.c_str()) != 0) {
    return system_error("mount hugetlbfs of " + options + " at", path);
  }
  return {};
}

Result<void> mount_tmpfs(const std::string& path, std::optional<std::int64_t> size_bytes) {
  const std::string options =
      size_bytes ? fmt::format("size={},mode=0777", *size_bytes) : std::string("mode=0777");
  if (::mount("tmpfs", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    return system_error("mount tmpfs at", path);
  }
  return {};
}

Result<void> bind_mount(int fd, const std::string& target) {
  const std::string source = fmt::format("/proc/self/fd/{}", fd);
  if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    return system_error("bind mount at", target);
  }
  return {};
}

std::vector<std::string> mount_points_below(std::string_view mountinfo, std::string_view folder) {
  std::vector<std::string> points;
  while (!mountinfo.empty()) {
    const std::string_view line = mountinfo.substr(0, mountinfo.find('\n'));
    mountinfo.remove_prefix(std::min(mountinfo.size(), line.size() + 1));
    std::string point = unescape(mount_point_of(line));
    const bool below =
        point.starts_with(folder) && (point.size() == folder.size() || point[folder.size()] == '/');
    if (below && !folder.empty()) {
      points.push_back(std::move(point));
    }
  }
  // What is mounted last, or deeper, goes first.
  std::ranges::reverse(points);
  std::ranges::stable_sort(points, std::greater<>(), &std::string::size);
  return points;
}

bool is_mount_point(const std::string& path) {
  const auto points = mount_points_below(own_mountinfo(), path);
  return std::ranges::find(points, path) != points.end();
}

Result<void> unmount_below(const std::string& folder) {
  for (const std::string& point : mount_points_below(own_mountinfo(), folder)) {
    if (::umount2(point.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0) {
      return system_error("unmount", point);
    }
  }
  return {};
}

} // namespace berth::node
