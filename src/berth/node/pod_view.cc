#include "berth/node/pod_view.h"

#include <algorithm>

namespace berth::node {

bool repeats(const PodView& view) {
  constexpr std::uint32_t kHopeless = 12;
  return !view.pod->spec.active_deadline_seconds &&
         std::ranges::any_of(view.containers, [&](const ContainerView& each) {
           const bool again_after_success = view.pod->spec.restart_policy == "Always" &&
                                            each.role == Role::App && each.previous &&
                                            each.previous->exit_code == 0;
           return again_after_success || each.next_attempt > kHopeless;
         });
}

bool restarts(Role role, std::string_view restart_policy, int exit_code) {
  switch (role) {
  case Role::Sidecar:
    return true;
  case Role::Init:
    return exit_code != 0 && restart_policy != "Never";
  case Role::App:
    return restart_policy != "Never" && (restart_policy != "OnFailure" || exit_code != 0);
  }
  return false;
}

void apply_event(PodRecord& record, const runtime::ContainerEvent& event) {
  const auto known = record.containers.find(event.status.id);
  if (event.type == runtime::ContainerEvent::Type::Deleted) {
    record.containers.erase(event.status.id);
  } else if (known == record.containers.end()) {
    if (event.type == runtime::ContainerEvent::Type::Created) {
      record.containers.emplace(event.status.id, event.status);
    }
  } else if (known->second.state <= event.status.state) {
    known->second = event.status;
  }
}

bool PodView::any_running() const {
  return std::ranges::any_of(containers, [](const ContainerView& each) { return each.running(); });
}

bool PodView::init_phase_over() const {
  return std::ranges::any_of(containers, [&](const ContainerView& each) {
    return each.role == Role::App && each.current && sandbox &&
           each.current->sandbox_id == sandbox->id;
  });
}

PodView make_pod_view(const model::Pod& pod, const PodRecord& record) {
  PodView view{.pod = &pod};
  for (const auto& [id, sandbox] : record.sandboxes) {
    if (!view.sandbox || sandbox.attempt > view.sandbox->attempt) {
      view.sandbox = &sandbox;
    }
  }
  for (const ContainerRef& ref : containers_of(pod.spec)) {
    ContainerView& each = view.containers.emplace_back();
    each.spec = ref.container;
    each.role = ref.role;
    for (const auto& [id, status] : record.containers) {
      if (status.name != ref.container->name) {
        continue;
      }
      if (!each.current || status.attempt > each.current->attempt) {
        each.previous = each.current;
        each.current = &status;
      } else if (!each.previous || status.attempt > each.previous->attempt) {
        each.previous = &status;
      }
      each.next_attempt = each.current->attempt + 1;
    }
    const bool present =
        each.current && view.sandbox && each.current->sandbox_id == view.sandbox->id;
    const bool final_end = each.exited() && ref.role == Role::App &&
                           !restarts(ref.role, pod.spec.restart_policy, each.current->exit_code);
    if (each.current && !present && !final_end) {
      each.previous = each.current;
      each.current = nullptr;
    }
  }
  return view;
}

} // namespace berth::node
