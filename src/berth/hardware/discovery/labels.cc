#include "berth/hardware/discovery/labels.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "berth/hardware/label_value.h"

namespace berth::hardware {

namespace {

constexpr std::string_view kPrefix = "nvidia.com/";

std::string_view word_of(Sharing sharing) {
  switch (sharing) {
  case Sharing::None:
    return "none";
  case Sharing::TimeSlicing:
    return "time-slicing";
  case Sharing::Mps:
    return "mps";
  }
  return "none";
}

class Labelling {
 public:
  Labelling(NodeFacts facts, const LabelOptions& options)
      : facts_(std::move(facts)), options_(options) {}

  api::Labels run() {
    if (facts_.gpus.empty()) {
      return {};
    }
    add_state();
    std::erase_if(facts_.gpus, &without_product);
    if (facts_.gpus.empty()) {
      return std::move(out_);
    }
    if (options_.timestamp) {
      set("gfd.timestamp", *options_.timestamp);
    }
    set("gpu.machine", label_value(facts_.machine.empty() ? "unknown" : facts_.machine));
    add_versions();
    add_node_wide();
    add_gpus();
    if (options_.mig == MigStrategy::Single) {
      set("mig.strategy", "single");
      add_single();
    } else if (options_.mig == MigStrategy::Mixed) {
      set("mig.strategy", "mixed");
      add_mixed();
    }
    return std::move(out_);
  }

 private:
  /// How a resource's devices are shared; MIG-enabled GPUs behind MIG devices are not given out,
  /// and so are neither.
  enum class Given { Shared, NotGiven };

  template <class Value> void set(std::string_view key, const Value& value) {
    out_[fmt::format("{}{}", kPrefix, key)] = fmt::format("{}", value);
  }

  static bool without_product(const GpuFacts& gpu) { return gpu.info.product.empty(); }

  void add_state() {
    const bool pending = std::ranges::any_of(facts_.gpus, &GpuFacts::mig_pending);
    if (pending || std::ranges::any_of(facts_.gpus, &without_product)) {
      out_[std::string(kMigStateLabel)] = pending ? kMigPending : kGpuUnknown;
    }
  }

  void add_versions() {
    const std::string& full = facts_.driver;
    const std::size_t first = std::min(full.find('.'), full.size());
    const std::size_t second = std::min(full.find('.', first + 1), full.size());
    const std::string major = full.substr(0, first);
    const std::string minor =
        first < full.size() ? full.substr(first + 1, second - first - 1) : std::string();
    const std::string revision = second < full.size() ? full.substr(second + 1) : std::string();
    set("cuda.driver.major", major);
    set("cuda.driver.minor", minor);
    set("cuda.driver.rev", revision);
    set("cuda.driver-version.major", major);
    set("cuda.driver-version.minor", minor);
    set("cuda.driver-version.revision", revision);
    set("cuda.driver-version.full", full);
    set("cuda.runtime.major", facts_.cuda_major);
    set("cuda.runtime.minor", facts_.cuda_minor);
    set("cuda.runtime-version.major", facts_.cuda_major);
    set("cuda.runtime-version.minor", facts_.cuda_minor);
    set("cuda.runtime-version.full", fmt::format("{}.{}", facts_.cuda_major, facts_.cuda_minor));
  }

  void add_node_wide() {
    const bool mig = std::ranges::any_of(facts_.gpus, &GpuFacts::mig_capable);
    set("mig.capable", mig);
    set("mps.capable", options_.sharing == Sharing::Mps);
    set("vgpu.present", false);
    const int pci_class = facts_.gpus.front().pci_class;
    set("gpu.mode", pci_class == 0x030200   ? "compute"
                    : pci_class == 0x030000 ? "graphics"
                                            : "unknown");
    for (const GpuFacts& gpu : facts_.gpus) {
      if (!gpu.fabric.empty()) {
        set("gpu.clique", gpu.fabric);
        break;
      }
    }
  }

  bool shared() const { return options_.sharing != Sharing::None && options_.replicas > 1; }

  void add_resource(std::string_view resource, std::string product, std::size_t count,
                    Given given) {
    const bool is_shared = given == Given::Shared && shared();
    if (is_shared && !options_.renamed) {
      product += "-SHARED";
    }
    set(fmt::format("{}.product", resource), product);
    set(fmt::format("{}.count", resource), count);
    set(fmt::format("{}.replicas", resource), given == Given::NotGiven ? 0
                                              : is_shared              ? options_.replicas
                                                                       : 1);
    set(fmt::format("{}.sharing-strategy", resource),
        word_of(is_shared ? options_.sharing : Sharing::None));
  }

