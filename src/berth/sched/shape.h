// A pod's shape: everything of it that scheduling can depend on beside its name, age and group.
// Pods made from one template share a shape, so that what was found for one holds for the others:
// which events help it, and why it fits nowhere.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "berth/sched/pod_info.h"

namespace berth::sched {

/// Do the pods look alike to every plugin? Of the labels only those count that the pod's own terms
/// (pod affinity, topology spread) name; what others' terms see of it is not part of a shape.
bool same_shape(const PodInfo& a, const PodInfo& b);
std::size_t shape_hash(const PodInfo& pod);

/// Shapes seen so far, in order of first sight. Grows with the number of distinct shapes; ids are
/// never reused. Copyable.
class ShapeTable {
 public:
  /// `pod`'s own `shape` field is not read. Expected O(size of the pod).
  ShapeId intern(const PodPtr& pod);
  std::size_t size() const { return examples_.size(); }

 private:
  std::unordered_multimap<std::size_t, ShapeId> by_hash_;
  std::vector<PodPtr> examples_; ///< by ShapeId
};

} // namespace berth::sched
