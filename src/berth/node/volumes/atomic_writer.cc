#include "berth/node/volumes/atomic_writer.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "berth/node/volumes/files.h"

namespace berth::node {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kData = "..data";
constexpr std::string_view kNewData = "..data_tmp";
constexpr std::uint32_t kFolderMode = 0755;
constexpr std::uint32_t kGroupReads = 0440;
constexpr std::uint32_t kGroupEnters = 02550;
constexpr std::uint32_t kVolumeMode = 0777;

std::uint32_t file_mode(const PayloadFile& file, const WriteOrder& order) {
  return order.group ? file.mode | kGroupReads : file.mode;
}

// Where "..data" leads; "" if nowhere.
std::string current_folder(const std::string& folder) {
  std::error_code none;
  return fs::read_symlink(fmt::format("{}/{}", folder, kData), none).string();
}

// Exactly these files, with these modes, are there now.
bool holds(const std::string& folder, const WriteOrder& order) {
  std::error_code failure;
  std::size_t files = 0;
  for (auto it = fs::recursive_directory_iterator(folder, failure);
       !failure && it != fs::recursive_directory_iterator(); it.increment(failure)) {
    files += it->is_regular_file(failure) ? 1 : 0;
  }
  if (failure || files != order.files.size()) {
    return false;
  }
  return std::ranges::all_of(order.files, [&](const PayloadFile& file) {
    const std::string path = fmt::format("{}/{}", folder, file.path);
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0 || (found.st_mode & 07777) != file_mode(file, order)) {
      return false;
    }
    const auto bytes = read_file(path, file.bytes.size() + 1);
    return bytes && *bytes == file.bytes;
  });
}

Result<void> own(const std::string& path, const WriteOrder& order,
                 std::optional<std::int64_t> user = std::nullopt) {
  constexpr std::int64_t kSame = -1;
  if ((order.group || user) && ::lchown(path.c_str(), static_cast<uid_t>(user.value_or(kSame)),
                                        static_cast<gid_t>(order.group.value_or(kSame))) != 0) {
    return system_error("lchown", path);
  }
  return {};
}

Result<void> own_folder(const std::string& path, std::uint32_t mode, const WriteOrder& order) {
  BERTH_CHECK(own(path, order));
  // After the owner, whose change takes the group's bit away.
  if (order.group && ::chmod(path.c_str(), mode | kGroupEnters) != 0) {
    return system_error("chmod", path);
  }
  return {};
}

Result<void> write_one(const std::string& folder, const PayloadFile& file,
                       const WriteOrder& order) {
  const std::string path = fmt::format("{}/{}", folder, file.path);
  std::string made = folder;
  std::string_view above(file.path);
  for (std::size_t slash = above.find('/'); slash != std::string_view::npos;
       slash = above.find('/')) {
    made += fmt::format("/{}", above.substr(0, slash));
    above.remove_prefix(slash + 1);
    BERTH_CHECK(make_folder(made, kFolderMode));
    BERTH_CHECK(own_folder(made, kFolderMode, order));
  }
  BERTH_CHECK(write_file(path, file.bytes, file_mode(file, order)));
  return own(path, order, file.user);
}

Result<std::string> make_data_folder(const WriteOrder& order) {
  for (std::int64_t nanos = order.now.unix_nanos();; ++nanos) {
    std::string name = fmt::format("..{}", to_rfc3339(order.now));
    std::ranges::replace_if(
        name, [](char c) { return c == '-' || c == ':' || c == 'T'; }, '_');
    name.back() = '.'; // the zone's Z
    name += fmt::format("{:09}", nanos % 1'000'000'000);
    const std::string path = fmt::format("{}/{}", order.folder, name);
    std::error_code failure;
    if (fs::create_directory(path, failure)) {
      if (::chmod(path.c_str(), kFolderMode) != 0) {
        return system_error("chmod", path);
      }
      BERTH_CHECK(own_folder(path, kFolderMode, order));
      return name;
    }
    if (failure) {
      errno = failure.value();
      return system_error("mkdir", path);
    }
  }
}

std::set<std::string> top_names(const Payload& files) {
  std::set<std::string> names;
  for (const PayloadFile& file : files) {
    names.insert(file.path.substr(0, file.path.find('/')));
  }
  return names;
}

// What a container sees: a link for each name at the top.
Result<void> show(const WriteOrder& order) {
  const std::set<std::string> wanted = top_names(order.files);
  for (const std::string& name : wanted) {
    const std::string path = fmt::format("{}/{}", order.folder, name);
    if (::symlink(fmt::format("{}/{}", kData, name).c_str(), path.c_str()) != 0 &&
        errno != EEXIST) {
      return system_error("symlink", path);
    }
    BERTH_CHECK(own(path, order));
  }
  std::error_code failure;
  std::vector<std::string> stale;
  for (const fs::directory_entry& entry : fs::directory_iterator(order.folder, failure)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("..") && !wanted.contains(name)) {
      stale.push_back(entry.path().string());
    }
  }
  for (const std::string& path : stale) {
    BERTH_CHECK(remove_tree(path));
  }
  return {};
}

Result<void> turn(const WriteOrder& order, const std::string& name) {
  const std::string fresh = fmt::format("{}/{}", order.folder, kNewData);
  ::unlink(fresh.c_str()); // of a process that died between the two calls below
  if (::symlink(name.c_str(), fresh.c_str()) != 0) {
    return system_error("symlink", fresh);
  }
  BERTH_CHECK(own(fresh, order));
  const std::string data = fmt::format("{}/{}", order.folder, kData);
  if (::rename(fresh.c_str(), data.c_str()) != 0) {
    return system_error("rename", data);
  }
  return {};
}

// Data folders that nothing leads to: the old one, and those of writers that died.
void drop_others(const std::string& folder, const std::string& name) {
  std::error_code failure;
  std::vector<std::string> others;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failure)) {
    const std::string each = entry.path().filename().string();
    if (each.starts_with("..") && each != name && each != kData && each != kNewData) {
      others.push_back(entry.path().string());
    }
  }
  for (const std::string& path : others) {
    (void)remove_tree(path); // the next write tries again
  }
}

Result<void> fill(const WriteOrder& order, const std::string& name) {
  for (const PayloadFile& file : order.files) {
    BERTH_CHECK(write_one(fmt::format("{}/{}", order.folder, name), file, order));
  }
  return turn(order, name);
}

} // namespace

Result<Written> write_atomically(const WriteOrder& order) {
  for (const PayloadFile& file : order.files) {
    BERTH_CHECK(check_payload_path(file.path));
  }
  BERTH_CHECK(make_folder(order.folder, kVolumeMode));
  BERTH_CHECK(own_folder(order.folder, kVolumeMode, order));
  const std::string before = current_folder(order.folder);
  if (!before.empty() && holds(fmt::format("{}/{}", order.folder, before), order)) {
    BERTH_CHECK(show(order));
    return Written::Unchanged;
  }
  BERTH_TRY(const std::string name, make_data_folder(order));
  if (auto filled = fill(order, name); !filled) {
    (void)remove_tree(fmt::format("{}/{}", order.folder, name)); // a full disk needs the room
    return tl::unexpected(filled.error());
  }
  BERTH_CHECK(show(order));
  drop_others(order.folder, name);
  return Written::Changed;
}

} // namespace berth::node
