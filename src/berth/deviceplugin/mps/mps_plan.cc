#include "berth/deviceplugin/mps/mps_plan.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::deviceplugin {
namespace {

constexpr std::string_view kControl = "nvidia-cuda-mps-control";

/// GPUs by index, with how many replicas each has.
std::map<int, int> replicas_by_gpu(const PlannedResource& resource) {
  std::map<int, int> counts;
  for (const PluginDevice& device : resource.devices) {
    counts[device.gpu] += device.replica ? 1 : 0;
  }
  std::erase_if(counts, [](const auto& entry) { return entry.second == 0; });
  return counts;
}

Command compute_mode(const std::string& uuid, std::string_view mode) {
  return {.argv = {"nvidia-smi", "-i", uuid, "-c", std::string(mode)}};
}

} // namespace

std::string to_string(const Command& command) {
  const std::string line = fmt::format("{}", fmt::join(command.argv, " "));
  return command.input.empty() ? line : fmt::format("echo {} | {}", command.input, line);
}

MpsPlan plan_mps(const PlannedResource& resource, const inventory::NodeFacts& facts,
                 std::string_view root) {
  while (root.ends_with('/')) {
    root.remove_suffix(1);
  }
  const std::string own = fmt::format("{}/{}", root, resource.name);
  const std::map<std::string, std::string> environment{{"CUDA_MPS_PIPE_DIRECTORY", own + "/pipe"},
                                                       {"CUDA_MPS_LOG_DIRECTORY", own + "/log"}};
  const auto control = [&](std::string input) {
    return Command{
        .argv = {std::string(kControl)}, .environment = environment, .input = std::move(input)};
  };
  const std::map<int, int> counts = replicas_by_gpu(resource);
  MpsPlan plan{.resource = resource.name, .alive = control("get_default_active_thread_percentage")};
  plan.stop.push_back(control("quit"));
  for (const auto& [gpu, count] : counts) {
    const std::string& uuid = facts.gpus[static_cast<std::size_t>(gpu)].info.uuid;
    plan.launch.push_back(compute_mode(uuid, "EXCLUSIVE_PROCESS"));
    plan.stop.push_back(compute_mode(uuid, "DEFAULT"));
  }
  plan.launch.push_back(
      {.argv = {"mkdir", "-p", own + "/pipe", own + "/log", fmt::format("{}/shm", root)}});
  plan.launch.push_back({.argv = {std::string(kControl), "-d"}, .environment = environment});
  for (const auto& [gpu, count] : counts) {
    const std::int64_t memory = facts.gpus[static_cast<std::size_t>(gpu)].info.memory_mib;
    if (memory > 0) {
      plan.limits.push_back(
          control(fmt::format("set_default_device_pinned_mem_limit {} {}M", gpu, memory / count)));
    }
  }
  const auto most = std::ranges::max_element(counts, {}, &std::pair<const int, int>::second);
  if (most != counts.end()) {
    plan.limits.push_back(
        control(fmt::format("set_default_active_thread_percentage {}", 100 / most->second)));
  }
  plan.limits.push_back(plan.alive);
  return plan;
}

} // namespace berth::deviceplugin
