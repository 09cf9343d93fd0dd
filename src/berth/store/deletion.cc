#include "berth/store/deletion.h"

#include <algorithm>
#include <array>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/store/errors.h"

namespace berth::store {
namespace {

constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kOrphan = "orphan";
constexpr std::int64_t kDefaultGraceSeconds = 30;

/// Namespaces that a cluster cannot do without. Source: admission plugin NamespaceLifecycle.
constexpr std::array<std::string_view, 3> kImmortal = {"default", "kube-public", "kube-system"};

/// A namespace lives on while spec.finalizers names somebody who empties it.
bool has_content_finalizers(const api::json::object& document) {
  const api::json::value* kind = document.if_contains("kind");
  const api::json::value* spec = document.if_contains("spec");
  if (kind == nullptr || *kind != "Namespace" || spec == nullptr) {
    return false;
  }
  const api::json::value* finalizers = api::find(*spec, "finalizers");
  return finalizers != nullptr && finalizers->is_array() && !finalizers->get_array().empty();
}

Result<void> check_mortal(const api::Object& current) {
  if (group_kind(current) == kNamespaces &&
      std::ranges::find(kImmortal, current.meta().name) != kImmortal.end()) {
    return forbidden(kNamespaces, current.meta().name, "this namespace may not be deleted");
  }
  return {};
}

Result<void> check_preconditions(const api::Object& current, const DeleteOptions& options) {
  const api::ObjectMeta& meta = current.meta();
  const std::string kind = kind_text(group_kind(current));
  if (options.uid && *options.uid != meta.uid) {
    return conflict(
        kind, meta.name,
        fmt::format(
            "the UID in the precondition ({}) does not match the UID in record ({}). The object "
            "might have been deleted and then recreated",
            *options.uid, meta.uid));
  }
  if (options.resource_version && *options.resource_version != meta.resource_version) {
    return conflict(
        kind, meta.name,
        fmt::format(
            "the ResourceVersion in the precondition ({}) does not match the ResourceVersion in "
            "record ({}). The object might have been modified",
            *options.resource_version, meta.resource_version));
  }
  return {};
}

/// Finalizers that the garbage collector acts on, set by how dependents shall be treated.
/// Background, being the default too, does not take back what an earlier deletion asked for.
std::vector<std::string> finalizers_for(const api::Object& current, Propagation propagation) {
  if (current.meta().deletion_timestamp && propagation == Propagation::Background) {
    return current.meta().finalizers;
  }
  std::vector<std::string> kept;
  for (const std::string& finalizer : current.meta().finalizers) {
    if (finalizer != kForeground && finalizer != kOrphan) {
      kept.push_back(finalizer);
    }
  }
  if (propagation == Propagation::Foreground) {
    kept.emplace_back(kForeground);
  } else if (propagation == Propagation::Orphan) {
    kept.emplace_back(kOrphan);
  }
  return kept;
}

std::optional<std::int64_t> requested_grace(const DeleteOptions& options) {
  if (!options.grace_period_seconds) {
    return std::nullopt;
  }
  return *options.grace_period_seconds < 0 ? 1 : *options.grace_period_seconds;
}

/// Seconds a pod gets; nobody would stop an unbound or finished one, so those go at once.
std::int64_t pod_grace(const api::Object& pod, const DeleteOptions& options) {
  const std::string_view phase = api::string_at(pod.json(), "status.phase");
  if (node_of(pod).empty() || phase == "Succeeded" || phase == "Failed") {
    return 0;
  }
  if (const auto requested = requested_grace(options)) {
    return *requested;
  }
  const api::json::value* own = api::find_path(pod.json(), "spec.terminationGracePeriodSeconds");
  if (own == nullptr || !own->is_int64()) {
    return kDefaultGraceSeconds;
  }
  return own->as_int64() < 0 ? 1 : own->as_int64();
}

void set_finalizers(api::json::object& meta, const std::vector<std::string>& finalizers) {
  if (finalizers.empty()) {
    meta.stable_erase("finalizers");
    return;
  }
  api::json::array& list = meta["finalizers"].emplace_array();
  for (const std::string& finalizer : finalizers) {
    list.emplace_back(finalizer);
  }
}

void mark_deleted(const api::ObjectMeta& before, TimePoint at, std::int64_t grace,
                  api::json::object& meta) {
  if (!before.deletion_timestamp && before.generation > 0) {
    meta["generation"] = before.generation + 1;
  }
  meta["deletionTimestamp"] = to_rfc3339(at);
  meta["deletionGracePeriodSeconds"] = grace;
}

} // namespace

Result<DeletionStep> begin_deletion(const api::Object& current, const DeleteOptions& options,
                                    TimePoint now, api::json::object& document) {
  BERTH_CHECK(check_mortal(current));
  BERTH_CHECK(check_preconditions(current, options));
  const api::ObjectMeta& before = current.meta();
  api::json::object& meta = api::object_at(document, "metadata");
  const bool is_pod = group_kind(current) == kPods;
  const std::vector<std::string> finalizers = finalizers_for(current, options.propagation);
  bool changed = finalizers != before.finalizers;
  set_finalizers(meta, finalizers);

  std::int64_t grace = 0;
  if (before.deletion_timestamp) {
    grace = before.deletion_grace_period_seconds.value_or(0);
    const auto requested = requested_grace(options);
    if (is_pod && requested && *requested < grace) {
      mark_deleted(before, *before.deletion_timestamp + Duration::seconds(*requested - grace),
                   *requested, meta);
      grace = *requested;
      changed = true;
    }
  } else {
    grace = is_pod ? pod_grace(current, options) : 0;
    if (group_kind(current) == kNamespaces) {
      meta["deletionTimestamp"] = to_rfc3339(now);
      api::object_at(document, "status")["phase"] = "Terminating";
    } else if (is_pod || !finalizers.empty()) {
      mark_deleted(before, now + Duration::seconds(grace), grace, meta);
    }
    changed = true;
  }
  if (finalizers.empty() && grace == 0 && !has_content_finalizers(document)) {
    return DeletionStep::Erase;
  }
  return changed ? DeletionStep::Write : DeletionStep::Keep;
}

bool deletion_complete(const api::json::object& document) {
  const api::json::value* meta = document.if_contains("metadata");
  if (meta == nullptr || api::find(*meta, "deletionTimestamp") == nullptr) {
    return false;
  }
  const api::json::value* finalizers = api::find(*meta, "finalizers");
  if (finalizers != nullptr && finalizers->is_array() && !finalizers->as_array().empty()) {
    return false;
  }
  if (has_content_finalizers(document)) {
    return false;
  }
  const api::json::value* grace = api::find(*meta, "deletionGracePeriodSeconds");
  return grace == nullptr || !grace->is_int64() || grace->as_int64() == 0;
}

} // namespace berth::store
