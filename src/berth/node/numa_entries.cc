#include "berth/node/numa_entries.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

namespace berth::node {
namespace {

namespace json = boost::json;
using topology::CpuAssignment;
using topology::MemoryAssignment;

tl::unexpected<Error> odd(std::string_view what) {
  return fail(Code::Invalid, fmt::format("{} that nobody writes", what));
}

// Both members, or nothing is read.
Result<void> read_names(const json::value& entry, std::string& pod_uid, std::string& container) {
  pod_uid = api::string_at(entry, "podUID");
  container = api::string_at(entry, "containerName");
  if (pod_uid.empty() || container.empty()) {
    return fail(Code::Invalid, "an entry names no pod or container");
  }
  return {};
}

} // namespace

json::array write_cpu_entries(const std::vector<CpuAssignment>& assignments) {
  json::array list;
  for (const CpuAssignment& each : assignments) {
    list.push_back(json::object{{"podUID", each.pod_uid},
                                {"containerName", each.container},
                                {"cpuset", each.cpus.to_string()}});
  }
  return list;
}

json::array write_memory_entries(const std::vector<MemoryAssignment>& assignments) {
  json::array list;
  for (const MemoryAssignment& each : assignments) {
    list.push_back(json::object{{"podUID", each.pod_uid},
                                {"containerName", each.container},
                                {"memory", format_memory(each)}});
  }
  return list;
}

Result<std::vector<CpuAssignment>> read_cpu_entries(const json::value& list) {
  std::vector<CpuAssignment> read;
  if (!list.is_array()) {
    return odd("a list of CPUs");
  }
  for (const json::value& entry : list.get_array()) {
    CpuAssignment& each = read.emplace_back();
    BERTH_CHECK(read_names(entry, each.pod_uid, each.container));
    BERTH_TRY(each.cpus, topology::CpuSet::parse(api::string_at(entry, "cpuset")));
  }
  return read;
}

Result<std::vector<MemoryAssignment>> read_memory_entries(const json::value& list) {
  std::vector<MemoryAssignment> read;
  if (!list.is_array()) {
    return odd("a list of memory");
  }
  for (const json::value& entry : list.get_array()) {
    auto each = parse_memory(api::string_at(entry, "memory"));
    if (!each) {
      return odd("memory");
    }
    BERTH_CHECK(read_names(entry, each->pod_uid, each->container));
    read.push_back(*std::move(each));
  }
  return read;
}

std::string format_memory(const MemoryAssignment& assignment) {
  std::string text = assignment.nodes.to_string();
  for (const auto& [resource, bytes] : assignment.amounts) {
    text += fmt::format(" {}={}", resource, bytes);
  }
  return text;
}

std::optional<MemoryAssignment> parse_memory(std::string_view text) {
  const std::size_t blank = text.find(' ');
  const auto nodes = topology::parse_id_list(text.substr(0, blank));
  if (!nodes || nodes->empty() || nodes->back() >= topology::NumaMask::kMostNodes) {
    return std::nullopt;
  }
  MemoryAssignment read{
      .pod_uid = {}, .container = {}, .nodes = topology::NumaMask::of(*nodes), .amounts = {}};
  std::string_view rest = blank == std::string_view::npos ? "" : text.substr(blank + 1);
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    std::int64_t bytes = -1;
    if (equals != std::string_view::npos && equals > 0) {
      const std::string_view digits = part.substr(equals + 1);
      const auto number = std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
      if (number.ec != std::errc() || number.ptr != digits.data() + digits.size()) {
        return std::nullopt;
      }
    }
    if (bytes < 0) {
      return std::nullopt;
    }
    read.amounts[std::string(part.substr(0, equals))] = bytes;
  }
  return read;
}

} // namespace berth::node
