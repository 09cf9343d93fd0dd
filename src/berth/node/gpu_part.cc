#include "berth/node/gpu_part.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/model/gpu_units.h"
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
  std::string text =
      fmt::format("{}.{:03}", milli / model::kWholeGpuMilli, milli % model::kWholeGpuMilli);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) {
    text.pop_back();
  }
  return text;
}

PartUse most(const PartUse& a, const PartUse& b) {
  return {std::max(a.milli, b.milli), std::max(a.memory, b.memory), std::max(a.cores, b.cores),
          std::max(a.vgpus, b.vgpus), a.alone || b.alone};
}

std::string format_part(const GpuPart& part) {
  std::string text = fmt::format("milli={},memory={},of={},init={}", part.milli, part.memory,
                                 part.gpu_memory, part.init ? 1 : 0);
  if (part.is_vgpu()) {
    text +=
        fmt::format(",cores={},ofcores={},sharers={}", part.cores, part.gpu_cores, part.sharers);
  }
  return text;
}

std::optional<GpuPart> parse_part(std::string_view text) {
  constexpr std::int64_t kMost = 1 << 20; // percent of cores, containers
  const auto milli = take_number(text, "milli");
  const auto memory = milli ? take_number(text, "memory") : std::nullopt;
  const auto of = memory ? take_number(text, "of") : std::nullopt;
  const auto init = of ? take_number(text, "init") : std::nullopt;
  if (!init || *milli > model::kWholeGpuMilli || *init > 1) {
    return std::nullopt;
  }
  GpuPart part{
      .milli = static_cast<int>(*milli), .memory = *memory, .gpu_memory = *of, .init = *init == 1};
  if (text.empty()) {
    return part;
  }
  const auto cores = take_number(text, "cores");
  const auto gpu_cores = cores ? take_number(text, "ofcores") : std::nullopt;
  const auto sharers = gpu_cores ? take_number(text, "sharers") : std::nullopt;
  if (!sharers || !text.empty() || *cores > kMost || *gpu_cores > kMost || *sharers > kMost ||
      *sharers == 0) {
    return std::nullopt;
  }
  part.cores = static_cast<int>(*cores);
  part.gpu_cores = static_cast<int>(*gpu_cores);
  part.sharers = static_cast<int>(*sharers);
  return part;
}

bool has(const model::Pod& pod, std::string_view annotation) {
  const auto it = pod.meta.annotations.find(annotation);
  return it != pod.meta.annotations.end() && !it->second.empty();
}

} // namespace

const GpuPart& GpuParts::of(std::string_view id) const {
  const auto own = by_device.find(id);
  return own == by_device.end() ? each : own->second;
}

PartUse use_of_pod(std::span<const GpuPart> parts) {
  PartUse running;
  PartUse beginning;
  for (const GpuPart& part : parts) {
    constexpr int kAllCores = 100;
    const bool alone = part.is_vgpu() && part.cores == kAllCores && part.gpu_cores == kAllCores;
    const PartUse use{part.milli, part.memory, part.cores, part.is_vgpu() ? 1 : 0, alone};
    (part.init ? beginning : running) = part.init ? most(beginning, use) : running + use;
  }
  return most(beginning, running);
}

bool parts_fit(const PartUse& others, const PartUse& pod, const GpuPart& part) {
  const PartUse both = others + pod;
  const bool memory = pod.memory == 0 || both.memory <= part.gpu_memory;
  const bool vgpus =
      !part.is_vgpu() || (both.cores <= part.gpu_cores && both.vgpus <= part.sharers &&
                          (!both.alone || both.vgpus == 1));
  return both.milli <= model::kWholeGpuMilli && memory && vgpus;
}

std::string to_string(const PartUse& use) {
  std::vector<std::string> amounts;
  if (use.milli != 0) {
    amounts.push_back(fmt::format("{} thousandths", use.milli));
  }
  if (use.memory != 0) {
    amounts.push_back(fmt::format("{} MiB", use.memory / kMiB));
  }
  if (use.cores != 0) {
    amounts.push_back(fmt::format("{}% of the cores", use.cores));
  }
  return amounts.empty() ? "nothing" : fmt::format("{}", fmt::join(amounts, " and "));
}

std::string lack_of(const PartUse& others, const GpuPart& part) {
  const PartUse wanted = use_of_pod({&part, 1});
  if (part.is_vgpu() && others.vgpus >= part.sharers) {
    return fmt::format("is shared by {} containers, as many as may be", others.vgpus);
  }
  if (part.is_vgpu() && (others.alone || wanted.alone)) {
    return wanted.alone ? "is wanted with all of its cores, but shared" : "is another's alone";
  }
  const PartUse left{.milli = part.milli > 0 ? model::kWholeGpuMilli - others.milli : 0,
                     .memory = part.memory > 0 ? part.gpu_memory - others.memory : 0,
                     .cores = part.cores > 0 ? part.gpu_cores - others.cores : 0};
  return fmt::format("has {} left for {}", to_string(left), to_string(wanted));
}

std::string format_parts(const GpuParts& parts) {
  if (parts.by_device.empty()) {
    return format_part(parts.each);
  }
  std::string text;
  for (const auto& [id, part] : parts.by_device) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ";", id, format_part(part));
  }
  return text;
}

std::optional<GpuParts> parse_parts(std::string_view text) {
  if (const auto each = parse_part(text)) {
    return GpuParts{.each = *each};
  }
  GpuParts parts;
  while (!text.empty()) {
    std::string_view entry = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const std::size_t colon = entry.find(':');
    const auto part = colon == std::string_view::npos || colon == 0
                          ? std::nullopt
                          : parse_part(entry.substr(colon + 1));
    if (!part || !parts.by_device.emplace(entry.substr(0, colon), *part).second) {
      return std::nullopt;
    }
  }
  return parts.by_device.empty() ? std::nullopt : std::optional(std::move(parts));
}

std::map<std::string, std::string> part_environment(const model::Pod& pod,
                                                    std::string_view container, const GpuPart& part,
                                                    const model::ShareableGpus& node,
                                                    std::string_view gpus) {
  std::map<std::string, std::string> envs;
  const bool fraction = has(pod, model::kGpuFraction);
  if (fraction || has(pod, model::kGpuMemoryMib)) {
    const std::int64_t milli = fraction ? part.milli
                               : part.gpu_memory > 0
                                   ? part.memory * model::kWholeGpuMilli / part.gpu_memory
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

std::map<std::string, std::string> vgpu_environment(std::span<const GpuPart> parts) {
  std::map<std::string, std::string> envs;
  if (parts.empty() || !parts.front().is_vgpu()) {
    return envs;
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    envs[fmt::format("CUDA_DEVICE_MEMORY_LIMIT_{}", i)] =
        fmt::format("{}m", parts[i].memory / kMiB);
  }
  envs["CUDA_DEVICE_SM_LIMIT"] = fmt::to_string(parts.front().cores);
  return envs;
}

} // namespace berth::node
