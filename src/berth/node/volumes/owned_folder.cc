#include "berth/node/volumes/owned_folder.h"

#include <fmt/format.h>

#include "berth/node/volumes/files.h"

namespace berth::node {
namespace {

constexpr std::uint32_t kFolderMode = 0750;
constexpr std::uint32_t kMarkMode = 0644;
constexpr std::size_t kLongestName = 4096;

std::string mark_of(const std::string& folder) {
  return fmt::format("{}/.berth-agent", folder);
}

} // namespace

Result<void> make_owned_folder(const std::string& folder, const std::string& owner) {
  if (owns_folder(folder, owner)) {
    return {};
  }
  BERTH_CHECK(make_folder(folder, kFolderMode));
  return write_file(mark_of(folder), owner, kMarkMode);
}

bool owns_folder(const std::string& folder, const std::string& owner) {
  return read_file(mark_of(folder), kLongestName) == owner;
}

} // namespace berth::node
