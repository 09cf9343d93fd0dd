#include "berth/node/empty_dir_limits.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "berth/api/quantity.h"
#include "berth/node/contents/spec_field.h"
#include "berth/node/volume_path.h"
#include "berth/node/volumes/folder_usage.h"

namespace berth::node {
namespace {

constexpr Duration kEvery = Duration::seconds(10); // the eviction manager's monitoring interval

/// The message of the first folder that is too large; "" if none is.
std::string exceeded(const std::vector<LimitedFolder>& folders) {
  for (const LimitedFolder& each : folders) {
    const auto used = folder_usage(each.path);
    if (used && *used > each.bytes) {
      return fmt::format("Usage of EmptyDir volume \"{}\" exceeds the limit \"{}\". ", each.volume,
                         each.limit);
    }
  }
  return "";
}

} // namespace

std::vector<LimitedFolder> limited_folders(const api::json::value& pod, std::string_view pod_uid,
                                           std::string_view kubelet_root) {
  std::vector<LimitedFolder> folders;
  for (const api::json::value& volume : list_at(pod, "spec.volumes")) {
    const api::json::value* source = api::find(volume, "emptyDir");
    const std::string limit(source ? api::string_at(*source, "sizeLimit") : "");
    const auto size = api::Quantity::parse(limit);
    if (source && size && size->sign() > 0 && api::string_at(*source, "medium").empty()) {
      folders.push_back({.volume = std::string(api::string_at(volume, "name")),
                         .path = volume_path(volume, pod_uid, kubelet_root),
                         .limit = limit,
                         .bytes = size->value()});
    }
  }
  return folders;
}

EmptyDirLimits::EmptyDirLimits(Loop& loop, Background& background,
                               std::vector<LimitedFolder> folders,
                               std::function<void(const std::string&)> on_exceeded)
    : background_(&background), folders_(std::move(folders)), on_exceeded_(std::move(on_exceeded)),
      next_(loop) {}

void EmptyDirLimits::watch() {
  if (!folders_.empty() && !watching_) {
    watching_ = true;
    next_.set(kEvery, [this] { look(); });
  }
}

void EmptyDirLimits::stop() {
  folders_.clear();
  next_.cancel();
}

void EmptyDirLimits::look() {
  auto message = std::make_shared<std::string>();
  background_->run([folders = folders_, message] { *message = exceeded(folders); },
                   [weak = weak_from_this(), message] {
                     const auto self = weak.lock();
                     if (!self || self->folders_.empty()) {
                       return;
                     }
                     if (message->empty()) {
                       self->next_.set(kEvery, [live = self.get()] { live->look(); });
                     } else {
                       const auto tell = self->on_exceeded_;
                       self->stop();
                       tell(*message);
                     }
                   });
}

} // namespace berth::node
