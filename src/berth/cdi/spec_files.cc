#include "berth/cdi/spec_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "berth/api/manifest.h"
#include "berth/api/yaml.h"
#include "berth/base/read_file.h"

namespace berth::cdi {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargest = std::size_t{16} << 20U;

/// The specs of one directory, by name. Folders in it hold none, as in the reference library.
Result<std::vector<std::string>> paths_in(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code failed;
  for (fs::directory_iterator it(directory, failed), end; !failed && it != end;
       it.increment(failed)) {
    const std::string extension = it->path().extension().string();
    std::error_code unknown;
    if ((extension == ".json" || extension == ".yaml") && !it->is_directory(unknown)) {
      paths.push_back(it->path().string());
    }
  }
  if (failed && failed != std::errc::no_such_file_or_directory) {
    return fail_at({.file = directory, .field = {}},
                   failed == std::errc::not_a_directory ? "not a directory" : failed.message());
  }
  std::ranges::sort(paths);
  return paths;
}

/// A pipe that somebody put among the specs would be waited for.
Result<void> check_is_no_pipe(const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (!failed && fs::exists(status) && !fs::is_regular_file(status)) {
    return fail_at({.file = path, .field = {}}, "not a regular file");
  }
  return {};
}

Result<void> put_file(const std::string& path, int priority, Registry& registry) {
  BERTH_CHECK(check_is_no_pipe(path));
  BERTH_TRY(Spec spec, read_spec_file(path));
  return registry.put(path, priority, std::move(spec));
}

} // namespace

Result<Spec> read_spec_file(const std::string& path) {
  BERTH_TRY(const std::string text, read_file(path, kLargest));
  return read_spec_text(text, path);
}

Result<Spec> read_spec_text(std::string_view text, const std::string& path) {
  BERTH_TRY(const std::vector<api::YamlDocument> documents, api::parse_yaml(text, path));
  if (documents.size() != 1) {
    return fail_at({.file = path, .line = 1, .column = 1, .field = {}},
                   fmt::format("want one CDI spec, this file has {}", documents.size()));
  }
  const api::json::value& document = documents.front().value;
  auto spec =
      path.ends_with(".json") ? parse_spec(document, path) : parse_yaml_spec(document, path);
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
    const auto paths = paths_in(directory);
    if (!paths) {
      out.broken.push_back(paths.error());
    }
    for (const std::string& path : paths.value_or(std::vector<std::string>())) {
      if (const auto put = put_file(path, priority, out.registry); !put) {
        out.broken.push_back(put.error());
      }
    }
    ++priority;
  }
  return out;
}

} // namespace berth::cdi
