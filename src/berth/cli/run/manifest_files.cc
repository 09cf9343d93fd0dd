#include "berth/cli/run/manifest_files.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "berth/base/read_file.h"
#include "berth/model/elastic_quota.h"
#include "berth/model/node.h"
#include "berth/model/node_report.h"
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
      return fail_at({.file = name}, "larger than 64 MiB");
    }
  }
  if (in.bad()) {
    return fail_at({.file = name}, "cannot be read; is it a directory?");
  }
  return text;
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
  if (is("scheduling.x-k8s.io", "ElasticQuota")) {
    return error_of(model::elastic_quota_view(object));
  }
  if (is("topology.node.k8s.io", "NodeResourceTopology")) {
    return error_of(model::node_resource_topology_view(object));
  }
  if (is("metrics.k8s.io", "NodeMetrics")) {
    return error_of(model::node_metrics_view(object));
  }
  return std::nullopt;
}

Result<api::LenientManifests> read_text_as(const std::string& text, const std::string& name,
                                           api::Duplicates duplicates) {
  if (duplicates == api::Duplicates::TakeLast) {
    return api::read_manifests_leniently(text, name);
  }
  BERTH_TRY(auto manifests, api::read_manifests(text, name));
  return api::LenientManifests{.manifests = std::move(manifests), .duplicates = {}};
}

// A generated file may repeat one mistake thousands of times.
void warn_of(const std::vector<api::DuplicateKey>& duplicates, const std::string& file,
             std::vector<report::Note>& warnings) {
  constexpr std::size_t kNamed = 20;
  for (const api::DuplicateKey& key : duplicates | std::views::take(kNamed)) {
    warnings.push_back(
        {.warning = true,
         .where = {.file = file, .line = key.line, .column = key.column, .field = key.field},
         .message = fmt::format("given twice, first at line {} column {}; the last one counts, as "
                                "with kubectl",
                                key.first_line, key.first_column)});
  }
  if (duplicates.size() > kNamed) {
    warnings.push_back(
        {.warning = true,
         .where = {.file = file},
         .message = fmt::format("{} more keys are given twice", duplicates.size() - kNamed)});
  }
}

void read_one(const std::string& path, api::Duplicates duplicates, ManifestFiles& out) {
  const auto text = read_text(path);
  if (!text) {
    out.errors.push_back(text.error());
    return;
  }
  const std::string name = path == "-" ? std::string(kStandardInput) : path;
  auto read = read_text_as(*text, name, duplicates);
  if (!read) {
    out.errors.push_back(std::move(read).error());
    return;
  }
  warn_of(read->duplicates, name, out.warnings);
  for (const api::Manifest& manifest : read->manifests) {
    if (auto error = decode_error(manifest.object)) {
      out.errors.push_back(manifest.locate(*std::move(error)));
      return;
    }
  }
  std::ranges::move(read->manifests, std::back_inserter(out.manifests));
}

} // namespace

Result<std::string> read_text(const std::string& path) {
  if (path == "-") {
    return read_stream(std::cin, std::string(kStandardInput));
  }
  auto text = read_file(path, kLargestFile);
  if (!text) {
    text.error().code = Code::Invalid; // of what the user named, like any other fault in it
  }
  return text;
}

ManifestFiles read_manifest_files(const std::vector<std::string>& paths, Depth depth,
                                  api::Duplicates duplicates) {
  ManifestFiles out;
  for (const std::string& path : paths) {
    std::error_code problem;
    if (path == "-" || !fs::is_directory(path, problem)) {
      read_one(path, duplicates, out);
      continue;
    }
    const auto files = files_of(path, depth);
    if (!files) {
      out.errors.push_back(files.error());
      continue;
    }
    for (const std::string& file : *files) {
      read_one(file, duplicates, out);
    }
  }
  return out;
}

} // namespace berth::cli
