// The single checks of the Pod Security Standards, and what they share.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/store/pod_standards/standards.h"

namespace berth::store {

using Words = std::set<std::string, std::less<>>;
/// Of standards of version 1.`minor`.
using SecurityCheck = std::optional<Violation> (*)(const PodShown& pod, int minor);

struct StandardCheck {
  SecurityCheck run;
  int since;                  ///< the minor version that has it
  int overridden = INT32_MAX; ///< of baseline: since when one of restricted says it instead
};
/// In the order of their names.
std::vector<StandardCheck> baseline_checks();
std::vector<StandardCheck> restricted_checks();

/// Init containers, containers, ephemeral containers.
void each_container(const PodShown& pod,
                    const std::function<void(const boost::json::value& container)>& visit);
std::string container_name(const boost::json::value& container);

/// "container" for one, "containers" for more.
std::string_view plural(std::string_view one, std::string_view more, std::size_t count);
/// "a", "b"
template <class Range> std::string quoted(const Range& words) {
  std::string out;
  for (const std::string& word : words) {
    out += (out.empty() ? "\"" : ", \"") + word + "\"";
  }
  return out;
}
/// container "a"; containers "a", "b"
std::string containers_text(const std::vector<std::string>& names);
/// pod; pod and container "a"; container "a"
std::string setters_text(bool pod, const std::vector<std::string>& containers);

bool is_windows(const PodShown& pod);
/// Whether the pod's or container's seccompProfile is one that may be.
bool is_safe_seccomp(std::string_view type);

} // namespace berth::store
