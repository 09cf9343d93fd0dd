#include "berth/deviceplugin/registration_notice.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::deviceplugin {
namespace {

std::string with_devices(const PlannedResource& resource) {
  if (resource.devices.empty()) {
    return fmt::format("{} (no devices)", resource.name);
  }
  if (resource.sharing == inventory::Sharing::None) {
    return resource.name;
  }
  return fmt::format("{} ({} by {})", resource.name, resource.devices.size(),
                     resource.sharing == inventory::Sharing::Mps ? "MPS" : "time slicing");
}

} // namespace

RegistrationNotice::RegistrationNotice(Loop& loop, std::string directory, Say note, Say warn)
    : directory_(std::move(directory)), note_(std::move(note)), warn_(std::move(warn)), due_(loop) {
}

void RegistrationNotice::begin(std::function<std::vector<std::string>()> wanted, bool listening) {
  wanted_ = std::move(wanted);
  if (!listening) {
    note_(fmt::format("waiting for kubelet.sock in {}", directory_));
  }
  due_.set(kKubeletAnswers, [this] { look(); });
}

void RegistrationNotice::registered(const std::string& resource) {
  taken_.insert(resource);
  note_(fmt::format("the kubelet has taken {}", resource));
}

void RegistrationNotice::look() const {
  std::vector<std::string> missing = wanted_();
  std::erase_if(missing, [this](const std::string& name) { return taken_.contains(name); });
  if (!missing.empty()) {
    warn_(fmt::format("no kubelet has taken {} for {} seconds; is one running, and is {} its "
                      "directory?",
                      fmt::join(missing, ", "), kKubeletAnswers.count_seconds(), directory_));
  }
}

std::string advertised_text(const PluginSet& set, std::size_t gpus) {
  std::vector<std::string> parts;
  for (const std::string& name : set.resources()) {
    parts.push_back(with_devices(set.find(name)->resource()));
  }
  return fmt::format("{} {}{}", gpus, gpus == 1 ? "GPU" : "GPUs",
                     parts.empty() ? ", none advertised yet"
                                   : fmt::format(" as {}", fmt::join(parts, ", ")));
}

} // namespace berth::deviceplugin
