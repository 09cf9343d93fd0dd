#include "berth/node/volumes/folder_usage.h"

#include <fts.h>
#include <sys/stat.h>

#include <memory>
#include <set>
#include <utility>

#include "berth/node/volumes/files.h"

namespace berth::node {

Result<std::int64_t> folder_usage(const std::string& path) {
  constexpr std::int64_t kBlock = 512; // of st_blocks, whatever the file system's
  struct stat root {};
  if (::lstat(path.c_str(), &root) != 0) {
    return system_error("lstat", path);
  }
  std::string own = path;
  char* const paths[] = {own.data(), nullptr}; // NOLINT(modernize-avoid-c-arrays)
  const std::unique_ptr<FTS, decltype(&fts_close)> walk(
      fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, nullptr), &fts_close);
  if (!walk) {
    return system_error("fts_open", path);
  }
  std::int64_t bytes = 0;
  std::set<std::pair<dev_t, ino_t>> linked; ///< seen, of files with several names
  while (const FTSENT* entry = fts_read(walk.get())) {
    if (entry->fts_info == FTS_DP || entry->fts_info == FTS_NS || entry->fts_info == FTS_ERR ||
        entry->fts_info == FTS_DNR) {
      continue; // a folder on the way back, or one that is gone
    }
    const struct stat& found = *entry->fts_statp;
    const bool again = found.st_nlink > 1 && !S_ISDIR(found.st_mode) &&
                       !linked.emplace(found.st_dev, found.st_ino).second;
    bytes += again ? 0 : static_cast<std::int64_t>(found.st_blocks) * kBlock;
  }
  return bytes;
}

} // namespace berth::node
