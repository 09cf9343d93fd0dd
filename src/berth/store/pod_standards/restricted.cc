// What the level restricted forbids beyond baseline. Source:
// k8s.io/pod-security-admission/policy/check_*.go.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/store/pod_standards/checks.h"

namespace berth::store {
namespace {

namespace json = boost::json;
using Found = std::optional<Violation>;
using Names = std::vector<std::string>;

constexpr int kKnowsWindows = 25; ///< since when what means nothing on Windows is not asked there

std::optional<bool> bool_at(const json::value* of, std::string_view path) {
  const json::value* value = of == nullptr ? nullptr : api::find_path(*of, path);
  return value != nullptr && value->is_bool() ? std::optional(value->get_bool()) : std::nullopt;
}

bool lists(const json::value& container, std::string_view path, std::string_view wanted) {
  const json::value* list = api::find_path(container, path);
  return list != nullptr && list->is_array() &&
         std::ranges::any_of(list->get_array(), [&](const json::value& one) {
           return one.is_string() && one.get_string() == wanted;
         });
}

Found privilege_escalation(const PodShown& pod, int minor) {
  if (minor >= kKnowsWindows && is_windows(pod)) {
    return std::nullopt;
  }
  Names containers;
  each_container(pod, [&](const json::value& container) {
    if (bool_at(&container, "securityContext.allowPrivilegeEscalation").value_or(true)) {
      containers.push_back(container_name(container));
    }
  });
  if (containers.empty()) {
    return std::nullopt;
  }
  return Violation{.reason = "allowPrivilegeEscalation != false",
                   .detail = containers_text(containers) +
                             " must set securityContext.allowPrivilegeEscalation=false"};
}

Found capabilities(const PodShown& pod, int minor) {
  if (minor >= kKnowsWindows && is_windows(pod)) {
    return std::nullopt;
  }
  Names keeping;
  Names adding;
  Words added;
  each_container(pod, [&](const json::value& container) {
    if (!lists(container, "securityContext.capabilities.drop", "ALL")) {
      keeping.push_back(container_name(container));
    }
    const json::value* add = api::find_path(container, "securityContext.capabilities.add");
    bool bad = false;
    if (add != nullptr && add->is_array()) {
      for (const json::value& one : add->get_array()) {
        if (one.is_string() && one.get_string() != "NET_BIND_SERVICE") {
          bad = true;
          added.emplace(one.get_string());
        }
      }
    }
    if (bad) {
      adding.push_back(container_name(container));
    }
  });
  std::string detail;
  if (!keeping.empty()) {
    detail = containers_text(keeping) + " must set securityContext.capabilities.drop=[\"ALL\"]";
  }
  if (!adding.empty()) {
    detail += fmt::format("{}{} must not include {} in securityContext.capabilities.add",
                          detail.empty() ? "" : "; ", containers_text(adding), quoted(added));
  }
  if (detail.empty()) {
    return std::nullopt;
  }
  return Violation{.reason = "unrestricted capabilities", .detail = std::move(detail)};
}

Found volumes(const PodShown& pod, int /*minor*/) {
  static constexpr std::array<std::string_view, 8> kAllowed = {
      "configMap", "csi",   "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim",
      "projected", "secret"};
  static constexpr std::array<std::string_view, 20> kOthers = {"hostPath",
                                                               "gcePersistentDisk",
                                                               "awsElasticBlockStore",
                                                               "gitRepo",
                                                               "nfs",
                                                               "iscsi",
                                                               "glusterfs",
                                                               "rbd",
                                                               "flexVolume",
                                                               "cinder",
                                                               "cephfs",
                                                               "flocker",
                                                               "fc",
                                                               "azureFile",
                                                               "vsphereVolume",
                                                               "quobyte",
                                                               "azureDisk",
                                                               "portworxVolume",
                                                               "scaleIO",
                                                               "storageos"};
  Names names;
  Words types;
  const json::value* list = pod.spec == nullptr ? nullptr : api::find(*pod.spec, "volumes");
  if (list == nullptr || !list->is_array()) {
    return std::nullopt;
  }
  for (const json::value& volume : list->get_array()) {
    const auto has = [&](std::string_view type) {
      const json::value* found = api::find(volume, type);
      return found != nullptr && !found->is_null();
    };
    if (std::ranges::any_of(kAllowed, has)) {
      continue;
    }
    names.emplace_back(api::string_at(volume, "name"));
    const auto* const type = std::ranges::find_if(kOthers, has);
    types.emplace(type == kOthers.end() ? "unknown" : *type);
  }
  if (names.empty()) {
    return std::nullopt;
  }
  return Violation{.reason = "restricted volume types",
                   .detail = fmt::format(
                       "{} {} {} {} {}", plural("volume", "volumes", names.size()), quoted(names),
                       plural("uses", "use", names.size()),
                       plural("restricted volume type", "restricted volume types", types.size()),
                       quoted(types))};
}

Found run_as_non_root(const PodShown& pod, int /*minor*/) {
  constexpr std::string_view kPath = "securityContext.runAsNonRoot";
  const auto of_pod = bool_at(pod.spec, kPath);
  Names saying;
  Names silent;
  each_container(pod, [&](const json::value& container) {
    const auto own = bool_at(&container, kPath);
    if (own.has_value() && !*own) {
      saying.push_back(container_name(container));
    } else if (!own.has_value() && !of_pod.value_or(false)) {
      silent.push_back(container_name(container));
    }
  });
  const bool pod_says = of_pod.has_value() && !*of_pod;
  if (pod_says || !saying.empty()) {
    return Violation{.reason = "runAsNonRoot != true",
                     .detail = setters_text(pod_says, saying) +
                               " must not set securityContext.runAsNonRoot=false"};
  }
  if (silent.empty()) {
    return std::nullopt;
  }
  return Violation{.reason = "runAsNonRoot != true",
                   .detail = fmt::format("pod or {} must set securityContext.runAsNonRoot=true",
                                         containers_text(silent))};
}

Found run_as_user(const PodShown& pod, int /*minor*/) {
  const auto is_root = [](const json::value* of) {
    const json::value* user =
        of == nullptr ? nullptr : api::find_path(*of, "securityContext.runAsUser");
    return user != nullptr && user->is_int64() && user->get_int64() == 0;
  };
  Names containers;
  each_container(pod, [&](const json::value& container) {
    if (is_root(&container)) {
      containers.push_back(container_name(container));
    }
  });
  if (!is_root(pod.spec) && containers.empty()) {
    return std::nullopt;
  }
  return Violation{.reason = "runAsUser=0",
                   .detail =
                       setters_text(is_root(pod.spec), containers) + " must not set runAsUser=0"};
}

Found seccomp(const PodShown& pod, int minor) {
  if (minor >= kKnowsWindows && is_windows(pod)) {
    return std::nullopt;
  }
  Words types;
  bool pod_is_safe = false;
  /// Whether there is one; what is wrong with it goes into `types`.
  const auto has = [&](const json::value* of, bool& bad) {
    const json::value* profile =
        of == nullptr ? nullptr : api::find_path(*of, "securityContext.seccompProfile");
    if (profile == nullptr || profile->is_null()) {
      return false;
    }
    const auto type = api::string_at(*profile, "type");
    bad = !is_safe_seccomp(type);
    if (bad) {
      types.emplace(type);
    }
    return true;
  };
  bool pod_is_bad = false;
  pod_is_safe = has(pod.spec, pod_is_bad) && !pod_is_bad;
  Names saying;
  Names silent;
  each_container(pod, [&](const json::value& container) {
    bool bad = false;
    if (!has(&container, bad)) {
      if (!pod_is_safe) {
        silent.push_back(container_name(container));
      }
    } else if (bad) {
      saying.push_back(container_name(container));
    }
  });
  if (!types.empty()) {
    return Violation{.reason = "seccompProfile",
                     .detail =
                         fmt::format("{} must not set securityContext.seccompProfile.type to {}",
                                     setters_text(pod_is_bad, saying), quoted(types))};
  }
  if (silent.empty()) {
    return std::nullopt;
  }
  return Violation{.reason = "seccompProfile",
                   .detail = fmt::format("pod or {} must set securityContext.seccompProfile.type "
                                         "to \"RuntimeDefault\" or \"Localhost\"",
                                         containers_text(silent))};
}

} // namespace

std::vector<StandardCheck> restricted_checks() {
  return {{.run = privilege_escalation, .since = 8},
          {.run = capabilities, .since = 22},
          {.run = volumes, .since = 0},
          {.run = run_as_non_root, .since = 0},
          {.run = run_as_user, .since = 23},
          {.run = seccomp, .since = 19}};
}

} // namespace berth::store
