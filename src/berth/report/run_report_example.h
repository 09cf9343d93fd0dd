// One small run for the tests of this room: a gang member that ran, and a pod that asks for more
// GPUs than a node has.
#pragma once

#include <string>
#include <utility>

#include "berth/report/run_report.h"

namespace berth::report {

inline GpuMap two_nodes(Duration at, std::string holder) {
  const GpuCell cell =
      holder.empty() ? GpuCell{} : GpuCell{.state = GpuCell::State::Held, .holder = holder};
  return {.at = at,
          .nodes = {{.node = "dgx-h100-1", .platform = "dgx-h100", .gpus = {cell, cell}},
                    {.node = "dgx-h100-2", .platform = "dgx-h100", .gpus = {{}, {}}}}};
}

inline RunReport example() {
  RunReport r;
  r.cluster = {.platforms = {{"dgx-h100", 2}},
               .nodes = 2,
               .gpus = 4,
               .seed = 7,
               .gpu_policy = "topology",
               .speed = "virtual"};
  r.start = TimePoint::from_unix_seconds(1'767'225'600);
  r.elapsed = Duration::seconds(100);
  r.applied = {
      {.api_version = "v1", .kind = "Pod", .ns = "ml", .name = "big", .source = "a.yaml:1"}};
  PodLine trainer;
  trainer.ns = "ml";
  trainer.name = "trainer-0";
  trainer.phase = "Succeeded";
  trainer.owner = "Job/trainer";
  trainer.gang = "trainer";
  trainer.node = "dgx-h100-1";
  trainer.gpu_request = 2;
  trainer.gpus = {0, 1};
  trainer.gpu_uuids = {"GPU-a", "GPU-b"};
  trainer.all_reduce_mbps = 380'000;
  trainer.waiting = Duration::millis(20);
  trainer.starting = Duration::millis(1500);
  trainer.running = Duration::seconds(60);
  trainer.states = {{"Pending", Duration()}, {"Bound", Duration::millis(20)}};
  PodLine big;
  big.ns = "ml";
  big.name = "big";
  big.phase = "Pending";
  big.gpu_request = 16;
  big.waiting = Duration::seconds(100);
  big.states = {{"Pending", Duration()}};
  r.pods = {trainer, big};
  r.jobs = {{.ns = "ml",
             .name = "trainer",
             .status = "Complete",
             .succeeded = 1,
             .failed = 0,
             .wanted = 1,
             .duration = Duration::seconds(62),
             .message = ""}};
  r.gangs = {{.ns = "ml",
              .name = "trainer",
              .phase = "Finished",
              .min_member = 1,
              .members = 1,
              .placed = 1,
              .nodes = {"dgx-h100-1"},
              .gpus = 2,
              .all_reduce_mbps = 380'000,
              .waiting = Duration::millis(20)}};
  r.busiest = two_nodes(Duration::millis(20), "ml/trainer-0");
  r.at_end = two_nodes(Duration::seconds(100), "");
  r.gpu_millis_held = 2 * 61'500;
  r.stuck = {{.ns = "ml",
              .name = "big",
              .phase = "Pending",
              .code = "GPU_EXCEEDS_NODE",
              .summary = "no node has 16 GPUs: the largest has 2",
              .message = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.",
              .asks = "16 nvidia.com/gpu",
              .alone = Alone::Never,
              .waiting = Duration::seconds(100)}};
  return r;
}

} // namespace berth::report
