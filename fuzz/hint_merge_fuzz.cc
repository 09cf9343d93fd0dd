// Hints of several resources, as bytes: machine and rules, then for each resource how many hints
// and for each a mask and whether it is preferred. What is computed is what every combination tried
// out gives.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/base/assert.h"
#include "berth/testing/numa_machines.h"
#include "berth/testing/slow_hint_merge.h"
#include "berth/topology/hint_merge.h"

namespace {

using namespace berth::topology;

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  unsigned next() { return empty() ? 0U : data_[at_++]; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const unsigned shape = bytes.next();
  const Machine machine =
      berth::test::numa_machine({.sockets = static_cast<int>(1 + shape % 4),
                                 .nodes_per_socket = static_cast<int>(1 + shape / 4 % 2),
                                 .cores_per_node = 1,
                                 .threads = 1});
  const MergeRules rules{.all = machine.all_nodes(),
                         .nearness = shape / 8 % 2 == 1 ? MergeRules::Nearness::Counts
                                                        : MergeRules::Nearness::Ignored};
  constexpr std::size_t kMostResources = 4; // combinations multiply
  constexpr unsigned kMostHints = 6;
  std::vector<std::vector<Hint>> lists;
  while (!bytes.empty() && lists.size() < kMostResources) {
    std::vector<Hint>& list = lists.emplace_back();
    for (unsigned left = bytes.next() % (kMostHints + 1); left > 0; --left) {
      const unsigned kind = bytes.next();
      const NumaMask mask = NumaMask(bytes.next()) & rules.all;
      Hint hint{.affinity = {}, .preferred = kind % 2 == 1};
      if (kind / 2 % 8 != 0 && !mask.empty()) {
        hint.affinity = mask;
      }
      list.push_back(hint);
    }
  }
  const Hint merged = merge_hints(lists, rules, machine);
  const Hint want = berth::test::SlowHintMerge(rules, machine).merge(lists);
  BERTH_ASSERT(merged == want,
               merged.affinity->to_string() + " is not " + want.affinity->to_string());
  return 0;
}
