#include "berth/store/pod_standards/standards.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/store/pod_standards/checks.h"

namespace berth::store {
namespace {

constexpr int kNewest = 34; ///< the standards known here

std::string joined(const std::vector<Violation>& all, bool details) {
  std::string out;
  for (const Violation& one : all) {
    out += out.empty() ? "" : ", ";
    out += one.reason;
    if (details && !one.detail.empty()) {
      out += fmt::format(" ({})", one.detail);
    }
  }
  return out;
}

} // namespace

std::vector<Violation> violations(const PodShown& pod, const LevelVersion& level) {
  static const std::vector<StandardCheck> kBaseline = baseline_checks();
  static const std::vector<StandardCheck> kRestricted = restricted_checks();
  std::vector<Violation> out;
  const int minor = std::min(level.minor, kNewest);
  const auto run = [&](const StandardCheck& check) {
    if (check.since <= minor) {
      if (auto found = check.run(pod, minor)) {
        out.push_back(*std::move(found));
      }
    }
  };
  if (level.level == SecurityLevel::Privileged) {
    return out;
  }
  const bool restricted = level.level == SecurityLevel::Restricted;
  for (const StandardCheck& check : kBaseline) {
    if (!restricted || minor < check.overridden) {
      run(check);
    }
  }
  if (restricted) {
    std::ranges::for_each(kRestricted, run);
  }
  return out;
}

std::string reasons_of(const std::vector<Violation>& all) {
  return joined(all, false);
}

std::string details_of(const std::vector<Violation>& all) {
  return joined(all, true);
}

void each_container(const PodShown& pod,
                    const std::function<void(const boost::json::value& container)>& visit) {
  if (pod.spec == nullptr) {
    return;
  }
  for (const std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
    const boost::json::value* found = api::find(*pod.spec, list);
    if (found != nullptr && found->is_array()) {
      std::ranges::for_each(found->get_array(), visit);
    }
  }
}

std::string container_name(const boost::json::value& container) {
  return std::string(api::string_at(container, "name"));
}

std::string_view plural(std::string_view one, std::string_view more, std::size_t count) {
  return count == 1 ? one : more;
}

std::string containers_text(const std::vector<std::string>& names) {
  return fmt::format("{} {}", plural("container", "containers", names.size()), quoted(names));
}

std::string setters_text(bool pod, const std::vector<std::string>& containers) {
  if (containers.empty()) {
    return "pod";
  }
  return (pod ? "pod and " : "") + containers_text(containers);
}

bool is_windows(const PodShown& pod) {
  return pod.spec != nullptr && api::string_at(*pod.spec, "os.name") == "windows";
}

bool is_safe_seccomp(std::string_view type) {
  return type == "Localhost" || type == "RuntimeDefault";
}

} // namespace berth::store
