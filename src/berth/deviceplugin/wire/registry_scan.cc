#include "berth/deviceplugin/wire/registry_scan.h"

#include <filesystem>
#include <system_error>

namespace berth::deviceplugin {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 8;
constexpr std::size_t kMost = 1000;

void scan(const fs::path& folder, int depth, RegistryScan& found) {
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    const std::string path = each->path().string();
    if (each->path().filename().string().starts_with('.')) {
      continue;
    }
    std::error_code unknown;
    const fs::file_type type = each->symlink_status(unknown).type();
    if (type == fs::file_type::directory && depth < kDeepest && found.folders.size() < kMost) {
      found.folders.insert(path);
      scan(each->path(), depth + 1, found);
    } else if (type == fs::file_type::socket && found.sockets.size() < kMost) {
      if (const auto identity = socket_at(path)) {
        found.sockets.emplace(path, *identity);
      }
    }
  }
}

} // namespace

RegistryScan scan_registry(const std::string& directory) {
  RegistryScan found;
  scan(directory, 0, found);
  return found;
}

} // namespace berth::deviceplugin
