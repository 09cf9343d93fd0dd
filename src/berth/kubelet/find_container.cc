#include "berth/kubelet/find_container.h"

#include <algorithm>
#include <vector>

namespace berth::kubelet {
namespace {

bool has(const api::Labels& labels, std::string_view name, std::string_view value) {
  const auto found = labels.find(name);
  return found != labels.end() && found->second == value;
}

} // namespace

const runtime::ContainerStatus* find_container(const runtime::Listing& listing, const PodName& pod,
                                               const std::string& container, Attempt attempt) {
  std::vector<const runtime::ContainerStatus*> attempts;
  for (const runtime::ContainerStatus& one : listing.containers) {
    if (one.name == container && has(one.labels, runtime::kPodNamespaceLabel, pod.ns) &&
        has(one.labels, runtime::kPodNameLabel, pod.name) &&
        (pod.uid.empty() || one.pod_uid == pod.uid)) {
      attempts.push_back(&one);
    }
  }
  std::ranges::stable_sort(attempts, [](const auto* a, const auto* b) {
    return a->created_at != b->created_at ? a->created_at < b->created_at : a->attempt < b->attempt;
  });
  const std::size_t back = attempt == Attempt::Last ? 1 : 2;
  return attempts.size() < back ? nullptr : attempts[attempts.size() - back];
}

const runtime::ContainerStatus* find_container(const runtime::Listing& listing,
                                               std::string_view id) {
  const std::size_t scheme = id.find("://");
  const auto found = std::ranges::find(
      listing.containers, scheme == std::string_view::npos ? id : id.substr(scheme + 3),
      &runtime::ContainerStatus::id);
  return found == listing.containers.end() ? nullptr : &*found;
}

const runtime::SandboxStatus* find_sandbox(const runtime::Listing& listing, const PodName& pod) {
  const auto found = std::ranges::find_if(listing.sandboxes, [&](const auto& one) {
    return one.state == runtime::SandboxState::Ready && one.ns == pod.ns && one.name == pod.name &&
           (pod.uid.empty() || one.uid == pod.uid);
  });
  return found == listing.sandboxes.end() ? nullptr : &*found;
}

} // namespace berth::kubelet
