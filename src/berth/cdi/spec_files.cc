#include "berth/cdi/spec_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "berth/api/manifest.h"
#include "berth/api/yaml.h"

namespace berth::cdi {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargest = 16 << 20;

Result<std::string> text_of(const std::string& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) {
    return fail_at({.file = path, .field = {}}, "no such file");
  }
  if (fs::file_size(path, failed) > kLargest) {
    return fail_at({.file = path, .field = {}}, "larger than a CDI spec can be (16 MiB)");
  }
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) {
    return fail_at({.file = path, .field = {}}, "cannot be read");
  }
  return text.str();
}

} // namespace

Result<Spec> read_spec_file(const std::string& path) {
  BERTH_TRY(const std::string text, text_of(path));
  BERTH_TRY(const std::vector<api::YamlDocument> documents, api::parse_yaml(text, path));
  if (documents.size() != 1) {
    return fail_at({.file = path, .line = 1, .column = 1, .field = {}},
                   fmt::format("want one CDI spec, this file has {}", documents.size()));
  }
  auto spec = parse_spec(documents.front().value, path);
  if (!spec) {
    Error error = std::move(spec).error();
    Where where = error.where.value_or(Where());
    const api::Position at = documents.front().positions.find(api::pointer_of(where.field));
    where.file = path;
    where.line = at.line;
    where.column = at.column;
    error.where = std::move(where);
    return tl::unexpected(std::move(error));
  }
  return spec;
}

SpecDirectories read_spec_directories(std::span<const std::string> directories) {
  SpecDirectories out;
  int priority = 0;
  for (const std::string& directory : directories) {
    std::vector<std::string> paths;
    std::error_code failed;
    for (fs::directory_iterator it(directory, failed), end; !failed && it != end;
         it.increment(failed)) {
      const std::string extension = it->path().extension().string();
      if (extension == ".json" || extension == ".yaml") {
        paths.push_back(it->path().string());
      }
    }
    std::ranges::sort(paths);
    for (const std::string& path : paths) {
      auto spec = read_spec_file(path);
      const auto put = spec ? out.registry.put(path, priority, *std::move(spec))
                            : Result<void>(tl::unexpected(std::move(spec).error()));
      if (!put) {
        out.broken.push_back(put.error());
      }
    }
    ++priority;
  }
  return out;
}

} // namespace berth::cdi
