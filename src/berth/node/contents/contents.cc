#include "berth/node/contents/contents.h"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "berth/base/log.h"
#include "berth/node/volumes/files.h"
#include "berth/node/volumes/mounts.h"
#include "berth/node/volumes/owned_folder.h"

namespace berth::node {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failure)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

// What is mounted goes first: it may be the machine's own, shown to a container.
Result<void> remove_folder(const std::string& folder) {
  BERTH_CHECK(unmount_below(folder));
  return remove_tree(folder);
}

Result<void> remove_all_of(const std::string& uid, const ContentsOptions& options) {
  if (uid.empty() || uid.find('/') != std::string::npos || uid.starts_with('.')) {
    return fail(Code::Invalid, fmt::format("no uid of a pod with a folder: {}", uid));
  }
  BERTH_CHECK(remove_folder(pod_folder(options.kubelet_root, uid)));
  for (const std::string& name : names_in(options.log_root)) {
    if (name.ends_with("_" + uid)) {
      BERTH_CHECK(remove_tree(fmt::format("{}/{}", options.log_root, name)));
    }
  }
  return {};
}

void log_failure(const Result<void>& outcome, const std::string& uid) {
  if (!outcome) {
    log(LogLevel::Warn, "agent",
        fmt::format("folders of pod {} stay: {}", uid, outcome.error().message));
  }
}

} // namespace

std::int64_t NodeAmounts::memory_bytes() const {
  const auto memory = capacity.find("memory");
  return memory == capacity.end() ? 0 : memory->second.value();
}

Contents::Contents(ContentsPlace place, ContentsOptions options)
    : place_(place), options_(std::move(options)), images_(*place_.loop, place_.runtime->images()) {
}

std::string Contents::log_folder(const model::Pod& pod) const {
  return fmt::format("{}/{}_{}_{}", options_.log_root, pod.meta.ns, pod.meta.name, pod.meta.uid);
}

void Contents::remove_pod(const std::string& uid, std::function<void(Result<void>)> done) {
  auto outcome = std::make_shared<Result<void>>();
  place_.background->run(
      [uid, outcome, options = options_] {
        *outcome = remove_all_of(uid, options);
        log_failure(*outcome, uid);
      },
      [outcome, done = std::move(done)] { done(*outcome); });
}

void Contents::remove_unknown(std::set<std::string> known) {
  place_.background->run(
      [known = std::move(known), options = options_] {
        for (const std::string& uid : names_in(fmt::format("{}/pods", options.kubelet_root))) {
          if (!known.contains(uid) &&
              owns_folder(pod_folder(options.kubelet_root, uid), options.owner)) {
            log_failure(remove_all_of(uid, options), uid);
          }
        }
      },
      [] {});
}

} // namespace berth::node
