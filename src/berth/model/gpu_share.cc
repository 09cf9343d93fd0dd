#include "berth/model/gpu_share.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/quantity.h"
#include "berth/model/gpu_units.h"
#include "berth/model/hami.h"
#include "berth/model/requests.h"

namespace berth::model {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;
/// No GPU has 1024 GiB, so units of which a GPU has as many are MiB.
constexpr std::int64_t kFewestMiB = 1024;

std::string_view annotation(const Pod& pod, std::string_view key) {
  const auto it = pod.meta.annotations.find(key);
  return it == pod.meta.annotations.end() ? std::string_view() : std::string_view(it->second);
}

tl::unexpected<Error> refuse(std::string_view key, std::string_view value, std::string_view want) {
  return fail(Code::Invalid,
              fmt::format("annotation {} must be {}, but is \"{}\"", key, want, value));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    if (end > 0) {
      parts.push_back(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// Within [0, most], all of the text.
std::optional<int> number(std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good =
      error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= most;
  return good ? std::optional(value) : std::nullopt;
}

Result<int> read_number(const Pod& pod, std::string_view key, int absent, int most) {
  const std::string_view text = annotation(pod, key);
  if (text.empty()) {
    return absent;
  }
  if (const auto value = number(text, most)) {
    return *value;
  }
  return refuse(key, text, fmt::format("a whole number from 0 to {}", most));
}

Result<std::int64_t> read_memory(const Pod& pod) {
  const std::string_view text = annotation(pod, kGpuMem);
  if (text.empty()) {
    return 0;
  }
  const auto quantity = api::Quantity::parse(text);
  if (!quantity || quantity->value() < 0) {
    return refuse(kGpuMem, text, "an amount of memory such as 4Gi");
  }
  return quantity->value();
}

std::int64_t amount(const ResourceList& resources, std::string_view name) {
  const auto it = resources.find(name);
  return it == resources.end() ? 0 : it->second.value();
}

/// Thousandths of "0.5"; nullopt for anything but a decimal above 0 and below 1. Nobody gets less
/// than a thousandth.
std::optional<int> thousandths(std::string_view text) {
  double part = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), part);
  const bool good =
      error == std::errc() && end == text.data() + text.size() && part > 0 && part < 1;
  return good ? std::optional(std::max(1, static_cast<int>(std::lround(part * kWholeGpuMilli))))
              : std::nullopt;
}

/// Whether the pod speaks KAI's dialect; then `share` is what it asks for.
Result<bool> read_kai(const Pod& pod, GpuShare& share) {
  const std::string_view fraction = annotation(pod, kGpuFraction);
  const std::string_view memory = annotation(pod, kGpuMemoryMib);
  if (fraction.empty() && memory.empty()) {
    return false;
  }
  if (!fraction.empty() && !memory.empty()) {
    return fail(Code::Invalid, fmt::format("annotations {} and {} exclude each other", kGpuFraction,
                                           kGpuMemoryMib));
  }
  if (!fraction.empty()) {
    const auto milli = thousandths(fraction);
    if (!milli) {
      return refuse(kGpuFraction, fraction, "a number above 0 and below 1 such as 0.5");
    }
    share.milli = *milli;
  } else {
    constexpr int kMostMiB = 1 << 30;
    const auto mib = number(memory, kMostMiB);
    if (!mib || *mib == 0) {
      return refuse(kGpuMemoryMib, memory, "MiB of GPU memory such as 4096");
    }
    share.memory = *mib * kMiB;
  }
  BERTH_TRY(share.gpus, read_number(pod, kGpuFractionDevices, 1, kMaxGpus));
  return true;
}

/// Empty unless the text is distinct indices.
std::vector<int> read_indices(std::string_view text) {
  std::vector<int> indices;
  for (const std::string_view part : split(text, '-')) {
    const auto index = number(part, kMaxGpus - 1);
    if (!index) {
      return {};
    }
    indices.push_back(*index);
  }
  std::ranges::sort(indices);
  return std::ranges::adjacent_find(indices) == indices.end() ? indices : std::vector<int>();
}

std::int64_t limited(const Container& container, std::string_view resource) {
  return amount(container.resources.limits, resource);
}

/// The container that an annotation's part is for; nullptr if the pod has none of the name.
const Container* named_container(const Pod& pod, std::string_view name) {
  for (const auto* list : {&pod.spec.containers, &pod.spec.init_containers}) {
    for (const Container& container : *list) {
      if (name.empty() || container.name == name) {
        return &container;
      }
    }
  }
  return nullptr;
}

std::string_view label(const Node& node, std::string_view key) {
  const auto it = node.meta.labels.find(key);
  return it == node.meta.labels.end() ? std::string_view() : std::string_view(it->second);
}

} // namespace

Result<GpuShare> gpu_share_of(const Pod& pod, const ResourceList& requests) {
  GpuShare share;
  BERTH_TRY(share.milli, read_number(pod, kGpuMilli, 0, static_cast<int>(kWholeGpuMilli)));
  BERTH_TRY(share.memory, read_memory(pod));
  share.memory_units = amount(requests, kAliyunGpuMem);
  if (share.milli == 0 && share.memory == 0 && share.memory_units == 0) {
    BERTH_TRY(const bool kai, read_kai(pod, share));
    if (!kai) {
      return GpuShare();
    }
  } else {
    BERTH_TRY(share.gpus, read_number(pod, kGpuCount, 1, kMaxGpus));
  }
  for (const std::string_view model : split(annotation(pod, kGpuCardModel), '|')) {
    share.models.emplace_back(model);
  }
  share.indices = read_indices(annotation(pod, kGpuIndex));
  if (share.gpus == 0) {
    return GpuShare();
  }
  if (const std::int64_t whole = amount(requests, kGpuResource); whole > 0) {
    return fail(
        Code::Invalid,
        fmt::format("the pod asks for {} whole GPUs ({}) and for parts of GPUs; ask for one "
                    "of the two",
                    whole, kGpuResource));
  }
  return share;
}

Result<std::vector<ContainerShare>> container_shares(const Pod& pod, const GpuShare& share) {
  std::vector<ContainerShare> shares;
  if (share.gpus == 0) {
    return shares;
  }
  if (share.memory_units > 0) {
    for (const auto* list : {&pod.spec.containers, &pod.spec.init_containers}) {
      for (const Container& container : *list) {
        if (const std::int64_t units = limited(container, kAliyunGpuMem); units > 0) {
          shares.push_back({.container = container.name, .memory_units = units});
        }
      }
    }
  }
  if (shares.empty()) {
    const std::string_view name = annotation(pod, kGpuFractionContainer);
    const Container* container = named_container(pod, name);
    if (container == nullptr) {
      return fail(Code::Invalid,
                  fmt::format("annotation {} names container \"{}\", which the pod does not have",
                              kGpuFractionContainer, name));
    }
    shares.push_back({.container = container->name});
  }
  shares.front().milli = share.milli;
  shares.front().memory = share.memory;
  return shares;
}

ShareableGpus shareable_gpus(const Node& node) {
  return shareable_gpus(node, amount(node.allocatable, kGpuResource));
}

ShareableGpus shareable_gpus(const Node& node, std::int64_t gpu_resource) {
  ShareableGpus out;
  const auto count = [&](std::string_view resource) {
    return std::max<std::int64_t>(0, amount(node.allocatable, resource));
  };
  const std::int64_t aliyun = count(kAliyunGpuCount);
  const std::int64_t said = std::max(count(kGpuCount), aliyun);
  const std::string_view sharing = label(node, "nvidia.com/gpu.sharing-strategy");
  const std::string_view product = label(node, "nvidia.com/gpu.product");
  const bool whole = (sharing.empty() || sharing == "none") && !product.ends_with("-SHARED") &&
                     product.find("-MIG-") == std::string_view::npos && !hami::shares_gpus(node);
  const std::int64_t gpus = said > 0 ? said : whole ? gpu_resource : 0;
  if (gpus <= 0 || gpus > kMaxGpus) {
    return out;
  }
  out.gpus = static_cast<int>(gpus);
  const std::string_view model = label(node, kGpuCardModel);
  out.model = model.empty() ? label(node, "nvidia.com/gpu.product") : model;
  if (const std::int64_t units = count(kAliyunGpuMem) / gpus; units > 0) {
    out.memory_unit = units >= kFewestMiB ? kMiB : kGiB;
    out.memory = units * out.memory_unit;
  } else if (const std::int64_t total = count(kGpuMem); total > 0) {
    out.memory = total / gpus;
  } else {
    constexpr int kMostMiB = 1 << 30;
    out.memory = number(label(node, "nvidia.com/gpu.memory"), kMostMiB).value_or(0) * kMiB;
  }
  return out;
}

std::string format_gpu_index(const std::vector<int>& indices) {
  return fmt::format("{}", fmt::join(indices, "-"));
}

} // namespace berth::model
