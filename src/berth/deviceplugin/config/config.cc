#include "berth/deviceplugin/config/config.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::deviceplugin {
namespace {

constexpr std::string_view kPrefix = "nvidia.com/";

bool lower_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_label(std::string_view label) {
  return !label.empty() && lower_or_digit(label.front()) && lower_or_digit(label.back()) &&
         std::ranges::all_of(label, [](char c) { return lower_or_digit(c) || c == '-'; });
}

// RFC 1123: labels between points.
bool is_subdomain(std::string_view name) {
  while (true) {
    const std::size_t point = name.find('.');
    if (!is_label(name.substr(0, point))) {
      return false;
    }
    if (point == std::string_view::npos) {
      return true;
    }
    name.remove_prefix(point + 1);
  }
}

} // namespace

inventory::Sharing Sharing::strategy() const {
  return mps            ? inventory::Sharing::Mps
         : time_slicing ? inventory::Sharing::TimeSlicing
                        : inventory::Sharing::None;
}

const SharedResources* Sharing::resources() const {
  return mps ? &*mps : time_slicing ? &*time_slicing : nullptr;
}

model::ReplicaLimit replica_limit(const Sharing& sharing) {
  const SharedResources* shared = sharing.resources();
  return shared && shared->fail_requests_greater_than_one ? model::ReplicaLimit::OneToAContainer
         : sharing.mps                                    ? model::ReplicaLimit::None
                                                          : model::ReplicaLimit::ByStrategy;
}

Result<std::string> resource_name(std::string_view name) {
  std::string full(name);
  if (!name.starts_with(kPrefix)) {
    full.insert(0, kPrefix);
  }
  if (full.size() > kLongestResourceName) {
    return fail(Code::Invalid,
                fmt::format("fully-qualified resource name must be {} characters or less: {}",
                            kLongestResourceName, full));
  }
  if (!is_subdomain(std::string_view(full).substr(kPrefix.size()))) {
    return fail(Code::Invalid,
                fmt::format("incorrect format for resource name '{}': want lower-case letters, "
                            "digits, '-' and '.', with a letter or digit at both ends",
                            full));
  }
  return full;
}

Result<void> validate(const Config& config) {
  if (config.sharing.strategy() == inventory::Sharing::Mps) {
    if (config.flags.mig_strategy == inventory::MigStrategy::Mixed) {
      return fail_at({.file = {}, .field = "sharing.mps"},
                     "using --mig-strategy=mixed is not supported with MPS");
    }
    if (config.flags.mps_root.empty()) {
      return fail_at({.file = {}, .field = "sharing.mps"},
                     "using MPS requires --mps-root to be specified");
    }
  }
  const std::vector<std::int64_t>& ids = config.imex.channel_ids;
  if (!ids.empty() && ids != std::vector<std::int64_t>{0}) {
    return fail_at({.file = {}, .field = "imex.channelIDs"},
                   fmt::format("invalid IMEX channel IDs: invalid IMEX config: channelIDs must be "
                               "[] or [0]; found [{}]",
                               fmt::join(ids, " ")));
  }
  return {};
}

} // namespace berth::deviceplugin
