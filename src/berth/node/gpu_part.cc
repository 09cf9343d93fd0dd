#include "berth/node/gpu_part.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "berth/model/requests.h"

namespace berth::node {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// Removes "NAME=NUMBER" and a comma after it from the front of `text`.
std::optional<std::int64_t> take_number(std::string_view& text, std::string_view name) {
  if (!text.starts_with(name) || !text.substr(name.size()).starts_with('=')) {
    return std::nullopt;
  }
  text.remove_prefix(name.size() + 1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with(',')) {
    text.remove_prefix(1);
  }
  return value;
}

/// "0.5" of 500.
std::string portion(std::int64_t milli) {
  std::string text = fmt::format("{}.{:03}", milli / kWholeMilli, milli % kWholeMilli);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) {
    text.pop_back();
  }
  return text;
}

bool has(const model::Pod& pod, std::string_view annotation) {
  const auto it = pod.meta.annotations.find(annotation);
  return it != pod.meta.annotations.end() && !it->second.empty();
}

} // namespace

PartUse use_of_pod(std::span<const GpuPart> parts) {
  PartUse running;
  PartUse beginning;
  for (const GpuPart& part : parts) {
    if (part.init) {
      beginning = {std::max<std::int64_t>(beginning.milli, part.milli),
                   std::max(beginning.memory, part.memory)};
    } else {
      running = running + PartUse{part.milli, part.memory};
    }
  }
  return {std::max(beginning.milli, running.milli), std::max(beginning.memory, running.memory)};
}

bool parts_fit(const PartUse& others, const PartUse& pod, std::int64_t gpu_memory) {
  const PartUse both = others + pod;
  return both.milli <= kWholeMilli && (pod.memory == 0 || both.memory <= gpu_memory);
}

std::string to_string(const PartUse& use) {
  const std::string milli = fmt::format("{} thousandths", use.milli);
  const std::string memory = fmt::format("{} MiB", use.memory / kMiB);
  return use.memory == 0  ? milli
         : use.milli == 0 ? memory
                          : fmt::format("{} and {}", milli, memory);
}

std::string format_part(const GpuPart& part) {
  return fmt::format("milli={},memory={},of={},init={}", part.milli, part.memory, part.gpu_memory,
                     part.init ? 1 : 0);
}

std::optional<GpuPart> parse_part(std::string_view text) {
  const auto milli = take_number(text, "milli");
  const auto memory = milli ? take_number(text, "memory") : std::nullopt;
  const auto of = memory ? take_number(text, "of") : std::nullopt;
  const auto init = of ? take_number(text, "init") : std::nullopt;
  if (!init || !text.empty() || *milli > kWholeMilli || *init > 1) {
    return std::nullopt;
  }
  return GpuPart{
      .milli = static_cast<int>(*milli), .memory = *memory, .gpu_memory = *of, .init = *init == 1};
}

std::map<std::string, std::string> part_environment(const model::Pod& pod,
                                                    std::string_view container, const GpuPart& part,
                                                    const model::ShareableGpus& node,
                                                    std::string_view gpus) {
  std::map<std::string, std::string> envs;
  const bool fraction = has(pod, model::kGpuFraction);
  if (fraction || has(pod, model::kGpuMemoryMib)) {
    const std::int64_t milli = fraction              ? part.milli
                               : part.gpu_memory > 0 ? part.memory * kWholeMilli / part.gpu_memory
                                                     : 0;
    if (milli > 0) {
      envs["GPU_PORTION"] = portion(milli);
      envs["RUNAI_NUM_OF_GPUS"] = portion(milli);
    }
  }
  std::int64_t of_pod = 0;
  std::int64_t own = 0;
  for (const model::Container& each : pod.spec.containers) {
    const auto limit = each.resources.limits.find(model::kAliyunGpuMem);
    const std::int64_t units = limit == each.resources.limits.end() ? 0 : limit->second.value();
    of_pod += units;
    own = each.name == container ? units : own;
  }
  if (own > 0) {
    envs["ALIYUN_COM_GPU_MEM_IDX"] = gpus;
    envs["ALIYUN_COM_GPU_MEM_POD"] = fmt::to_string(of_pod);
    envs["ALIYUN_COM_GPU_MEM_CONTAINER"] = fmt::to_string(own);
    if (node.memory_unit > 0) {
      envs["ALIYUN_COM_GPU_MEM_DEV"] = fmt::to_string(node.memory / node.memory_unit);
    }
  }
  return envs;
}

} // namespace berth::node
