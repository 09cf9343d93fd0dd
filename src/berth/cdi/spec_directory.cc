#include "berth/cdi/spec_directory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "berth/api/yaml.h"
#include "berth/cdi/spec.h"

namespace berth::cdi {
namespace {

namespace fs = std::filesystem;

bool is_spec_file(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".json" || extension == ".yaml" || extension == ".yml";
}

// JSON is YAML.
Result<Spec> read_spec(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) {
    return fail_at({.file = path.string()}, "cannot be read");
  }
  BERTH_TRY(const auto documents, api::parse_yaml(text, path.string()));
  if (documents.size() != 1) {
    return fail_at({.file = path.string()},
                   fmt::format("want one CDI spec, got {} documents", documents.size()));
  }
  return parse_spec(documents.front().value, path.string());
}

} // namespace

std::vector<SpecDirectory> standard_directories() {
  return {{"/etc/cdi", Registry::kStatic}, {"/var/run/cdi", Registry::kDynamic}};
}

SpecFiles read_directories(const std::vector<SpecDirectory>& directories) {
  SpecFiles read;
  for (const SpecDirectory& directory : directories) {
    std::error_code error;
    std::vector<fs::path> paths;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory.path, error)) {
      if (is_spec_file(entry.path())) {
        paths.push_back(entry.path());
      }
    }
    std::ranges::sort(paths);
    for (const fs::path& path : paths) {
      auto spec = read_spec(path);
      auto put = spec ? read.registry.put(path.string(), directory.priority, *std::move(spec))
                      : Result<void>(tl::unexpected(std::move(spec).error()));
      if (!put) {
        read.errors.push_back(std::move(put).error());
      }
    }
  }
  return read;
}

} // namespace berth::cdi
