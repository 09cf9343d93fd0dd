#include "berth/node/volumes/empty_dir.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "berth/api/quantity.h"
#include "berth/node/volumes/files.h"
#include "berth/node/volumes/mounts.h"

namespace berth::node {
namespace {

constexpr std::string_view kHugePages = "HugePages";
constexpr std::uint32_t kMode = 0777;
constexpr std::uint32_t kGroupMode = 02770;

Result<void> give_to_group(const std::string& path, std::int64_t group) {
  if (::lchown(path.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(group)) != 0) {
    return system_error("lchown", path);
  }
  if (::chmod(path.c_str(), kMode | kGroupMode) != 0) {
    return system_error("chmod", path);
  }
  return {};
}

} // namespace

Result<EmptyDir> read_empty_dir(const api::json::value& source,
                                std::optional<std::int64_t> fs_group) {
  EmptyDir wanted{.group = fs_group};
  const std::string_view medium = api::string_at(source, "medium");
  if (medium == "Memory") {
    wanted.medium = EmptyDir::Medium::Memory;
  } else if (medium.starts_with(kHugePages) &&
             (medium.size() == kHugePages.size() || medium[kHugePages.size()] == '-')) {
    wanted.medium = EmptyDir::Medium::HugePages;
    wanted.page_size = medium.substr(std::min(kHugePages.size() + 1, medium.size()));
  } else if (!medium.empty()) {
    return fail(Code::Invalid, fmt::format("emptyDir medium is not supported on this node; try "
                                           "Memory, HugePages-SIZE, or none for "
                                           "the disk: {}",
                                           medium));
  }
  if (const std::string_view limit = api::string_at(source, "sizeLimit"); !limit.empty()) {
    BERTH_TRY(const api::Quantity size, api::Quantity::parse(limit));
    if (size.sign() > 0) {
      wanted.size_bytes = size.value();
    }
  }
  return wanted;
}

Result<SetUp> set_up_empty_dir(const std::string& path, const EmptyDir& wanted) {
  struct stat found {};
  const bool there = ::lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
  if (there && (wanted.medium == EmptyDir::Medium::Disk || is_mount_point(path))) {
    return SetUp();
  }
  BERTH_CHECK(make_folder(path, kMode));
  SetUp done;
  if (wanted.medium == EmptyDir::Medium::HugePages) {
    BERTH_CHECK(mount_hugepages(path, wanted.page_size));
  }
  if (wanted.medium == EmptyDir::Medium::Memory) {
    if (const auto mounted = mount_tmpfs(path, wanted.size_bytes); !mounted) {
      if (mounted.error().code != Code::Forbidden) {
        return tl::unexpected(mounted.error());
      }
      done.warning =
          fmt::format("emptyDir in memory lies on the disk, for this agent may not mount: "
                      "{}",
                      mounted.error().message);
    }
  }
  if (wanted.group) {
    BERTH_CHECK(give_to_group(path, *wanted.group));
  }
  return done;
}

} // namespace berth::node