  /// Of several models on one node the last counts, and one with whole GPUs before one without.
  void add_gpus() {
    for (const bool with_mig : {true, false}) {
      for (const GpuFacts& gpu : facts_.gpus) {
        if (gpu.mig_enabled != with_mig) {
          continue;
        }
        const auto alike = std::ranges::count(facts_.gpus, gpu.info.product,
                                              [](const GpuFacts& g) { return g.info.product; });
        add_resource("gpu", label_value(gpu.info.product), static_cast<std::size_t>(alike),
                     with_mig ? Given::NotGiven : Given::Shared);
        if (gpu.info.memory_mib > 0) {
          set("gpu.memory", gpu.info.memory_mib);
        }
        if (gpu.compute_major > 0) {
          set("gpu.family", gpu.family);
          set("gpu.compute.major", gpu.compute_major);
          set("gpu.compute.minor", gpu.compute_minor);
        }
      }
    }
  }

  void add_mig(std::string_view resource, const GpuFacts& gpu, const MigDevice& device,
               std::size_t count) {
    add_resource(resource, label_value(fmt::format("{}-MIG-{}", gpu.info.product, name_of(device))),
                 count, Given::Shared);
    const auto add = [&](std::string_view key, std::int64_t value) {
      set(fmt::format("{}.{}", resource, key), value);
    };
    add("memory", device.memory_mib);
    add("multiprocessors", device.multiprocessors);
    add("slices.gi", device.gpu_slices);
    add("slices.ci", device.compute_slices);
    add("engines.copy", device.copy_engines);
    add("engines.decoder", device.decoders);
    add("engines.encoder", device.encoders);
    add("engines.jpeg", device.jpeg_engines);
    add("engines.ofa", device.ofa_engines);
  }

  /// A profile as resources spell it: "1g.10gb+me" is "1g.10gb.me".
  static std::string name_of(const MigDevice& device) {
    std::string name = device.profile;
    std::ranges::replace(name, '+', '.');
    return name;
  }

  void add_single() {
    const auto enabled = std::ranges::find(facts_.gpus, true, &GpuFacts::mig_enabled);
    if (enabled == facts_.gpus.end()) {
      return; // as strategy none
    }
    std::size_t count = 0;
    bool valid = true;
    for (const GpuFacts& gpu : facts_.gpus) {
      valid = valid && gpu.mig_enabled && !gpu.mig.empty();
      count += gpu.mig.size();
      for (const MigDevice& device : gpu.mig) {
        valid = valid && device.profile == facts_.gpus.front().mig.front().profile;
      }
    }
    if (valid) {
      add_mig("gpu", facts_.gpus.front(), facts_.gpus.front().mig.front(), count);
      return;
    }
    set("gpu.product", label_value(enabled->info.product) + "-MIG-INVALID");
    set("gpu.count", 0);
    set("gpu.replicas", 0);
    set("gpu.memory", 0);
  }

  void add_mixed() {
    struct Kind {
      const GpuFacts* gpu = nullptr;
      const MigDevice* device = nullptr;
      std::size_t count = 0;
    };
    std::map<std::string, Kind> kinds;
    for (const GpuFacts& gpu : facts_.gpus) {
      for (const MigDevice& device : gpu.mig) {
        // A part of an instance is no resource.
        if (device.compute_slices == device.gpu_slices) {
          Kind& kind = kinds.emplace(name_of(device), Kind{&gpu, &device, 0}).first->second;
          ++kind.count;
        }
      }
    }
    for (const auto& [name, kind] : kinds) {
      add_mig("mig-" + name, *kind.gpu, *kind.device, kind.count);
    }
  }

  NodeFacts facts_;
  const LabelOptions& options_;
  api::Labels out_;
};

} // namespace

Result<api::Labels> discovery_labels(const NodeFacts& facts, const LabelOptions& options) {
  if (options.sharing == Sharing::None ? options.replicas != 1 : options.replicas < 2) {
    return fail(Code::Invalid,
                options.sharing == Sharing::None
                    ? fmt::format("replicas need a sharing strategy: {}", options.replicas)
                    : fmt::format("number of replicas must be >= 2: {}", options.replicas));
  }
  if (options.sharing == Sharing::Mps && std::ranges::any_of(facts.gpus, &GpuFacts::mig_enabled)) {
    return fail(Code::Invalid, "MPS sharing is not supported for MIG devices");
  }
  return Labelling(facts, options).run();
}

std::string features_file(const api::Labels& labels) {
  std::string out;
  for (const auto& [key, value] : labels) {
    out += fmt::format("{}={}\n", key, value);
  }
  return out;
}

} // namespace berth::hardware
