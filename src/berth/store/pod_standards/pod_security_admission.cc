#include "berth/store/pod_standards/pod_security_admission.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/store/pod_standards/standards.h"

namespace berth::store {
namespace {

namespace json = boost::json;

constexpr std::string_view kPrefix = "pod-security.kubernetes.io/";
constexpr std::size_t kMostPods = 3000; ///< looked at when a namespace's labels change

void warn(const AdmissionRequest& request, std::string text) {
  if (request.notes != nullptr) {
    request.notes->warnings.push_back(std::move(text));
  }
}

void annotate(const AdmissionRequest& request, std::string_view key, std::string text) {
  if (request.notes != nullptr) {
    request.notes->annotations.emplace(fmt::format("{}{}", kPrefix, key), std::move(text));
  }
}

/// Where a kind has the template of its pods; "" for the others.
std::string_view template_path(const GroupKind& kind) {
  if (kind == GroupKind{"batch", "CronJob"}) {
    return "spec.jobTemplate.spec.template";
  }
  if (kind == kJobs || kind == GroupKind{"", "ReplicationController"} || kind.group == "apps") {
    return kind.kind == "ControllerRevision" ? "" : "spec.template";
  }
  return kind == GroupKind{"", "PodTemplate"} ? "template" : "";
}

// ---- namespaces

/// Warnings of pods that are there already, alike ones together.
void warn_of_pods(const AdmissionRequest& request, const std::string& ns,
                  const LevelVersion& enforce) {
  struct Alike {
    std::string first; ///< by name
    std::size_t count = 0;
  };
  const auto pods = request.store->list({.kind = kPods, .ns = ns, .labels = {}}).items;
  const std::size_t looked_at = std::min(pods.size(), kMostPods);
  std::map<std::string, Alike> alike;
  for (std::size_t i = 0; i < looked_at; ++i) {
    const auto found = violations({.metadata = api::find(pods[i].json(), "metadata"),
                                   .spec = api::find(pods[i].json(), "spec")},
                                  enforce);
    if (!found.empty()) {
      Alike& one = alike[reasons_of(found)];
      one.first = one.count == 0 ? pods[i].meta().name : std::min(one.first, pods[i].meta().name);
      ++one.count;
    }
  }
  if (looked_at < pods.size()) {
    warn(request, fmt::format("new PodSecurity enforce level only checked against the first {} of "
                              "{} existing pods",
                              looked_at, pods.size()));
  }
  if (!alike.empty()) {
    warn(request, fmt::format("existing pods in namespace {} violate the new PodSecurity enforce "
                              "level {}",
                              quote(ns), quote(to_string(enforce))));
  }
  std::vector<std::string> texts;
  for (const auto& [reasons, one] : alike) {
    const std::string others = one.count == 1 ? ""
                               : one.count == 2
                                   ? " (and 1 other pod)"
                                   : fmt::format(" (and {} other pods)", one.count - 1);
    texts.push_back(fmt::format("{}{}: {}", one.first, others, reasons));
  }
  std::ranges::sort(texts);
  for (std::string& text : texts) {
    warn(request, std::move(text));
  }
}

Result<void> admit_namespace(const AdmissionRequest& request, const api::Object& object) {
  FieldErrors errors;
  const SecurityPolicy after = security_policy(object.meta().labels, errors);
  FieldErrors old_errors;
  SecurityPolicy before;
  if (request.before != nullptr) {
    before = security_policy(request.before->meta().labels, old_errors);
  }
  if (!errors.empty() && errors != old_errors) {
    return invalid(request.kind, object.meta().name, std::move(errors));
  }
  const bool same_or_less =
      after.enforce == before.enforce || after.enforce.level == SecurityLevel::Privileged ||
      (after.enforce.minor == before.enforce.minor && after.enforce.level <= before.enforce.level);
  if (request.before != nullptr && !same_or_less) {
    warn_of_pods(request, object.meta().name, after.enforce);
  }
  return {};
}

// ---- pods and their templates

const json::value* container_of(const json::value& spec, std::string_view list, std::size_t i) {
  const json::value* all = api::find(spec, list);
  return all == nullptr || !all->is_array() || i >= all->get_array().size() ? nullptr
                                                                            : &all->get_array()[i];
}

std::size_t count_of(const json::value& spec, std::string_view list) {
  const json::value* all = api::find(spec, list);
  return all == nullptr || !all->is_array() ? 0 : all->get_array().size();
}

bool same_image(const json::value& one, const json::value& other) {
  return api::string_at(one, "image") == api::string_at(other, "image");
}

/// Whether an update changes anything that standards are about: of a pod that exists, images and
/// ephemeral containers.
bool is_significant(const json::value& after, const json::value& before) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    if (count_of(after, list) != count_of(before, list)) {
      return true;
    }
    for (std::size_t i = 0; i < count_of(after, list); ++i) {
      if (!same_image(*container_of(after, list, i), *container_of(before, list, i))) {
        return true;
      }
    }
  }
  constexpr std::string_view kEphemeral = "ephemeralContainers";
  for (std::size_t i = 0; i < count_of(after, kEphemeral); ++i) {
    const json::value& one = *container_of(after, kEphemeral, i);
    bool known = false;
    for (std::size_t j = 0; j < count_of(before, kEphemeral) && !known; ++j) {
      const json::value& other = *container_of(before, kEphemeral, j);
      known =
          api::string_at(one, "name") == api::string_at(other, "name") && same_image(one, other);
    }
    if (!known) {
      return true;
    }
  }
  return false;
}

