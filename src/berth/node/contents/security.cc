#include "berth/node/contents/security.h"

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "berth/node/contents/spec_field.h"
#include "berth/node/pod_verdict.h"

namespace berth::node {
namespace {

namespace json = boost::json;
using runtime::SecurityContext;

// The container's word, else the pod's.
template <class T>
std::optional<T> merged(std::optional<T> (*read)(const json::value&, std::string_view),
                        const json::value& pod, const json::value& container,
                        std::string_view member) {
  const std::string path = fmt::format("securityContext.{}", member);
  if (const auto own = read(container, path)) {
    return own;
  }
  return read(pod, "spec." + path);
}

Result<void> read_seccomp(const json::value& profile, std::string_view kubelet_root,
                          SecurityContext& into) {
  const std::string_view type = api::string_at(profile, "type");
  if (type == "RuntimeDefault") {
    into.seccomp = SecurityContext::Seccomp::RuntimeDefault;
  } else if (type == "Localhost") {
    const std::string_view file = api::string_at(profile, "localhostProfile");
    if (file.empty()) {
      return fail(Code::Invalid,
                  "localhostProfile must be set if seccompProfile type is Localhost.");
    }
    into.seccomp = SecurityContext::Seccomp::Localhost;
    into.seccomp_profile = fmt::format("{}/seccomp/{}", kubelet_root, file);
  }
  return {};
}

Result<void> check_not_root(const SecurityContext& made, const runtime::ImageUser& image_user,
                            std::string_view pod, std::string_view container) {
  if (made.run_as_user) {
    return *made.run_as_user != 0
               ? Result<void>()
               : fail(Code::Invalid,
                      fmt::format("container's runAsUser breaks non-root policy (pod: \"{}\", "
                                  "container: {})",
                                  pod, container));
  }
  if (!image_user.uid && !image_user.name.empty()) {
    return fail(
        Code::Invalid,
        fmt::format("container has runAsNonRoot and image has non-numeric user ({}), cannot "
                    "verify user is non-root (pod: \"{}\", container: {})",
                    image_user.name, pod, container));
  }
  if (image_user.uid.value_or(0) == 0) {
    return fail(Code::Invalid, fmt::format("container has runAsNonRoot and image will run as root "
                                           "(pod: \"{}\", container: {})",
                                           pod, container));
  }
  return {};
}

void add_groups(const json::value& pod, SecurityContext& into) {
  into.supplemental_groups = ints_at(pod, "spec.securityContext.supplementalGroups");
  if (const auto group = int_at(pod, "spec.securityContext.fsGroup")) {
    into.supplemental_groups.push_back(*group);
  }
}

} // namespace

bool needs_image_user(const json::value& pod, const json::value& container) {
  return merged(&bool_at, pod, container, "runAsNonRoot").value_or(false) &&
         !merged(&int_at, pod, container, "runAsUser");
}

std::optional<std::int64_t> common_user(const json::value& pod) {
  std::optional<std::int64_t> user;
  for (const std::string_view list :
       {"spec.initContainers", "spec.containers", "spec.ephemeralContainers"}) {
    for (const json::value& container : list_at(pod, list)) {
      const auto each = merged(&int_at, pod, container, "runAsUser");
      if (!each || (user && user != each)) {
        return std::nullopt;
      }
      user = each;
    }
  }
  return user;
}

Result<SecurityContext> container_security(const json::value& pod, const json::value& container,
                                           const model::Pod& view,
                                           const runtime::ImageUser& image_user,
                                           std::string_view kubelet_root) {
  SecurityContext made;
  made.run_as_user = merged(&int_at, pod, container, "runAsUser");
  made.run_as_group = merged(&int_at, pod, container, "runAsGroup");
  made.privileged = bool_at(container, "securityContext.privileged").value_or(false);
  made.read_only_root =
      bool_at(container, "securityContext.readOnlyRootFilesystem").value_or(false);
  made.no_new_privileges =
      !bool_at(container, "securityContext.allowPrivilegeEscalation").value_or(true);
  made.add_capabilities = strings_at(container, "securityContext.capabilities.add");
  made.drop_capabilities = strings_at(container, "securityContext.capabilities.drop");
  add_groups(pod, made);
  const json::value* profile = api::find_path(container, "securityContext.seccompProfile");
  if (!profile) {
    profile = api::find_path(pod, "spec.securityContext.seccompProfile");
  }
  if (profile) {
    BERTH_CHECK(read_seccomp(*profile, kubelet_root, made));
  }
  if (merged(&bool_at, pod, container, "runAsNonRoot").value_or(false)) {
    BERTH_CHECK(
        check_not_root(made, image_user, log_name(view), api::string_at(container, "name")));
  }
  return made;
}

Result<SecurityContext> sandbox_security(const json::value& pod, std::string_view kubelet_root) {
  SecurityContext made;
  made.run_as_user = int_at(pod, "spec.securityContext.runAsUser");
  made.run_as_group = int_at(pod, "spec.securityContext.runAsGroup");
  add_groups(pod, made);
  if (const json::value* profile = api::find_path(pod, "spec.securityContext.seccompProfile")) {
    BERTH_CHECK(read_seccomp(*profile, kubelet_root, made));
  }
  for (const std::string_view list : {"spec.initContainers", "spec.containers"}) {
    for (const json::value& each : list_at(pod, list)) {
      made.privileged =
          made.privileged || bool_at(each, "securityContext.privileged").value_or(false);
    }
  }
  return made;
}

} // namespace berth::node
