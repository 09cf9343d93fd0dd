#include "berth/sim/workloads.h"

#include <array>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/assert.h"
#include "berth/base/time.h"
#include "berth/model/gpu_share.h"
#include "berth/model/hami.h"
#include "berth/model/pod.h"

namespace berth::sim {
namespace {

namespace json = api::json;

api::Object object_of(json::value document) {
  auto made = api::Object::from_json(std::move(document));
  BERTH_ASSERT(made.has_value(), to_string(made.error()));
  return *std::move(made);
}

/// Seconds, mostly short, now and then long.
std::string random_run(Rng& rng) {
  const std::int64_t seconds = rng.chance(1, 5) ? rng.between(300, 1500) : rng.between(2, 120);
  return berth::to_string(Duration::seconds(seconds));
}

json::object container(std::int64_t gpus, Rng& rng) {
  json::object requests{{"cpu", fmt::format("{}m", rng.between(1, 40) * 100)},
                        {"memory", fmt::format("{}Mi", rng.between(1, 64) * 128)}};
  json::object resources;
  if (gpus > 0) {
    const std::string_view resource = !rng.chance(1, 5)  ? model::kGpuResource
                                      : rng.chance(1, 2) ? kSharedResource
                                                         : kMigResource;
    resources["limits"] = json::object{{resource, std::to_string(gpus)}};
  }
  resources["requests"] = std::move(requests);
  return {{"name", "main"}, {"image", "example.com/app:1"}, {"resources", std::move(resources)}};
}

/// Annotations that steer the simulated runtime; some pods fail.
json::object steering(Rng& rng) {
  json::object annotations{{model::kRunForAnnotation, random_run(rng)}};
  if (rng.chance(1, 6)) {
    annotations["berth.dev/fail-times"] = std::to_string(rng.between(1, 2));
  }
  if (rng.chance(1, 12)) {
    annotations["berth.dev/exit-code"] = "3";
  }
  if (rng.chance(1, 6)) {
    annotations["berth.dev/stop-takes"] = berth::to_string(Duration::seconds(rng.between(0, 40)));
  }
  return annotations;
}

/// In one of the dialects that a part of a GPU is asked for in.
void ask_for_part(Rng& rng, json::object& annotations) {
  const auto put = [&](std::string_view key, std::string text) {
    annotations[key] = std::move(text);
  };
  switch (rng.below(3)) {
  case 0:
    put(model::kGpuMilli, std::to_string(rng.between(1, 20) * 50));
    put(model::kGpuCount, std::to_string(rng.chance(1, 4) ? 2 : 1));
    break;
  case 1:
    put(model::kGpuFraction, fmt::format("0.{}", rng.between(1, 9)));
    break;
  default:
    put(model::kGpuMemoryMib, std::to_string(rng.between(1, 20) * 1024));
    break;
  }
}

/// Whole GPUs; none, and some part in the annotations, for every third pod.
std::int64_t random_gpus(Rng& rng, json::object& annotations) {
  static constexpr std::array<std::int64_t, 8> kSizes = {0, 1, 1, 1, 2, 2, 4, 8};
  if (rng.chance(1, 3)) {
    ask_for_part(rng, annotations);
    return 0;
  }
  return kSizes[rng.below(kSizes.size())];
}

json::object pod_spec(Rng& rng, std::int64_t gpus, std::string_view restart_policy) {
  json::object spec{{"restartPolicy", restart_policy},
                    {"containers", json::array{container(gpus, rng)}},
                    {"terminationGracePeriodSeconds", rng.between(0, 30)}};
  if (rng.chance(1, 8)) {
    spec["initContainers"] = json::array{container(rng.chance(1, 2) ? gpus : 0, rng)};
    spec["initContainers"].as_array()[0].as_object()["name"] = "prepare";
  }
  return spec;
}

/// One or two of HAMi's vGPUs for each container that asks for GPUs, and for the main one.
void ask_for_vgpus(Rng& rng, json::object& spec) {
  spec["schedulerName"] = kVgpuScheduler;
  for (const std::string_view list : {"initContainers", "containers"}) {
    json::value* containers = spec.if_contains(list);
    for (json::value& each : containers ? containers->as_array() : json::array()) {
      json::object& resources = each.as_object()["resources"].as_object();
      if (!resources.contains("limits") && list != "containers") {
        continue;
      }
      json::object limits{{model::kGpuResource, std::to_string(rng.chance(1, 4) ? 2 : 1)}};
      if (rng.chance(1, 3)) {
        limits[model::hami::kMemoryPercentage] = std::to_string(rng.between(1, 10) * 10);
      } else {
        limits[model::hami::kMemory] = std::to_string(rng.between(1, 20) * 1000);
      }
      if (rng.chance(1, 2)) {
        limits[model::hami::kCores] = std::to_string(rng.between(1, 10) * 10);
      }
      resources["limits"] = std::move(limits);
    }
  }
}

/// Its annotations say nothing of parts; about every second such pod is for vGPUs.
bool wants_vgpus(Rng& rng, Vgpus vgpus, std::int64_t gpus) {
  return vgpus == Vgpus::Some && gpus > 0 && rng.chance(1, 2);
}

} // namespace

std::vector<api::Object> random_pod(Rng& rng, std::string_view name, Vgpus vgpus) {
  static constexpr std::array<std::string_view, 3> kRestart = {"Never", "OnFailure", "Always"};
  json::object annotations = steering(rng);
  const std::int64_t gpus = random_gpus(rng, annotations);
  json::object spec = pod_spec(rng, gpus, kRestart[rng.below(kRestart.size())]);
  if (wants_vgpus(rng, vgpus, gpus)) {
    ask_for_vgpus(rng, spec);
  }
  if (rng.chance(1, 4)) {
    spec["priorityClassName"] = rng.chance(1, 2) ? "high" : "low";
  }
  if (rng.chance(1, 8)) {
    spec["nodeSelector"] = json::object{{"nvidia.com/gpu.product", "NVIDIA-L40S"}};
  }
  return {object_of(json::object{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", json::object{{"name", name}, {"annotations", std::move(annotations)}}},
      {"spec", std::move(spec)}})};
}

std::vector<api::Object> random_job(Rng& rng, std::string_view name, Vgpus vgpus) {
  const std::int64_t parallelism = rng.between(1, 4);
  json::object spec{{"parallelism", parallelism},
                    {"completions", parallelism + rng.between(0, 3)},
                    {"backoffLimit", rng.between(1, 5)},
                    {"completionMode", rng.chance(1, 2) ? "Indexed" : "NonIndexed"}};
  if (rng.chance(1, 8)) {
    spec["activeDeadlineSeconds"] = rng.between(60, 900);
  }
  if (rng.chance(1, 8)) {
    spec["ttlSecondsAfterFinished"] = rng.between(0, 120);
  }
  json::object annotations = steering(rng);
  const std::int64_t gpus = random_gpus(rng, annotations);
  json::object pod = pod_spec(rng, gpus, rng.chance(1, 2) ? "Never" : "OnFailure");
  if (wants_vgpus(rng, vgpus, gpus)) {
    ask_for_vgpus(rng, pod);
  }
  spec["template"] =
      json::object{{"metadata", json::object{{"annotations", std::move(annotations)}}},
                   {"spec", std::move(pod)}};
  return {object_of(json::object{{"apiVersion", "batch/v1"},
                                 {"kind", "Job"},
                                 {"metadata", json::object{{"name", name}}},
                                 {"spec", std::move(spec)}})};
}

std::vector<api::Object> random_gang(Rng& rng, std::string_view name) {
  const std::int64_t members = rng.between(2, 4);
  json::object annotations = steering(rng);
  std::int64_t gpus = std::array<std::int64_t, 4>{1, 2, 4, 8}[rng.below(4)];
  if (rng.chance(1, 5)) {
    ask_for_part(rng, annotations);
    gpus = 0;
  }
  json::object group_spec{{"minMember", members}};
  if (rng.chance(1, 2)) {
    group_spec["scheduleTimeoutSeconds"] = rng.between(5, 60);
  }
  const std::int64_t parallelism = members + (rng.chance(1, 4) ? 1 : 0);
  json::object metadata{{"labels", json::object{{model::kPodGroupLabel, name}}},
                        {"annotations", std::move(annotations)}};
  json::object spec{{"parallelism", parallelism},
                    {"completions", parallelism},
                    {"completionMode", "Indexed"},
                    {"backoffLimit", rng.between(1, 5)},
                    {"template", json::object{{"metadata", std::move(metadata)},
                                              {"spec", pod_spec(rng, gpus, "Never")}}}};
  return {object_of(json::object{{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
                                 {"kind", "PodGroup"},
                                 {"metadata", json::object{{"name", name}}},
                                 {"spec", std::move(group_spec)}}),
          object_of(json::object{{"apiVersion", "batch/v1"},
                                 {"kind", "Job"},
                                 {"metadata", json::object{{"name", name}}},
                                 {"spec", std::move(spec)}})};
}

std::vector<api::Object> priority_classes() {
  const auto make = [](std::string_view name, std::int64_t value) {
    return object_of(json::object{{"apiVersion", "scheduling.k8s.io/v1"},
                                  {"kind", "PriorityClass"},
                                  {"metadata", json::object{{"name", name}}},
                                  {"value", value}});
  };
  return {make("low", -10), make("high", 1000)};
}

} // namespace berth::sim
