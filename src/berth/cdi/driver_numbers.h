// Device numbers that the kernel gives the NVIDIA driver anew at each boot: majors from
// /proc/devices, and minors of MIG's capability files from /proc/driver/nvidia-caps/mig-minors.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace berth::cdi {

/// Character devices by name, as /proc/devices lists them. The first major of a name counts.
using Majors = std::map<std::string, std::int64_t, std::less<>>;
Majors parse_proc_devices(std::string_view text);

/// "gpu0/gi1/access" -> 12. Lines that are not understood are left out.
class MigMinors {
 public:
  /// The file's text: a line "NAME MINOR" each.
  static MigMinors parse(std::string_view text);
  /// What drivers hand out: nine numbers a GPU instance, fifteen instances a GPU, from 3 on.
  static MigMinors usual(int gpus);

  /// Of a GPU instance; the GPU is named by its own minor. Nothing: the driver has none.
  std::optional<std::int64_t> gpu_instance(int gpu_minor, int gpu_instance) const;
  std::optional<std::int64_t> compute_instance(int gpu_minor, int gpu_instance,
                                               int compute_instance) const;
  bool empty() const { return minors_.empty() && usual_gpus_ == 0; }

 private:
  std::optional<std::int64_t> find(std::string_view name) const;

  std::map<std::string, std::int64_t, std::less<>> minors_;
  int usual_gpus_ = 0; ///< of so many GPUs the minors are computed
};

/// "/dev/nvidia-caps/nvidia-cap12".
std::string capability_path(std::int64_t minor);

} // namespace berth::cdi
