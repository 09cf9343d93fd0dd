// A part of a GPU that a container has: so many thousandths, so much memory, or a vGPU of HAMi's;
// how parts add up on one GPU; and how a container is told of its part. The rule of what fits is
// the scheduler's (sched/gpu_parts.h, sched/plugins/hami.h), so that both agree.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "berth/model/gpu_share.h"

namespace berth::node {

struct GpuPart {
  int milli = 0;               ///< thousandths, 0..1000
  std::int64_t memory = 0;     ///< bytes; 0: none is asked for by itself
  std::int64_t gpu_memory = 0; ///< bytes of the whole GPU; 0: not known
  bool init = false;           ///< of an init container: it ends before other containers begin
  // Of a vGPU (model/hami.h) alone.
  int cores = 0;     ///< percent of the GPU's cores
  int gpu_cores = 0; ///< percent that all vGPUs of the GPU may have together
  int sharers = 0;   ///< how many containers may share the GPU; 0: it is no vGPU

  bool is_vgpu() const { return sharers > 0; }
  bool operator==(const GpuPart&) const = default;
};

/// What a container has of its devices: the same of each, or of some something else.
struct GpuParts {
  GpuPart each;
  std::map<std::string, GpuPart, std::less<>> by_device = {};

  const GpuPart& of(std::string_view id) const;
  bool operator==(const GpuParts&) const = default;
};

/// What is in use of one GPU at a time.
struct PartUse {
  std::int64_t milli = 0;
  std::int64_t memory = 0; ///< bytes
  std::int64_t cores = 0;  ///< percent
  std::int64_t vgpus = 0;
  bool alone = false; ///< a vGPU with all cores is among them: there may be no other

  PartUse operator+(const PartUse& other) const {
    return {milli + other.milli, memory + other.memory, cores + other.cores, vgpus + other.vgpus,
            alone || other.alone};
  }
  bool operator==(const PartUse&) const = default;
};

/// Of one pod: the sum of its containers' parts, or the largest of its init containers' if that is
/// more.
PartUse use_of_pod(std::span<const GpuPart> parts);

/// A GPU has room for both; `part`, one of the pod's, says what the whole has. Memory counts only
/// if it is asked for; where the GPU's is not known, none of it can be had. The order in which
/// vGPUs came is not asked for: the scheduler gives none without cores where all cores are gone,
/// and that may look different here.
bool parts_fit(const PartUse& others, const PartUse& pod, const GpuPart& part);

/// "500 thousandths", "4096 MiB and 30% of the cores", "nothing".
std::string to_string(const PartUse& use);
/// Why a GPU of which others have so much has no room for the part: "has 300 thousandths left for
/// 500 thousandths".
std::string lack_of(const PartUse& others, const GpuPart& part);

/// Container annotation with the parts it was made with: "milli=500,memory=0,of=0,init=0", with
/// ",cores=30,ofcores=100,sharers=10" for vGPUs; of single devices "GPU-a:milli=...;GPU-b:...".
inline constexpr std::string_view kGpuPartAnnotation = "berth.dev/gpu-part";
std::string format_parts(const GpuParts& parts);
/// nullopt for anything that format_parts did not make.
std::optional<GpuParts> parse_parts(std::string_view text);

/// What the systems that the pod speaks to tell a container of its part: KAI's GPU_PORTION and
/// RUNAI_NUM_OF_GPUS, the gpushare device plugin's ALIYUN_COM_GPU_MEM_{IDX,POD,CONTAINER,DEV}, in
/// the node's unit. `gpus` are the indices of its GPUs, "0" or "0,1". Nothing enforces them but the
/// program that reads them, or cGPU.
std::map<std::string, std::string> part_environment(const model::Pod& pod,
                                                    std::string_view container, const GpuPart& part,
                                                    const model::ShareableGpus& node,
                                                    std::string_view gpus);

/// What HAMi's library reads of vGPUs of a container, in the order of their GPUs:
/// CUDA_DEVICE_MEMORY_LIMIT_0 ("4000m"), ..., and CUDA_DEVICE_SM_LIMIT (percent; 0: no limit).
/// Nothing of parts that are none.
std::map<std::string, std::string> vgpu_environment(std::span<const GpuPart> parts);

} // namespace berth::node
