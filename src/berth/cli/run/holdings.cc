#include "berth/cli/run/holdings.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "berth/hardware/platform.h"
#include "berth/model/gpu_slices.h"
#include "berth/model/gpu_units.h"
#include "berth/model/node.h"
#include "berth/model/pod.h"

namespace berth::cli {
namespace {

std::vector<int> indices_of(hardware::GpuMask mask) {
  std::vector<int> out;
  for (; mask != 0; mask &= mask - 1) {
    out.push_back(std::countr_zero(mask));
  }
  return out;
}

// Hardware that Berth does not know is counted by the scheduler; which GPUs it became, the
// containers saw.
std::vector<int> indices_seen(const std::vector<runtime::ContainerFacts>& containers,
                              const std::string& node) {
  std::vector<int> out;
  for (const runtime::ContainerFacts& facts : containers) {
    for (const auto& [name, value] : facts.env) {
      if (name != "NVIDIA_VISIBLE_DEVICES") {
        continue;
      }
      for (int i = 0; i < model::kMaxGpus; ++i) {
        if (value.find(hardware::gpu_uuid(node, i)) != std::string::npos) {
          out.push_back(i);
        }
      }
    }
  }
  std::ranges::sort(out);
  return out;
}

std::vector<int> gpus_of(const model::Pod& pod, const Observer& observer) {
  const auto it = pod.meta.annotations.find(model::kGpuIndicesAnnotation);
  if (it != pod.meta.annotations.end()) {
    return indices_of(hardware::parse_gpu_indices(it->second).value_or(0));
  }
  if (const auto slices = model::slices_of_pod(pod.meta.annotations); !slices.empty()) {
    std::set<int> gpus;
    for (const auto& [resource, counts] : slices) {
      for (const auto& [gpu, count] : counts) {
        gpus.insert(gpu);
      }
    }
    return {gpus.begin(), gpus.end()};
  }
  return indices_seen(observer.containers(pod.key()), pod.spec.node_name);
}

// Bound until ended; nullopt if it never was.
std::optional<std::pair<TimePoint, TimePoint>> span_of(const cluster::PodWalk& walk,
                                                       TimePoint end) {
  using cluster::PodState;
  std::optional<TimePoint> from;
  for (const auto& [state, at] : walk.history) {
    if (!from && (state == PodState::Bound || state == PodState::ContainerCreating ||
                  state == PodState::Running)) {
      from = at;
    }
    if (from &&
        (state == PodState::Succeeded || state == PodState::Failed || state == PodState::Deleted)) {
      return std::pair(*from, at);
    }
  }
  if (!from) {
    return std::nullopt;
  }
  return std::pair(*from, end + Duration::nanos(1));
}

} // namespace

std::vector<Holding> holdings_of(const Observer& observer, TimePoint end) {
  std::vector<Holding> out;
  for (const auto& walk : observer.record().pods()) {
    const auto pod = model::pod_view(walk->last);
    const auto span = span_of(*walk, end);
    if (!pod || !span || (*pod)->spec.node_name.empty()) {
      continue;
    }
    const std::string_view gang = (*pod)->pod_group();
    out.push_back({.walk = walk,
                   .pod = walk->key.to_string(),
                   .gang = gang.empty() ? "" : fmt::format("{}/{}", walk->key.ns, gang),
                   .node = (*pod)->spec.node_name,
                   .gpus = gpus_of(**pod, observer),
                   .from = span->first,
                   .to = span->second});
  }
  return out;
}

std::vector<std::pair<TimePoint, TimePoint>> spans_held(const std::vector<Holding>& holdings) {
  using Span = std::pair<TimePoint, TimePoint>;
  std::map<std::pair<std::string, int>, std::vector<Span>> by_gpu;
  for (const Holding& holding : holdings) {
    for (const int gpu : holding.gpus) {
      by_gpu[{holding.node, gpu}].emplace_back(holding.from, holding.to);
    }
  }
  std::vector<Span> out;
  for (auto& [gpu, spans] : by_gpu) {
    std::ranges::sort(spans);
    bool open = false;
    for (const Span& span : spans) {
      if (open && span.first <= out.back().second) {
        out.back().second = std::max(out.back().second, span.second);
      } else {
        out.push_back(span);
        open = true;
      }
    }
  }
  return out;
}

TimePoint busiest_moment(const std::vector<Holding>& holdings, TimePoint fallback) {
  std::map<TimePoint, std::int64_t> changes;
  for (const auto& [from, to] : spans_held(holdings)) {
    ++changes[from];
    --changes[to];
  }
  TimePoint busiest = fallback;
  std::int64_t held = 0;
  std::int64_t most = 0;
  for (const auto& [at, change] : changes) {
    held += change;
    if (held > most) {
      most = held;
      busiest = at;
    }
  }
  return busiest;
}

bool natural_less(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) {
        return a[i] < b[j];
      }
      ++i;
      ++j;
      continue;
    }
    const auto number = [&](std::string_view text, std::size_t& at) {
      while (at < text.size() && text[at] == '0') {
        ++at;
      }
      const std::size_t first = at;
      while (at < text.size() && digit(text[at])) {
        ++at;
      }
      return text.substr(first, at - first);
    };
    const std::string_view x = number(a, i);
    const std::string_view y = number(b, j);
    if (x != y) {
      return x.size() != y.size() ? x.size() < y.size() : x < y;
    }
  }
  return a.size() - i != b.size() - j ? a.size() - i < b.size() - j : a < b;
}

