#include "berth/sched/topology.h"

#include <algorithm>

namespace berth::sched {

void Topology::set(NodeId node, const std::string* value) {
  if (node.index() >= domains_.size()) {
    if (value == nullptr) {
      return;
    }
    domains_.resize(node.index() + 1);
    seats_.resize(node.index() + 1);
  }
  const DomainId domain = value == nullptr ? DomainId() : values_.intern(*value);
  if (domain != domains_[node.index()]) {
    leave(node);
    enter(node, domain);
  }
}

void Topology::leave(NodeId node) {
  const DomainId domain = domains_[node.index()];
  if (!domain.valid()) {
    return;
  }
  std::vector<NodeId>& members = members_[domain.index()];
  const std::uint32_t seat = seats_[node.index()];
  members[seat] = members.back();
  seats_[members[seat].index()] = seat;
  members.pop_back();
  inhabited_ -= members.empty() ? 1 : 0;
}

void Topology::enter(NodeId node, DomainId domain) {
  domains_[node.index()] = domain;
  if (!domain.valid()) {
    return;
  }
  members_.resize(std::max<std::size_t>(members_.size(), domain.index() + std::size_t{1}));
  std::vector<NodeId>& members = members_[domain.index()];
  inhabited_ += members.empty() ? 1 : 0;
  seats_[node.index()] = static_cast<std::uint32_t>(members.size());
  members.push_back(node);
}

} // namespace berth::sched
