#include "berth/store/validation/pod_security.h"

#include <algorithm>
#include <set>

#include "berth/store/validation/formats.h"

namespace berth::store {
namespace {

constexpr std::size_t kMaxSysctl = 253;

bool is_sysctl_part(std::string_view part) {
  const auto inner = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return !part.empty() && inner(part.front()) && part.front() != '-' && part.front() != '_' &&
         part.back() != '-' && part.back() != '_' && std::ranges::all_of(part, inner);
}

bool is_sysctl(std::string_view name) {
  if (name.size() > kMaxSysctl) {
    return false;
  }
  for (std::size_t start = 0; start <= name.size();) {
    const std::size_t end = std::min(name.find_first_of("./", start), name.size());
    if (!is_sysctl_part(name.substr(start, end - start))) {
      return false;
    }
    start = end + 1;
  }
  return true;
}

void check_ids(const Judged& context, std::initializer_list<std::string_view> fields) {
  for (const std::string_view field : fields) {
    context[field].in_range(0, kHighestId);
  }
}

/// seccompProfile and appArmorProfile.
void check_profile(const Judged& profile, std::string_view what, std::string_view field) {
  if (!profile) {
    return;
  }
  const Judged type = profile["type"];
  const Judged local = profile["localhostProfile"];
  const bool seccomp = what == "seccomp";
  if (!type.need_text(fmt::format("type is required when {} is set", field))) {
    return;
  }
  type.one_of({"Localhost", "RuntimeDefault", "Unconfined"});
  if (type.text() == "Localhost") {
    if (!local) {
      local.required(fmt::format("must be set when {} type is Localhost", what));
    } else if (seccomp) {
      check_descending_path(local);
    }
  } else if (local) {
    local.invalid(seccomp ? api::to_json(*profile.json()) : api::to_json(*local.json()),
                  fmt::format("can only be set when {} type is Localhost", what));
  }
}

void check_sysctls(const Judged& context) {
  std::set<std::string, std::less<>> names;
  context.each("sysctls", [&](const Judged& sysctl) {
    const Judged name = sysctl["name"];
    if (!name.need_text()) {
      return;
    }
    if (!is_sysctl(name.text())) {
      name.invalid("must have at most 253 characters and match regex "
                   "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$");
    } else if (!names.emplace(name.text()).second) {
      name.duplicate();
    }
  });
}

} // namespace

void check_pod_security(const Judged& spec) {
  const Judged context = spec["securityContext"];
  if (!context) {
    return;
  }
  check_ids(context, {"fsGroup", "runAsUser", "runAsGroup"});
  context.each("supplementalGroups", [](const Judged& id) { id.in_range(0, kHighestId); });
  if (spec.is_true("shareProcessNamespace") && spec.is_true("hostPID")) {
    context["shareProcessNamespace"].invalid(
        "true", "ShareProcessNamespace and HostPID cannot both be enabled");
  }
  check_sysctls(context);
  context["fsGroupChangePolicy"].one_of({"Always", "OnRootMismatch"});
  check_profile(context["seccompProfile"], "seccomp", "seccompProfile");
  check_profile(context["appArmorProfile"], "AppArmor", "appArmorProfile");
  context["supplementalGroupsPolicy"].one_of({"Merge", "Strict"});
}

void check_container_security(const Judged& context) {
  if (!context) {
    return;
  }
  check_ids(context, {"runAsUser", "runAsGroup"});
  context["procMount"].one_of({"Default", "Unmasked"});
  check_profile(context["seccompProfile"], "seccomp", "seccompProfile");
  const Judged escalation = context["allowPrivilegeEscalation"];
  if (escalation && !escalation.is_true()) {
    if (context.is_true("privileged")) {
      context.invalid("cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    }
    if (const Judged capabilities = context["capabilities"]) {
      capabilities.each("add", [&](const Judged& one) {
        if (one.text() == "CAP_SYS_ADMIN") {
          context.invalid("cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` "
                          "CAP_SYS_ADMIN");
        }
      });
    }
  }
  check_profile(context["appArmorProfile"], "AppArmor", "appArmorProfile");
}

} // namespace berth::store
