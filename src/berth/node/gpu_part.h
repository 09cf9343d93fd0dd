// A part of a GPU that a container has: so many thousandths, so much memory; how parts add up on
// one GPU; and how a container is told of its part. The rule of what fits is the scheduler's
// (sched/gpu_parts.h), so that both agree.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "berth/model/gpu_share.h"

namespace berth::node {

inline constexpr std::int64_t kWholeMilli = 1000; ///< thousandths of a whole GPU

struct GpuPart {
  int milli = 0;               ///< thousandths, 0..1000
  std::int64_t memory = 0;     ///< bytes; 0: none is asked for by itself
  std::int64_t gpu_memory = 0; ///< bytes of the whole GPU; 0: not known
  bool init = false;           ///< of an init container: it ends before other containers begin

  bool operator==(const GpuPart&) const = default;
};

/// What is in use of one GPU at a time.
struct PartUse {
  std::int64_t milli = 0;
  std::int64_t memory = 0; ///< bytes

  PartUse operator+(const PartUse& other) const {
    return {milli + other.milli, memory + other.memory};
  }
  bool operator==(const PartUse&) const = default;
};

/// Of one pod: the sum of its containers' parts, or the largest of its init containers' if that is
/// more.
PartUse use_of_pod(std::span<const GpuPart> parts);

/// A GPU has room for both. Memory counts only if it is asked for; where the GPU's is not known,
/// none of it can be had.
bool parts_fit(const PartUse& others, const PartUse& pod, std::int64_t gpu_memory);

/// "500 thousandths", "4096 MiB", "500 thousandths and 4096 MiB".
std::string to_string(const PartUse& use);

/// Container annotation with the part it was made with: "milli=500,memory=0,of=0,init=0".
inline constexpr std::string_view kGpuPartAnnotation = "berth.dev/gpu-part";
std::string format_part(const GpuPart& part);
/// nullopt for anything that format_part did not make.
std::optional<GpuPart> parse_part(std::string_view text);

/// What the systems that the pod speaks to tell a container of its part: KAI's GPU_PORTION and
/// RUNAI_NUM_OF_GPUS, the gpushare device plugin's ALIYUN_COM_GPU_MEM_{IDX,POD,CONTAINER,DEV}, in
/// the node's unit. `gpus` are the indices of its GPUs, "0" or "0,1". Nothing enforces them but the
/// program that reads them, or cGPU.
std::map<std::string, std::string> part_environment(const model::Pod& pod,
                                                    std::string_view container, const GpuPart& part,
                                                    const model::ShareableGpus& node,
                                                    std::string_view gpus);

} // namespace berth::node
