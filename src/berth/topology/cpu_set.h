// A set of logical CPUs, and the form in which Linux writes such sets: "0-3,8".
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"

namespace berth::topology {

/// "0-3,8" of ascending ids; "" of none.
std::string format_id_list(const std::vector<int>& ids);
/// Ascending, without repetition; "" is none. Blanks around parts are allowed. Error Invalid: not a
/// list, or an id above 65535.
Result<std::vector<int>> parse_id_list(std::string_view text);

/// A value: ascending ids without repetition. Set operations are linear.
class CpuSet {
 public:
  CpuSet() = default;
  explicit CpuSet(std::vector<int> ids);
  CpuSet(std::initializer_list<int> ids) : CpuSet(std::vector<int>(ids)) {}
  static Result<CpuSet> parse(std::string_view text);

  const std::vector<int>& ids() const { return ids_; }
  std::size_t size() const { return ids_.size(); }
  int count() const { return static_cast<int>(ids_.size()); }
  bool empty() const { return ids_.empty(); }
  bool has(int id) const;
  bool contains(const CpuSet& other) const;
  bool meets(const CpuSet& other) const { return !(*this & other).empty(); }
  std::string to_string() const { return format_id_list(ids_); }
  auto begin() const { return ids_.begin(); }
  auto end() const { return ids_.end(); }

  friend CpuSet operator|(const CpuSet& a, const CpuSet& b);
  friend CpuSet operator&(const CpuSet& a, const CpuSet& b);
  friend CpuSet operator-(const CpuSet& a, const CpuSet& b);
  bool operator==(const CpuSet&) const = default;

 private:
  std::vector<int> ids_;
};

} // namespace berth::topology
