// A pod as the scheduler sees it: the decoded object and what every plugin would otherwise
// recompute. Immutable, made once an object version by ClusterState::describe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/hardware/choose.h"
#include "berth/model/gpu_share.h"
#include "berth/model/gpu_slices.h"
#include "berth/model/pod.h"
#include "berth/sched/ids.h"

namespace berth::sched {

/// A host port a pod occupies. ip "0.0.0.0" clashes with every ip.
struct HostPort {
  std::string ip;
  std::string protocol;
  int port = 0;

  auto operator<=>(const HostPort&) const = default;
};

struct PodInfo {
  std::shared_ptr<const model::Pod> pod;
  std::string uid; ///< metadata.uid; "ns/name" where the object has none
  std::int64_t priority = 0;
  /// Effective request, only amounts > 0, by id (spec 3.3).
  std::vector<std::pair<ResourceId, std::int64_t>> requests;
  std::int64_t nonzero_cpu = 0;                 ///< milli, with the scoring defaults
  std::int64_t nonzero_memory = 0;              ///< bytes, with the scoring defaults
  std::int64_t gpus = 0;                        ///< nvidia.com/gpu
  std::shared_ptr<const model::GpuShare> share; ///< null: no parts of GPUs, or they cannot be read
  std::string share_fault;                      ///< why they cannot be read; else ""
  hardware::GpuMask bound_gpus = 0; ///< annotation berth.dev/gpu-indices, or gpu-index of parts
  std::shared_ptr<const model::ChosenSlices> bound_slices; ///< annotation berth.dev/gpu-slices
  std::vector<HostPort> host_ports;                        ///< sorted
  std::vector<std::string> images;   ///< normalised; init and regular containers, image volumes
  std::int64_t image_containers = 0; ///< init + regular containers
  ShapeId shape;                     ///< of pods without a node; see shape.h
  TermsId terms;                     ///< of pods with (anti-)affinity; see affinity_terms.h

  const std::string& ns() const { return pod->meta.ns; }
  const std::string& name() const { return pod->meta.name; }
  std::int64_t request(ResourceId id) const;
  bool has_affinity() const;
};

using PodPtr = std::shared_ptr<const PodInfo>;

/// "nginx" -> "nginx:latest"; references with a tag or digest stay.
std::string normalised_image(std::string_view reference);

} // namespace berth::sched
