// Amounts that pods add to the domains of one topology (how many match a selector, what they
// weigh), kept up pod by pod and node by node.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "berth/sched/topology.h"

namespace berth::sched {

/// A node's amount counts for its home: its domain, or none where the node does not count.
/// Invariant: the sum of a domain is that of the amounts of the nodes at home there. Values of a
/// topology that outlives the tally.
class DomainTally {
 public:
  enum class Order { Unordered, Ordered }; ///< Ordered: least() is asked for

  explicit DomainTally(const Topology& topology, Order order = Order::Unordered)
      : topology_(&topology), order_(order) {}

  const Topology& topology() const { return *topology_; }

  /// O(1), O(log domains) if ordered. Was there a change?
  bool set_home(NodeId node, DomainId home);
  DomainId home(NodeId node) const {
    return node.index() < nodes_.size() ? nodes_[node.index()].home : DomainId();
  }
  /// A pod on the node adds `amount`, or takes it away if negative. As fast as set_home.
  void add(NodeId node, std::int64_t amount);

  std::int64_t of_node(NodeId node) const {
    return node.index() < nodes_.size() ? nodes_[node.index()].amount : 0;
  }
  /// 0 for a domain where nobody is at home, and for none.
  std::int64_t at(DomainId domain) const {
    return domain.index() < domains_.size() ? domains_[domain.index()].sum : 0;
  }
  /// Domains where a node is at home.
  std::int64_t inhabited() const { return inhabited_; }
  /// Domains whose sum is not zero.
  std::int64_t nonzero() const { return nonzero_; }
  /// The least sum of an inhabited domain; 0 if there is none. Only if ordered.
  std::int64_t least() const { return by_sum_.empty() ? 0 : by_sum_.begin()->first; }

 private:
  struct Share {
    DomainId home;
    std::int64_t amount = 0;
  };
  struct Domain {
    std::int64_t sum = 0;
    std::int64_t nodes = 0;
  };
  Share& share(NodeId node);
  void change(DomainId domain, std::int64_t amount, std::int64_t nodes);

  const Topology* topology_;
  Order order_;
  std::vector<Share> nodes_;
  std::vector<Domain> domains_;
  std::int64_t inhabited_ = 0;
  std::int64_t nonzero_ = 0;
  std::map<std::int64_t, std::int64_t> by_sum_; ///< if ordered: sum -> inhabited domains with it
};

} // namespace berth::sched
