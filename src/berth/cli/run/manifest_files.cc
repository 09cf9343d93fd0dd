#include "berth/cli/run/manifest_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/yaml.h"
#include "berth/model/node.h"
#include "berth/model/pod.h"
#include "berth/model/workload.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestFile = std::size_t{64} << 20U;
constexpr std::string_view kStandardInput = "standard input";

bool is_manifest_name(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

// Regular manifest files of a directory, sorted by path so that the order does not depend on the
// disk.
Result<std::vector<std::string>> files_of(const std::string& directory, Depth depth) {
  std::vector<std::string> files;
  std::error_code problem;
  const auto consider = [&](const fs::directory_entry& entry) {
    std::error_code ignored;
    if (entry.is_regular_file(ignored) && is_manifest_name(entry.path())) {
      files.push_back(entry.path().string());
    }
  };
  if (depth == Depth::Recursive) {
    const auto skip = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator it(directory, skip, problem), end; !problem && it != end;
         it.increment(problem)) {
      consider(*it);
    }
  } else {
    for (fs::directory_iterator it(directory, problem), end; !problem && it != end;
         it.increment(problem)) {
      consider(*it);
    }
  }
  if (problem) {
    return fail_at({.file = directory},
                   fmt::format("cannot read the directory: {}", problem.message()));
  }
  if (files.empty()) {
    return fail_at({.file = directory},
                   fmt::format("no manifests in this directory: want *.yaml, *.yml or *.json{}",
                               depth == Depth::Recursive ? "" : "; try -R to look below it"));
  }
  std::ranges::sort(files);
  return files;
}

Result<std::string> read_stream(std::istream& in, const std::string& name) {
  std::string text;
  char buffer[1 << 16];
  while (in.read(buffer, sizeof buffer), in.gcount() > 0) {
    text.append(buffer, static_cast<std::size_t>(in.gcount()));
    if (text.size() > kLargestFile) {
      return fail_at({.file = name}, "larger than 64 MiB: split it");
    }
  }
  return text;
}

Result<std::string> read_text(const std::string& path) {
  if (path == "-") {
    return read_stream(std::cin, std::string(kStandardInput));
  }
  std::error_code problem;
  if (!fs::exists(path, problem)) {
    return fail_at({.file = path}, "no such file or directory");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return fail_at({.file = path}, "cannot be opened");
  }
  return read_stream(in, path);
}

template <class T> std::optional<Error> error_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional<Error>(result.error());
}

// Decodes what Berth would decode later.
std::optional<Error> decode_error(const api::Object& object) {
  const auto is = [&](std::string_view group, std::string_view kind) {
    return object.gvk().group == group && object.gvk().kind == kind;
  };
  if (is("", "Pod")) {
    return error_of(model::pod_view(object));
  }
  if (is("", "Node")) {
    return error_of(model::node_view(object));
  }
  if (is("batch", "Job")) {
    return error_of(model::job_view(object));
  }
  if (is("scheduling.x-k8s.io", "PodGroup")) {
    return error_of(model::pod_group_view(object));
  }
  if (is("scheduling.k8s.io", "PriorityClass")) {
    return error_of(model::priority_class_view(object));
  }
  if (is("", "ResourceQuota")) {
    return error_of(model::resource_quota_view(object));
  }
  return std::nullopt;
}

// Walks documents as the manifest reader does: a List's items are objects of their own, empty
// documents are none.
class Locator {
 public:
  explicit Locator(std::vector<api::YamlDocument> documents) : documents_(std::move(documents)) {}

  api::Position find(std::size_t wanted, const std::string& field) const {
    std::size_t seen = 0;
    for (const api::YamlDocument& document : documents_) {
      if (const auto at = find_in(document, document.value, "", field, wanted, seen)) {
        return *at;
      }
    }
    return {};
  }

 private:
  static std::optional<api::Position> find_in(const api::YamlDocument& document,
                                              const api::json::value& value,
                                              const std::string& pointer, const std::string& field,
                                              std::size_t wanted, std::size_t& seen) {
    const api::json::value* items = api::find(value, "items");
    if (api::string_at(value, "kind").ends_with("List") && items != nullptr && items->is_array()) {
      for (std::size_t i = 0; i < items->as_array().size(); ++i) {
        const std::string below = fmt::format("{}/items/{}", pointer, i);
        if (const auto at = find_in(document, items->as_array()[i], below, field, wanted, seen)) {
          return at;
        }
      }
      return std::nullopt;
    }
    if (value.is_null() || seen++ != wanted) {
      return std::nullopt;
    }
    return document.positions.find(pointer + api::pointer_of(field));
  }

  std::vector<api::YamlDocument> documents_;
};

// The error of the `index`th object of a text, with the place of its field.
Error placed(Error error, const api::Manifest& manifest, std::size_t index,
             const std::string& text) {
  Where where = manifest.where;
  where.field = error.where ? error.where->field : "";
  if (const auto documents = api::parse_yaml(text, where.file); documents && !where.field.empty()) {
    const api::Position at = Locator(*documents).find(index, where.field);
    if (at.line > 0) {
      where.line = at.line;
      where.column = at.column;
    }
  }
  error.where = std::move(where);
  return error;
}

void read_one(const std::string& path, ManifestFiles& out) {
  const auto text = read_text(path);
  if (!text) {
    out.errors.push_back(text.error());
    return;
  }
  const std::string name = path == "-" ? std::string(kStandardInput) : path;
  auto manifests = api::read_manifests(*text, name);
  if (!manifests) {
    out.errors.push_back(std::move(manifests).error());
    return;
  }
  for (std::size_t i = 0; i < manifests->size(); ++i) {
    if (auto error = decode_error((*manifests)[i].object)) {
      out.errors.push_back(placed(*std::move(error), (*manifests)[i], i, *text));
      return;
    }
  }
  std::ranges::move(*manifests, std::back_inserter(out.manifests));
}

} // namespace

ManifestFiles read_manifest_files(const std::vector<std::string>& paths, Depth depth) {
  ManifestFiles out;
  for (const std::string& path : paths) {
    std::error_code problem;
    if (path == "-" || !fs::is_directory(path, problem)) {
      read_one(path, out);
      continue;
    }
    const auto files = files_of(path, depth);
    if (!files) {
      out.errors.push_back(files.error());
      continue;
    }
    for (const std::string& file : *files) {
      read_one(file, out);
    }
  }
  return out;
}

} // namespace berth::cli
