#include "berth/node/pod_alignment.h"

#include <algorithm>
#include <utility>

#include "berth/topology/policy.h"

namespace berth::node {
namespace {

using Kind = AllocationVerdict::Kind;

// What the pod uses of each resource at a time.
std::vector<DeviceRequest> whole_pod(const std::vector<DeviceRequest>& requests,
                                     const topology::PodAsk& ask) {
  std::set<std::string> resources;
  for (const DeviceRequest& each : requests) {
    resources.insert(each.resource);
  }
  std::vector<DeviceRequest> whole;
  for (const std::string& resource : resources) {
    // Parts are of the same devices in every container, or of single ones.
    const auto in_parts = std::ranges::find_if(requests, [&](const DeviceRequest& each) {
      return each.resource == resource && each.part;
    });
    if (in_parts != requests.end()) {
      DeviceRequest& all = whole.emplace_back(*in_parts);
      for (const DeviceRequest& each : requests) {
        if (each.resource == resource && each.part && !each.part->by_device.empty()) {
          all.part->by_device.insert(each.part->by_device.begin(), each.part->by_device.end());
          all.count = std::ssize(all.part->by_device);
        }
      }
      continue;
    }
    const std::int64_t count = topology::pod_total(ask, [&](const topology::ContainerAsk& part) {
      const auto it = std::ranges::find_if(requests, [&](const DeviceRequest& each) {
        return each.container == part.name && each.resource == resource;
      });
      return it == requests.end() ? std::int64_t{0} : it->count;
    });
    whole.push_back({.container = "", .role = Role::App, .resource = resource, .count = count});
  }
  return whole;
}

} // namespace

PodAlignment::PodAlignment(std::shared_ptr<DeviceBook> book, std::shared_ptr<const model::Pod> pod)
    : book_(std::move(book)), pod_(std::move(pod)), ask_(topology::ask_of(*pod_)) {}

topology::NumaBook PodAlignment::without_dying() const {
  topology::NumaBook copy = book_->numa();
  for (const std::string& uid : copy.pods()) {
    if (uid != ask_.pod_uid && book_->options().holder_state(uid) == HolderState::Dying) {
      copy.erase_pod(uid);
    }
  }
  return copy;
}

topology::Alignment PodAlignment::align(const ContainerRef& container,
                                        const std::vector<PickRequest>& devices,
                                        Holders holders) const {
  const topology::NumaBook numa = holders == Holders::Staying ? without_dying() : book_->numa();
  const topology::ContainerAsk& ask = *ask_.find(container.container->name);
  const auto from = [&](topology::Source source) {
    std::vector<topology::ResourceHints> hints;
    for (const PickRequest& each : devices) {
      hints.push_back(device_hints(*book_, each, container.role, source, holders));
    }
    return numa.align(ask_, ask, source, std::move(hints));
  };
  if (container.role == Role::Init) {
    // On what its pod has anyway, if that will do.
    topology::Alignment own = from(topology::Source::OwnPod);
    if (own.admitted && own.hint.preferred) {
      return own;
    }
  }
  return from(topology::Source::Any);
}

topology::Alignment PodAlignment::align_pod(Holders holders) const {
  std::vector<topology::ResourceHints> hints;
  for (const DeviceRequest& request : whole_pod(book_->requests_of(*pod_), ask_)) {
    PickRequest pick = pick_facts(*book_, *pod_, request, {});
    std::set<std::string> own;
    for (const Holding* holding : book_->ledger().of_pod(ask_.pod_uid)) {
      if (holding->resource == request.resource) {
        const auto ids = holding->ids();
        own.insert(ids.begin(), ids.end());
      }
    }
    if (!own.empty()) {
      pick.existing = std::vector<std::string>(own.begin(), own.end());
    }
    hints.push_back(pod_device_hints(*book_, pick, holders));
  }
  const topology::NumaBook numa = holders == Holders::Staying ? without_dying() : book_->numa();
  return numa.align_pod(ask_, std::move(hints));
}

AllocationVerdict PodAlignment::begin(const ContainerRef& container,
                                      const std::vector<PickRequest>& devices) {
  const topology::Scope scope = book_->numa().rules().alignment.scope;
  const std::string& name = container.container->name;
  if (scope == topology::Scope::Pod && of_pod_) {
    hints_[name] = *of_pod_;
    return {};
  }
  const auto decide = [&](Holders holders) {
    return scope == topology::Scope::Pod ? align_pod(holders) : align(container, devices, holders);
  };
  const topology::Alignment found = decide(Holders::Everyone);
  if (!found.admitted) {
    const bool later = decide(Holders::Staying).admitted;
    return {.kind = later ? Kind::Wait : Kind::Rejected,
            .message = topology::misalignment_message(scope),
            .reason = std::string(topology::kTopologyAffinityError)};
  }
  if (scope == topology::Scope::Pod) {
    of_pod_ = found.hint;
  }
  hints_[name] = found.hint;
  return {};
}

AllocationVerdict PodAlignment::complete(const std::string& container) {
  const topology::ContainerAsk& ask = *ask_.find(container);
  const topology::Hint hint = hints_[container];
  const bool had = book_->numa().has(ask_.pod_uid, container);
  const auto given = book_->assign_numa(ask_, ask, hint);
  if (!given) {
    const bool later = without_dying().assign(ask_, ask, hint).has_value();
    return {.kind = later ? Kind::Wait : Kind::Rejected,
            .message = given.error().message,
            .reason = given.error().reason};
  }
  if (!had) {
    given_.push_back(container);
  }
  return {};
}

void PodAlignment::take_back() {
  book_->take_back_numa(ask_.pod_uid, given_);
  given_.clear();
}

std::optional<std::set<std::int64_t>> PodAlignment::nodes_of(const std::string& container) const {
  const auto hint = hints_.find(container);
  if (hint == hints_.end() || !hint->second.affinity) {
    return std::nullopt;
  }
  std::set<std::int64_t> nodes;
  for (const int id : hint->second.affinity->ids()) {
    nodes.insert(id);
  }
  return nodes;
}

} // namespace berth::node
