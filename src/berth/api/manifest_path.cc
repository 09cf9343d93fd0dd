#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include "berth/api/manifest.h"

namespace berth::api {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = 64UL << 20U;

tl::unexpected<Error> too_large(const std::string& name) {
  return fail_at({.file = name}, fmt::format("larger than the {} MiB a manifest may have; split it",
                                             kMaxFileBytes >> 20U));
}

Result<std::string> read_all(std::istream& in, const std::string& name) {
  std::string text;
  std::string chunk(1UL << 16U, '\0');
  while (in.read(chunk.data(), static_cast<std::streamsize>(chunk.size())), in.gcount() > 0) {
    text.append(chunk, 0, static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMaxFileBytes) {
      return too_large(name);
    }
  }
  if (in.bad()) {
    return fail(Code::NotFound, fmt::format("cannot read: {}", name));
  }
  return text;
}

bool is_manifest_name(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

Result<std::vector<Manifest>> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return fail(Code::NotFound, fmt::format("cannot open file, is it readable? {}", path));
  }
  std::error_code ec;
  if (const auto size = fs::file_size(path, ec); !ec && size > kMaxFileBytes) {
    return too_large(path);
  }
  BERTH_TRY(std::string text, read_all(in, path));
  auto manifests = read_manifests(text, path);
  // What fails in a README or a table is not its YAML.
  if (!manifests && fs::path(path).has_extension() && !is_manifest_name(path)) {
    manifests.error().message += "; manifests are *.yaml, *.yml or *.json files";
  }
  return manifests;
}

Result<std::vector<Manifest>> read_directory(const std::string& path) {
  std::error_code ec;
  std::vector<std::string> files;
  for (fs::directory_iterator it(path, ec), end; !ec && it != end; it.increment(ec)) {
    std::error_code ignored;
    if (is_manifest_name(it->path()) && it->is_regular_file(ignored)) {
      files.push_back(it->path().string());
    }
  }
  if (ec) {
    return fail(Code::NotFound, fmt::format("cannot list directory: {}: {}", ec.message(), path));
  }
  if (files.empty()) {
    return fail(Code::NotFound,
                fmt::format("no *.yaml, *.yml or *.json file in directory: {}", path));
  }
  std::sort(files.begin(), files.end());
  std::vector<Manifest> out;
  for (const std::string& file : files) {
    BERTH_TRY(std::vector<Manifest> manifests, read_file(file));
    std::move(manifests.begin(), manifests.end(), std::back_inserter(out));
  }
  return out;
}

} // namespace

Result<std::vector<Manifest>> read_manifest_path(const std::string& path) {
  if (path == "-") {
    BERTH_TRY(std::string text, read_all(std::cin, "<stdin>"));
    return read_manifests(text, "<stdin>");
  }
  std::error_code ec;
  const fs::file_status status = fs::status(path, ec);
  if (!fs::exists(status)) {
    return fail(Code::NotFound, fmt::format("no such file or directory: {}", path));
  }
  return fs::is_directory(status) ? read_directory(path) : read_file(path);
}

} // namespace berth::api
