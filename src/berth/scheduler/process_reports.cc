// What informers say of objects that single plugins read: Services and controllers (their
// selectors), quotas, and what is reported of nodes.
#include <algorithm>

#include "berth/base/log.h"
#include "berth/model/elastic_quota.h"
#include "berth/model/node_report.h"
#include "berth/model/pod_selector.h"
#include "berth/model/workload.h"
#include "berth/scheduler/process.h"

namespace berth::scheduler {
namespace {

namespace actions = sched::actions;

/// Null if there is no object, or none that can be read: said in the log.
template <class T>
std::shared_ptr<const T> view_of(const api::Object& object,
                                 Result<std::shared_ptr<const T>> (*view)(const api::Object&)) {
  if (!object) {
    return nullptr;
  }
  auto read = view(object);
  if (!read) {
    log(LogLevel::Warn, "scheduler", object.key().to_string() + ": " + to_string(read.error()));
    return nullptr;
  }
  return *std::move(read);
}

sched::EventActions action_of(const api::Object& old, const api::Object& now) {
  return !old ? actions::kAdd : !now ? actions::kDelete : actions::kUpdate;
}

} // namespace

bool Scheduler::Process::has_plugin(std::initializer_list<std::string_view> names) const {
  return std::ranges::any_of(desks_, [&](const auto& desk) {
    return std::ranges::any_of(
        names, [&](std::string_view name) { return desk->framework.find(name) != nullptr; });
  });
}

void Scheduler::Process::on_service(const api::Object& old, const api::Object& now) {
  if (auto service = view_of(now, &model::label_map_view)) {
    state_.change_workloads().set_service(std::move(service));
  } else {
    state_.change_workloads().remove_service((now ? now : old).key());
  }
}

void Scheduler::Process::on_controller(const api::Object& old, const api::Object& now) {
  const api::Object& object = now ? now : old;
  const std::string& kind = object.gvk().kind;
  auto controller = kind == "ReplicationController" ? view_of(now, &model::label_map_view)
                                                    : view_of(now, &model::pod_selector_view);
  if (controller) {
    state_.change_workloads().set_controller(kind, std::move(controller));
  } else {
    state_.change_workloads().remove_controller(kind, object.key());
  }
}

void Scheduler::Process::on_quota(const api::Object& old, const api::Object& now) {
  const auto before = view_of(old, &model::elastic_quota_view);
  const auto after = view_of(now, &model::elastic_quota_view);
  if (before && after && before->min == after->min && before->max == after->max) {
    return; // status writes help nobody
  }
  if (after) {
    state_.set_quota(after);
  } else {
    state_.remove_quota((now ? now : old).key());
  }
  tell_queue(sched::quota_changed(action_of(old, now)));
}

// Those that say nothing of vGPUs, and what was counted of them, help nobody.
void Scheduler::Process::on_resource_quota(const api::Object& old, const api::Object& now) {
  const auto before = view_of(old, &model::resource_quota_view);
  const auto after = view_of(now, &model::resource_quota_view);
  const auto limits = [](const auto& quota) {
    return quota ? sched::vgpu_limits(*quota) : sched::VgpuLimits();
  };
  if (limits(before) == limits(after)) {
    return;
  }
  if (after) {
    state_.change_vgpu_quotas().set(*after);
  } else {
    state_.change_vgpu_quotas().remove((now ? now : old).key());
  }
  tell_queue(sched::resource_quota_changed(action_of(old, now)));
}

void Scheduler::Process::on_numa_report(const api::Object& old, const api::Object& now) {
  if (const auto report = view_of(now, &model::node_resource_topology_view)) {
    state_.set_numa_report(*report);
  } else {
    state_.remove_numa_report((now ? now : old).meta().name);
  }
  tell_queue(sched::numa_report_changed(action_of(old, now)));
}

void Scheduler::Process::on_node_metrics(const api::Object& old, const api::Object& now) {
  if (auto metrics = view_of(now, &model::node_metrics_view)) {
    state_.set_node_metrics(std::move(metrics));
  } else {
    state_.remove_node_metrics((now ? now : old).meta().name);
  }
}

} // namespace berth::scheduler
