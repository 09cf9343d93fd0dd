#include "berth/node/probes/pod_probes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "berth/node/contents/spec_field.h"

namespace berth::node {
namespace {

std::string_view lower(ProbeKind kind) {
  return kind == ProbeKind::Startup ? "startup" : "liveness";
}

} // namespace

PodProbes::PodProbes(CheckPlace place, PodProbesEvents events)
    : place_(place), events_(std::move(events)) {}

void PodProbes::follow(const api::Object& pod, const PodView& view, PodCourse course) {
  std::erase_if(containers_, [&](const auto& known) {
    return std::ranges::none_of(view.containers, [&](const ContainerView& each) {
      return each.running() && each.current->id == known.first;
    });
  });
  for (const ContainerView& each : view.containers) {
    // An init container's probes would have nobody to tell.
    if (!each.running() || each.role == Role::Init || containers_.contains(each.current->id)) {
      continue;
    }
    const api::json::value* spec = container_spec(pod.json(), each.spec->name);
    if (spec && has_probes(*spec)) {
      begin(*spec, each, reach_of(view, place_.host_ip));
    }
  }
  if (course == PodCourse::Ending) {
    for (const auto& [id, probes] : containers_) {
      probes->pod_ends();
    }
  }
}

void PodProbes::begin(const api::json::value& spec, const ContainerView& container, PodReach pod) {
  const std::string id = container.current->id;
  auto probes = std::make_shared<ContainerProbes>(
      place_,
      ProbedContainer{.id = id, .started_at = container.current->started_at, .pod = std::move(pod)},
      ContainerProbesEvents{
          .tell = events_.tell,
          .on_change = events_.on_change,
          .on_failed = [failed = events_.on_failed, id, name = container.spec->name](
                           ProbeKind kind, std::optional<Duration> grace) {
            failed(
                id,
                fmt::format("Container {} failed {} probe, will be restarted", name, lower(kind)),
                grace);
          }});
  containers_.emplace(id, probes);
  probes->begin(spec);
}

void PodProbes::mark(PodView& view) const {
  for (ContainerView& each : view.containers) {
    if (!each.running()) {
      continue;
    }
    if (const auto probes = containers_.find(each.current->id); probes != containers_.end()) {
      each.starting = !probes->second->started();
      each.unready = !probes->second->ready();
    }
  }
}

} // namespace berth::node
