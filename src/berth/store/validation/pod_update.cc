#include "berth/store/validation/pod_update.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "berth/api/same.h"
#include "berth/store/document.h"
#include "berth/store/validation/containers.h"
#include "berth/store/validation/judged.h"
#include "berth/store/validation/line_diff.h"
#include "berth/store/validation/pod.h"
#include "berth/store/validation/spec_text.h"

namespace berth::store {
namespace {

using api::json::array;
using api::json::object;
using api::json::value;

/// Calls `check` with each object of an array member and its field path.
template <class F>
void each(const object& parent, std::string_view member, const std::string& path, const F& check) {
  const value* found = parent.if_contains(member);
  if (found == nullptr || !found->is_array()) {
    return;
  }
  for (std::size_t i = 0; i < found->get_array().size(); ++i) {
    if (const object* one = found->get_array()[i].if_object()) {
      check(*one, fmt::format("{}.{}[{}]", path, member, i));
    }
  }
}

void set_images(const value* from, object& spec, std::string_view list) {
  const value* source = from == nullptr ? nullptr : api::find(*from, list);
  value* target = spec.if_contains(list);
  if (source == nullptr || target == nullptr || !source->is_array() || !target->is_array() ||
      source->get_array().size() != target->get_array().size()) {
    return;
  }
  for (std::size_t i = 0; i < target->get_array().size(); ++i) {
    object* container = target->get_array()[i].if_object();
    if (container != nullptr) {
      (*container)["image"] = value(api::string_at(source->get_array()[i], "image"));
    }
  }
}

/// Gates may only be taken away.
void check_gates_shrink(const value& before, const value& now, FieldErrors& errors) {
  std::vector<std::string> had;
  each(before.get_object(), "schedulingGates", "spec",
       [&](const object& gate, const std::string&) { had.emplace_back(text_at(gate, "name")); });
  each(now.get_object(), "schedulingGates", "spec", [&](const object& gate, const std::string& at) {
    const std::string_view name = text_at(gate, "name");
    if (std::ranges::find(had, name) == had.end()) {
      errors.push_back(forbidden_field(
          at + ".name",
          fmt::format("only deletion is allowed, but found new scheduling gate '{}'", name)));
    }
  });
}

value without_seconds(const object& toleration) {
  object copy = toleration;
  copy.erase("tolerationSeconds");
  return copy;
}

/// Tolerations may be added and their seconds changed.
void check_tolerations_grow(const value& before, const value& now, FieldErrors& errors) {
  std::vector<value> have;
  each(now.get_object(), "tolerations", "spec", [&](const object& toleration, const std::string&) {
    have.push_back(without_seconds(toleration));
  });
  bool kept = true;
  each(before.get_object(), "tolerations", "spec",
       [&](const object& toleration, const std::string&) {
         kept = kept && std::ranges::find(have, without_seconds(toleration)) != have.end();
       });
  if (!kept) {
    errors.push_back(
        forbidden_field("spec.tolerations",
                        "existing toleration can not be modified except its tolerationSeconds"));
    return;
  }
  check_tolerations(Judged(&now, "spec", errors));
}

/// What is left of the new spec when everything that may change is as it was.
object with_old_mutables(const value& before, const value& now) {
  object spec = now.get_object();
  for (const std::string_view list : {"containers", "initContainers"}) {
    set_images(&before, spec, list);
  }
  std::vector<std::string_view> fields = {"activeDeadlineSeconds", "tolerations",
                                          "schedulingGates"};
  const value* grace = api::find(before, "terminationGracePeriodSeconds");
  const value* next = api::find(now, "terminationGracePeriodSeconds");
  if (grace != nullptr && grace->is_int64() && grace->get_int64() < 0 && next != nullptr &&
      *next == value(1)) {
    fields.emplace_back("terminationGracePeriodSeconds");
  }
  const value* gates = api::find(before, "schedulingGates");
  if (gates != nullptr && gates->is_array() && !gates->get_array().empty()) {
    fields.emplace_back("nodeSelector");
    fields.emplace_back("affinity");
  }
  for (const std::string_view field : fields) {
    if (const value* old = before.get_object().if_contains(field)) {
      spec[field] = *old;
    } else {
      spec.erase(field);
    }
  }
  return spec;
}

/// What differs, on lines of its own; "" where it cannot be shown.
std::string difference(const value& before, const object& now) {
  const auto old = spec_text(before);
  const auto next = spec_text(value(now));
  return old && next ? "\n" + line_diff(*old, *next) : "";
}

/// Whether the rest may be looked at.
bool check_container_changes(const Judged& before, const Judged& now) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    if (before.size(list) != now.size(list)) {
      now[list].forbidden("pod updates may not add or remove containers");
      return false;
    }
    now.each(list, [](const Judged& container) {
      container["image"].need_text();
      check_image_blanks(container);
    });
  }
  return true;
}

/// A deadline may be set, and brought nearer.
bool check_deadline_change(const Judged& before, const Judged& now) {
  const Judged deadline = now["activeDeadlineSeconds"];
  const auto had = before.number("activeDeadlineSeconds");
  if (const auto given = deadline.number()) {
    if (*given < 0 || *given > INT32_MAX) {
      deadline.in_range(0, INT32_MAX);
      return false;
    }
    if (had && *had < *given) {
      deadline.invalid("must be less than or equal to previous value");
      return false;
    }
  } else if (had) {
    deadline.invalid("null", "must not update from a positive integer to nil value");
  }
  return true;
}

/// While gates hold the pod its selector may become narrower.
void check_selector_grows(const Judged& before, const Judged& now) {
  for (const std::string& name : before["nodeSelector"].names()) {
    if (!now["nodeSelector"].has(name) ||
        now["nodeSelector"].text(name) != before["nodeSelector"].text(name)) {
      now["nodeSelector"].invalid(now["nodeSelector"] ? api::to_json(*now["nodeSelector"].json())
                                                      : "null",
                                  "only additions to spec.nodeSelector are allowed (no mutations "
                                  "or deletions)");
      return;
    }
  }
}

} // namespace

void check_changed_pod(const api::Object& before, const api::Object& now, FieldErrors& errors) {
  const value* old = api::find(before.json(), "spec");
  const value* next = api::find(now.json(), "spec");
  if (old == nullptr || next == nullptr || api::same(*old, *next)) {
    return;
  }
  const Judged was(old, "spec", errors);
  const Judged is(next, "spec", errors);
  if (!check_container_changes(was, is) || !check_deadline_change(was, is)) {
    return;
  }
  check_tolerations_grow(*old, *next, errors);
  check_gates_shrink(*old, *next, errors);
  if (was.size("schedulingGates") > 0) {
    check_selector_grows(was, is);
  }
  const object left = with_old_mutables(*old, *next);
  if (left != old->get_object()) {
    errors.push_back(forbidden_field(
        "spec",
        "pod updates may not change fields other than "
        "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
        "`spec.tolerations` (only additions to existing tolerations),"
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously "
        "negative)" +
            difference(*old, left)));
  }
}

} // namespace berth::store
