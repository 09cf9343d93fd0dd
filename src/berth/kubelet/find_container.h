// Which of a runtime's containers and sandboxes a name means.
#pragma once

#include <optional>
#include <string>

#include "berth/runtime/runtime.h"

namespace berth::kubelet {

struct PodName {
  std::string ns;
  std::string name;
  std::string uid; ///< "": whichever it has
};

enum class Attempt { Last, BeforeLast };
/// By its name; nullptr if there is none.
const runtime::ContainerStatus* find_container(const runtime::Listing& listing, const PodName& pod,
                                               const std::string& container,
                                               Attempt attempt = Attempt::Last);
/// By an id as a pod's status has it, "containerd://...".
const runtime::ContainerStatus* find_container(const runtime::Listing& listing,
                                               std::string_view id);
/// The one that is ready; nullptr if none is.
const runtime::SandboxStatus* find_sandbox(const runtime::Listing& listing, const PodName& pod);

} // namespace berth::kubelet
