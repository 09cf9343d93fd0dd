#include "berth/sched/domain_tally.h"

namespace berth::sched {

DomainTally::Share& DomainTally::share(NodeId node) {
  if (node.index() >= nodes_.size()) {
    nodes_.resize(node.index() + std::size_t{1});
  }
  return nodes_[node.index()];
}

bool DomainTally::set_home(NodeId node, DomainId home) {
  Share& own = share(node);
  if (own.home == home) {
    return false;
  }
  if (own.home.valid()) {
    change(own.home, -own.amount, -1);
  }
  own.home = home;
  if (home.valid()) {
    change(home, own.amount, 1);
  }
  return true;
}

void DomainTally::add(NodeId node, std::int64_t amount) {
  Share& own = share(node);
  own.amount += amount;
  if (own.home.valid()) {
    change(own.home, amount, 0);
  }
}

void DomainTally::change(DomainId id, std::int64_t amount, std::int64_t nodes) {
  if (id.index() >= domains_.size()) {
    domains_.resize(id.index() + std::size_t{1});
  }
  Domain& domain = domains_[id.index()];
  const Domain before = domain;
  domain.sum += amount;
  domain.nodes += nodes;
  nonzero_ += (domain.sum != 0 ? 1 : 0) - (before.sum != 0 ? 1 : 0);
  inhabited_ += (domain.nodes > 0 ? 1 : 0) - (before.nodes > 0 ? 1 : 0);
  if (order_ == Order::Unordered) {
    return;
  }
  if (before.nodes > 0) {
    if (const auto it = by_sum_.find(before.sum); --it->second == 0) {
      by_sum_.erase(it);
    }
  }
  if (domain.nodes > 0) {
    ++by_sum_[domain.sum];
  }
}

} // namespace berth::sched
