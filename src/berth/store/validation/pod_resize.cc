#include "berth/store/validation/pod_resize.h"

#include <algorithm>

#include "berth/model/pod.h"
#include "berth/model/requests.h"
#include "berth/store/document.h"
#include "berth/store/validation/immutable.h"
#include "berth/store/validation/judged.h"

namespace berth::store {
namespace {

namespace json = api::json;

constexpr std::string_view kMirror = "kubernetes.io/config.mirror";

bool has_own_resources(const Judged& spec) {
  return spec["resources"].size("requests") + spec["resources"].size("limits") > 0;
}

std::string quality_of(const api::Object& pod) {
  const auto view = model::pod_view(pod);
  return view ? std::string(model::qos_class((*view)->spec)) : "";
}

/// A node that can resize says what running containers have.
bool node_can_resize(const api::Object& pod) {
  const json::value* statuses = api::find_path(pod.json(), "status.containerStatuses");
  if (statuses == nullptr || !statuses->is_array()) {
    return true;
  }
  for (const json::value& status : statuses->get_array()) {
    if (api::find_path(status, "state.running") != nullptr) {
      return api::find(status, "resources") != nullptr;
    }
  }
  return true;
}

/// Whether both have the same containers in the same order.
bool check_order(const Judged& was, const Judged& is) {
  const std::size_t faults = is.errors().size();
  for (const std::string_view list : {"containers", "initContainers"}) {
    if (was.size(list) != is.size(list)) {
      is[list].forbidden(fmt::format("{} may not be added or removed on resize", list));
      continue;
    }
    for (std::size_t i = 0; i < was.size(list); ++i) {
      if (was[list][i].text("name") != is[list][i].text("name")) {
        is[list][i]["name"].forbidden(
            fmt::format("{} may not be renamed or reordered on resize", list));
      }
    }
  }
  return is.errors().size() == faults;
}

void check_kept(const Judged& was, const Judged& is) {
  for (const std::string_view list : {"requests", "limits"}) {
    const auto names = was[list].names();
    if (was.size(list) > is.size(list) ||
        std::ranges::any_of(names, [&](const auto& name) { return !is[list].has(name); })) {
      is[list].forbidden(fmt::format("resource {} cannot be removed", list));
    }
  }
}

bool is_sidecar(const Judged& container) {
  return container.text("restartPolicy") == "Always";
}

json::object object_of(const Judged& value) {
  return value.object() == nullptr ? json::object() : *value.object();
}

/// The container with the cpu and memory that it had.
json::object without_sizes(const Judged& was, const Judged& is) {
  json::object out = object_of(is);
  json::object resources = object_of(is["resources"]);
  for (const std::string_view list : {"requests", "limits"}) {
    const Judged had = was["resources"][list];
    if (!had) {
      resources.erase(list);
      continue;
    }
    json::object amounts = object_of(is["resources"][list]);
    for (const std::string_view name : {"cpu", "memory"}) {
      amounts.erase(name);
      if (had.has(name)) {
        amounts[name] = *had.key(name).json();
      }
    }
    resources[list] = std::move(amounts);
  }
  out["resources"] = std::move(resources);
  return out;
}

bool same(const Judged& was, const json::object& is) {
  return was.object() != nullptr && *was.object() == is;
}

} // namespace

void check_resized_pod(const api::Object& before, const api::Object& now, FieldErrors& errors) {
  const Judged was(api::find(before.json(), "spec"), "spec", errors);
  const Judged is(api::find(now.json(), "spec"), "spec", errors);
  const auto only = [&](std::string_view why) {
    errors.clear();
    errors.push_back(forbidden_field("[]", why));
  };
  if (has_own_resources(was) || has_own_resources(is)) {
    return only("pods with pod-level resources cannot be resized");
  }
  if (before.meta().annotations.contains(kMirror)) {
    return only("static pods cannot be resized");
  }
  if (was["os"].text("name") == "windows") {
    return only("windows pods cannot be resized");
  }
  if (quality_of(before) != quality_of(now)) {
    is.invalid(quote(api::string_at(now.json(), "status.qosClass")),
               "Pod QOS Class may not change as a result of resizing");
  }
  if (!node_can_resize(before)) {
    is.forbidden("Pod running on node without support for resize");
  }
  if (!check_order(was, is)) {
    return;
  }
  const std::size_t sidecars = was.size("initContainers");
  for (std::size_t i = 0; i < sidecars; ++i) {
    if (is_sidecar(was["initContainers"][i])) {
      check_kept(was["initContainers"][i]["resources"], is["initContainers"][i]["resources"]);
    }
  }
  for (std::size_t i = 0; i < was.size("containers"); ++i) {
    check_kept(was["containers"][i]["resources"], is["containers"][i]["resources"]);
  }
  for (std::size_t i = 0; i < was.size("containers"); ++i) {
    const Judged old = was["containers"][i];
    if (!same(old, without_sizes(old, is["containers"][i]))) {
      is.forbidden("only cpu and memory resources are mutable");
    }
  }
  for (std::size_t i = 0; i < sidecars; ++i) {
    const Judged old = was["initContainers"][i];
    const Judged next = is["initContainers"][i];
    if (!is_sidecar(old) && !same(old, object_of(next))) {
      is.forbidden("resources for non-sidecar init containers are immutable");
    } else if (is_sidecar(old) && !same(old, without_sizes(old, next))) {
      is.forbidden("only cpu and memory resources for sidecar containers are mutable");
    }
  }
}

void check_debugged_pod(const api::Object& before, const api::Object& now, FieldErrors& errors) {
  const Judged was(api::find(before.json(), "spec"), "spec", errors);
  const Judged is(api::find(now.json(), "spec"), "spec", errors);
  if (before.meta().annotations.contains(kMirror)) {
    errors.clear();
    errors.push_back(forbidden_field("[]", "static pods do not support ephemeral containers"));
    return;
  }
  was.each("ephemeralContainers", [&](const Judged& old) {
    const json::value* found = nullptr;
    is.each("ephemeralContainers", [&](const Judged& next) {
      found = next.text("name") == old.text("name") ? next.json() : found;
    });
    if (found == nullptr) {
      is["ephemeralContainers"].forbidden(fmt::format(
          "existing ephemeral containers {} may not be removed\n", quote(old.text("name"))));
    } else if (*found != *old.json()) {
      is["ephemeralContainers"].forbidden(fmt::format(
          "existing ephemeral containers {} may not be changed\n", quote(old.text("name"))));
    }
  });
}

} // namespace berth::store