std::string text_of(const LevelVersion& level, const std::vector<Violation>& found) {
  return fmt::format("PodSecurity {}: {}", quote(to_string(level)), details_of(found));
}

/// `enforced`: of a pod itself.
Result<void> judge(const AdmissionRequest& request, const api::Object& object, const PodShown& pod,
                   bool enforced) {
  const auto space = request.store->get(kNamespaces, {"", object.meta().ns});
  FieldErrors errors;
  const SecurityPolicy policy =
      space ? security_policy(space->meta().labels, errors) : SecurityPolicy();
  if (errors.empty() && policy.all_privileged()) {
    if (enforced) {
      annotate(request, "enforce-policy", to_string(policy.enforce));
    }
    return {};
  }
  if (enforced && request.before != nullptr && pod.spec != nullptr) {
    const json::value* old = api::find(request.before->json(), "spec");
    if (old != nullptr && !is_significant(*pod.spec, *old)) {
      return {};
    }
  }
  if (!errors.empty()) {
    annotate(request, "error",
             fmt::format("Failed to parse policy: {}", to_string(errors.front())));
  }
  std::vector<Violation> refused;
  if (enforced) {
    annotate(request, "enforce-policy", to_string(policy.enforce));
    refused = violations(pod, policy.enforce);
  }
  if (const auto found = violations(pod, policy.audit); !found.empty()) {
    annotate(request, "audit-violations", "would violate " + text_of(policy.audit, found));
  }
  if (!refused.empty()) {
    const std::string& name = object.meta().name;
    return forbidden(request.kind, name.empty() ? object.meta().generate_name : name,
                     "violates " + text_of(policy.enforce, refused));
  }
  if (const auto found = violations(pod, policy.warn); !found.empty()) {
    warn(request, "would violate " + text_of(policy.warn, found));
  }
  return {};
}

} // namespace

Result<void> admit_pod_security(const AdmissionRequest& request, const api::Object& object) {
  if (request.subresource == Subresource::Status) {
    return {};
  }
  if (request.kind == kNamespaces) {
    return admit_namespace(request, object);
  }
  if (request.kind == kPods) {
    return judge(request, object,
                 {.metadata = api::find(object.json(), "metadata"),
                  .spec = api::find(object.json(), "spec")},
                 true);
  }
  const std::string_view path = template_path(request.kind);
  const json::value* shown =
      path.empty() || request.notes == nullptr ? nullptr : api::find_path(object.json(), path);
  if (shown == nullptr) {
    return {};
  }
  return judge(request, object,
               {.metadata = api::find(*shown, "metadata"), .spec = api::find(*shown, "spec")},
               false);
}

} // namespace berth::store
