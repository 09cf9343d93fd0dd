#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "berth/base/assert.h"
#include "berth/hardware/embedded.h"
#include "berth/hardware/gpu_mask.h"
#include "berth/hardware/platform.h"
#include "berth/model/gpu_slices.h"
#include "berth/model/hami.h"

namespace berth::hardware {

namespace {

constexpr std::string_view kInstanceTypeLabel = "node.kubernetes.io/instance-type";
constexpr std::string_view kProductLabel = "nvidia.com/gpu.product";
constexpr std::string_view kCountLabel = "nvidia.com/gpu.count";
constexpr std::string_view kSharingLabel = "nvidia.com/gpu.sharing-strategy";

/// The label's value, "" if absent.
std::string_view label(const model::Node& node, std::string_view key) {
  const auto found = node.meta.labels.find(key);
  return found == node.meta.labels.end() ? std::string_view{} : std::string_view{found->second};
}

/// Whether one nvidia.com/gpu is one GPU: not a time slice or an MPS share, not a MIG device under
/// strategy single, not a vGPU of HAMi's.
bool counts_whole_gpus(const model::Node& node) {
  const auto sharing = label(node, kSharingLabel);
  const auto product = label(node, kProductLabel);
  return (sharing.empty() || sharing == "none") &&
         product.find("-MIG-") == std::string_view::npos && !product.ends_with("-SHARED") &&
         !model::hami::shares_gpus(node);
}

/// The number of GPUs discovery found; -1 if it says nothing.
int discovered_count(const model::Node& node) {
  const auto text = label(node, kCountLabel);
  int count = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc{} && end == text.data() + text.size() ? count : -1;
}

/// Does the capacity in nvidia.com/gpu agree with so many GPUs? Nodes without the resource (no
/// device plugin yet) do, and nodes whose agent leaves GPUs out of it that it calls unhealthy, or
/// cut into MIG devices.
bool capacity_agrees(const model::Node& node, std::int64_t gpus) {
  const auto found = node.capacity.find(model::kGpuResource);
  const auto devices = found == node.capacity.end() ? 0 : found->second.value();
  if (devices == 0 || devices == gpus) {
    return true;
  }
  const auto annotation = node.meta.annotations.find(model::kUnhealthyGpusAnnotation);
  GpuMask otherwise = annotation == node.meta.annotations.end()
                          ? 0
                          : parse_gpu_indices(annotation->second).value_or(0);
  for (const auto& [resource, slices] : model::slices_of_node(node.meta.annotations)) {
    for (const auto& [gpu, count] : slices.there) {
      otherwise |= GpuMask{1} << gpu;
    }
  }
  return devices + std::popcount(otherwise) == gpus;
}

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

} // namespace

const Catalogue& Catalogue::builtin() {
  static const Catalogue catalogue = [] {
    Catalogue made;
    for (const auto& file : embedded_platforms()) {
      auto platform = parse_platform(file.text(), file.name);
      BERTH_ASSERT(platform, to_string(platform.error()));
      BERTH_ASSERT(platform->name + ".yaml" == file.name, file.name);
      auto name = platform->name;
      made.by_name_.emplace(std::move(name),
                            std::make_shared<const Platform>(*std::move(platform)));
    }
    return made;
  }();
  return catalogue;
}

Result<Catalogue> Catalogue::with(Platform platform) const {
  Catalogue more = *this;
  std::string name = platform.name;
  if (!more.by_name_.emplace(name, std::make_shared<const Platform>(std::move(platform))).second) {
    return fail(
        Code::AlreadyExists,
        fmt::format("the catalogue has a platform of this name; give yours another: {}", name));
  }
  return more;
}

const Platform* Catalogue::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second.get();
}

std::vector<std::string> Catalogue::names() const {
  std::vector<std::string> names;
  for (const auto& entry : by_name_) {
    names.push_back(entry.first);
  }
  return names;
}

const Platform* Catalogue::of_node(const model::Node& node) const {
  if (!counts_whole_gpus(node)) {
    return nullptr;
  }
  // What the node says of its GPUs must not contradict the platform; it may say nothing yet.
  const int count = discovered_count(node);
  const auto fits = [&](const Platform& p) {
    const auto gpus = std::ssize(p.gpus);
    return (count < 0 || count == gpus) && capacity_agrees(node, gpus);
  };
  if (const auto* named = find(label(node, model::kPlatformLabel))) {
    return fits(*named) ? named : nullptr;
  }
  if (const auto type = label(node, kInstanceTypeLabel); !type.empty()) {
    for (const auto& entry : by_name_) {
      const auto& p = *entry.second;
      if ((p.instance_type == type || contains(p.also_instance_types, type)) && fits(p)) {
        return &p;
      }
    }
  }
  if (const auto product = label(node, kProductLabel); !product.empty() && count > 0) {
    for (const auto& entry : by_name_) {
      const auto& p = *entry.second;
      if ((p.gpu_model.product == product || contains(p.also_products, product)) && fits(p)) {
        return &p;
      }
    }
  }
  return nullptr;
}

} // namespace berth::hardware
