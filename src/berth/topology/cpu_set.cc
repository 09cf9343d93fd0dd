#include "berth/topology/cpu_set.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace berth::topology {
namespace {

constexpr int kGreatestId = 65535;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) {
    return "";
  }
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

Result<int> parse_id(std::string_view text) {
  int id = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, id);
  if (read.ec != std::errc() || read.ptr != end || id < 0 || id > kGreatestId) {
    return fail(Code::Invalid,
                fmt::format("not a number from 0 to {} in a list such as 0-3,8: \"{}\"",
                            kGreatestId, text));
  }
  return id;
}

} // namespace

std::string format_id_list(const std::vector<int>& ids) {
  std::string text;
  for (std::size_t from = 0; from < ids.size();) {
    std::size_t to = from;
    while (to + 1 < ids.size() && ids[to + 1] == ids[to] + 1) {
      ++to;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ",", ids[from]);
    if (to > from) {
      text += fmt::format("-{}", ids[to]);
    }
    from = to + 1;
  }
  return text;
}

Result<std::vector<int>> parse_id_list(std::string_view text) {
  std::vector<int> ids;
  std::string_view rest = trimmed(text);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = trimmed(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
    if (comma != std::string_view::npos && trimmed(rest).empty()) {
      return fail(Code::Invalid, fmt::format("a list ends with a comma: \"{}\"", text));
    }
    const std::size_t dash = part.find('-');
    BERTH_TRY(const int first, parse_id(trimmed(part.substr(0, dash))));
    int last = first;
    if (dash != std::string_view::npos) {
      BERTH_TRY(last, parse_id(trimmed(part.substr(dash + 1))));
    }
    if (last < first) {
      return fail(Code::Invalid, fmt::format("a range ends before it begins: \"{}\"", part));
    }
    for (int id = first; id <= last; ++id) {
      ids.push_back(id);
    }
  }
  std::ranges::sort(ids);
  const auto repeated = std::ranges::unique(ids);
  ids.erase(repeated.begin(), repeated.end());
  return ids;
}

CpuSet::CpuSet(std::vector<int> ids) : ids_(std::move(ids)) {
  if (!std::ranges::is_sorted(ids_)) {
    std::ranges::sort(ids_);
  }
  const auto repeated = std::ranges::unique(ids_);
  ids_.erase(repeated.begin(), repeated.end());
}

Result<CpuSet> CpuSet::parse(std::string_view text) {
  BERTH_TRY(std::vector<int> ids, parse_id_list(text));
  return CpuSet(std::move(ids));
}

bool CpuSet::has(int id) const {
  return std::ranges::binary_search(ids_, id);
}

bool CpuSet::contains(const CpuSet& other) const {
  return std::ranges::includes(ids_, other.ids_);
}

CpuSet operator|(const CpuSet& a, const CpuSet& b) {
  CpuSet all;
  std::ranges::set_union(a.ids_, b.ids_, std::back_inserter(all.ids_));
  return all;
}

CpuSet operator&(const CpuSet& a, const CpuSet& b) {
  CpuSet both;
  std::ranges::set_intersection(a.ids_, b.ids_, std::back_inserter(both.ids_));
  return both;
}

CpuSet operator-(const CpuSet& a, const CpuSet& b) {
  CpuSet left;
  std::ranges::set_difference(a.ids_, b.ids_, std::back_inserter(left.ids_));
  return left;
}

} // namespace berth::topology
