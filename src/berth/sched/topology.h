// The nodes by their value of one label: what topology spread and pod affinity call domains.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "berth/base/id.h"
#include "berth/sched/ids.h"

namespace berth::sched {

/// Interned by the value of one label; ids of different topologies have nothing to do with each
/// other.
using DomainId = Id<struct DomainTag>;

/// Kept by ClusterState for every label key that was asked for. Every operation is O(1).
class Topology {
 public:
  explicit Topology(std::string key) : key_(std::move(key)) {}

  const std::string& key() const { return key_; }
  /// Invalid: the node has no such label, or no object.
  DomainId domain_of(NodeId node) const {
    return node.index() < domains_.size() ? domains_[node.index()] : DomainId();
  }
  /// In no particular order.
  std::span<const NodeId> members(DomainId domain) const { return members_[domain.index()]; }
  /// Values ever seen: the upper bound (exclusive) of DomainId::index().
  std::size_t domain_slots() const { return members_.size(); }
  /// Domains that have a node.
  std::size_t inhabited() const { return inhabited_; }

  /// The node's label now has this value; null: it has none.
  void set(NodeId node, const std::string* value);

 private:
  void leave(NodeId node);
  void enter(NodeId node, DomainId domain);

  std::string key_;
  Interner<DomainId> values_;
  std::vector<DomainId> domains_;            // by node
  std::vector<std::uint32_t> seats_;         // by node: position among the domain's members
  std::vector<std::vector<NodeId>> members_; // by domain
  std::size_t inhabited_ = 0;
};

} // namespace berth::sched
