#include "berth/node/start_holds.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/node/pod_actions.h"
#include "berth/node/pod_verdict.h"

namespace berth::node {
namespace {

constexpr Duration kUnderWay = Duration::seconds(1);
constexpr Duration kFirstRetry = Duration::seconds(10);
constexpr Duration kLastRetry = Duration::seconds(300);
constexpr std::string_view kBackOff = "CrashLoopBackOff";

} // namespace

void StartHolds::failed(const std::string& name, TimePoint now) {
  const int times = std::min(failures_[name]++, 5);
  held_[name] = now + std::min(kFirstRetry * (std::int64_t{1} << times), kLastRetry);
}

bool StartHolds::failed(const std::string& name, const Reason& why, TimePoint now) {
  failed(name, now);
  const bool news = waiting_[name] != why;
  waiting_[name] = why;
  return news;
}

void StartHolds::hold(const std::string& name, const Reason& why, TimePoint until) {
  held_[name] = until;
  waiting_[name] = why;
}

void StartHolds::under_way(const std::string& name, TimePoint now) {
  held_[name] = now + kUnderWay;
}

void StartHolds::needs_devices(const std::string& name, Role role, const std::string& message) {
  held_[name] = TimePoint::max();
  waiting_[name] = {role == Role::App ? "ContainerCreating" : "PodInitializing",
                    "waiting for devices: " + message};
}

void StartHolds::started(const std::string& name) {
  held_.erase(name);
  waiting_.erase(name);
  failures_.erase(name);
}

bool StartHolds::devices_changed() {
  return std::erase_if(held_, [](const auto& each) { return each.second == TimePoint::max(); }) > 0;
}

void StartHolds::not_admitted(const model::Pod& pod, const std::string& message) {
  for (const model::Container& container : pod.spec.containers) {
    waiting_[container.name] = {"ContainerCreating", "waiting for devices: " + message};
  }
}

std::vector<std::string> StartHolds::show_backoff(const PodView& view, TimePoint now) {
  std::vector<std::string> fresh;
  for (const ContainerView& each : view.containers) {
    const auto until = backing_off_until(each, view.pod->spec.restart_policy, now);
    const auto shown = waiting_.find(each.spec->name);
    if (!until) {
      if (shown != waiting_.end() && shown->second.reason == kBackOff) {
        waiting_.erase(shown);
      }
      continue;
    }
    waiting_[each.spec->name] = {std::string(kBackOff),
                                 fmt::format("back-off {} restarting failed container={} pod={}",
                                             berth::to_string(restart_delay(*each.current)),
                                             each.spec->name, log_name(*view.pod))};
    if (announced_.insert(each.current->id).second) {
      fresh.push_back(each.spec->name);
    }
  }
  return fresh;
}

} // namespace berth::node