int gpu_capacity(const api::Object& node) {
  const auto view = model::node_view(node);
  if (!view) {
    return 0;
  }
  const auto it = (*view)->capacity.find(model::kGpuResource);
  return it == (*view)->capacity.end()
             ? 0
             : static_cast<int>(std::clamp<std::int64_t>(it->second.value(), 0, 1024));
}

report::GpuMap map_at(TimePoint when, TimePoint start, const std::vector<Holding>& holdings,
                      const Observer& observer, const cluster::Cluster& cluster) {
  report::GpuMap map{.at = when - start, .nodes = {}};
  std::map<std::string, std::size_t> rows;
  for (const auto& [name, history] : observer.nodes()) {
    const NodeChange* now = history.at(when);
    // What nvidia.com/gpu counts may be replicas, or nothing where GPUs go by other names.
    const hardware::Platform* platform = cluster.platform_of(name);
    const int gpus =
        platform ? static_cast<int>(platform->gpus.size()) : gpu_capacity(history.last);
    if (now == nullptr || !now->present || gpus == 0) {
      continue;
    }
    report::NodeMap row{
        .node = name, .platform = platform == nullptr ? "" : platform->name, .gpus = {}};
    row.gpus.resize(static_cast<std::size_t>(gpus));
    for (const int broken : indices_of(now->unhealthy)) {
      if (broken < gpus) {
        row.gpus[static_cast<std::size_t>(broken)].state = report::GpuCell::State::Unhealthy;
      }
    }
    map.nodes.push_back(std::move(row));
  }
  std::ranges::sort(map.nodes, natural_less, &report::NodeMap::node);
  for (std::size_t i = 0; i < map.nodes.size(); ++i) {
    rows.emplace(map.nodes[i].node, i);
  }
  for (const Holding& holding : holdings) {
    const auto row = rows.find(holding.node);
    if (!holding.at(when) || row == rows.end()) {
      continue;
    }
    for (const int gpu : holding.gpus) {
      auto& cells = map.nodes[row->second].gpus;
      if (static_cast<std::size_t>(gpu) >= cells.size()) {
        continue;
      }
      report::GpuCell& cell = cells[static_cast<std::size_t>(gpu)];
      cell.holder = holding.pod;
      if (cell.state == report::GpuCell::State::Free) {
        cell.state = report::GpuCell::State::Held;
      }
    }
  }
  return map;
}

} // namespace berth::cli
