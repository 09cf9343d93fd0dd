#include "berth/runtime/cri/relist.h"

namespace berth::runtime::cri {
namespace {

ContainerEvent::Type type_of(ContainerState state) {
  switch (state) {
  case ContainerState::Created:
  case ContainerState::Unknown:
    break;
  case ContainerState::Running:
    return ContainerEvent::Type::Started;
  case ContainerState::Exited:
    return ContainerEvent::Type::Stopped;
  }
  return ContainerEvent::Type::Created;
}

} // namespace

std::vector<Change> changes_between(const Seen& before, const Seen& now) {
  std::vector<Change> changes;
  for (const auto& [id, state] : now) {
    const auto old = before.find(id);
    if (old == before.end()) {
      changes.push_back({id, ContainerEvent::Type::Created});
      if (type_of(state) != ContainerEvent::Type::Created) {
        changes.push_back({id, type_of(state)});
      }
    } else if (old->second != state) {
      changes.push_back({id, type_of(state)});
    }
  }
  for (const auto& [id, state] : before) {
    if (!now.contains(id)) {
      changes.push_back({id, ContainerEvent::Type::Deleted});
    }
  }
  return changes;
}

} // namespace berth::runtime::cri
