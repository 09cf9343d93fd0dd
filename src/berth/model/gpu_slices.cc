#include "berth/model/gpu_slices.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "berth/model/gpu_units.h"

namespace berth::model {
namespace {

constexpr int kMostOnOne = 4096;

struct Word {
  std::string_view text;
  SliceKind kind;
  ReplicaLimit limit;
};
constexpr std::array<Word, 4> kWords = {{
    {"replicas:", SliceKind::Replica, ReplicaLimit::ByStrategy},
    {"many-replicas:", SliceKind::Replica, ReplicaLimit::None},
    {"one-replica:", SliceKind::Replica, ReplicaLimit::OneToAContainer},
    {"mig:", SliceKind::Mig, ReplicaLimit::ByStrategy},
}};

std::string format_counts(const CountByGpu& counts) {
  std::string text;
  for (const auto& [gpu, count] : counts) {
    text += fmt::format("{}{}x{}", text.empty() ? "" : ",", gpu, count);
  }
  return text;
}

/// What comes before `separator`, taken away with it.
std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

std::optional<int> number(std::string_view text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size();
  return good && value >= least && value <= most ? std::optional(value) : std::nullopt;
}

/// "0x4,1x4", ascending.
std::optional<CountByGpu> parse_counts(std::string_view text) {
  CountByGpu counts;
  while (!text.empty()) {
    std::string_view entry = take_until(text, ',');
    const auto gpu = number(take_until(entry, 'x'), 0, kMaxGpus - 1);
    const auto count = number(entry, 1, kMostOnOne);
    if (!gpu || !count || (!counts.empty() && counts.rbegin()->first >= *gpu)) {
      return std::nullopt;
    }
    counts.emplace_hint(counts.end(), *gpu, *count);
  }
  return counts;
}

std::string_view word_of(const GpuSlices& slices) {
  const auto* const word = std::ranges::find_if(kWords, [&](const Word& each) {
    return each.kind == slices.kind && (each.kind == SliceKind::Mig || each.limit == slices.limit);
  });
  return word->text;
}

std::string_view annotation(const api::Labels& annotations, std::string_view key) {
  const auto it = annotations.find(key);
  return it == annotations.end() ? std::string_view() : std::string_view(it->second);
}

} // namespace

std::string format_node_slices(const NodeSlices& slices) {
  std::string text;
  for (const auto& [resource, each] : slices) {
    text += fmt::format("{}{}={}{}", text.empty() ? "" : ";", resource, word_of(each),
                        format_counts(each.there));
  }
  return text;
}

std::string format_chosen_slices(const ChosenSlices& slices) {
  std::string text;
  for (const auto& [resource, counts] : slices) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", resource, format_counts(counts));
  }
  return text;
}

NodeSlices parse_node_slices(std::string_view text) {
  NodeSlices slices;
  while (!text.empty()) {
    std::string_view entry = take_until(text, ';');
    const std::string_view resource = take_until(entry, '=');
    GpuSlices each;
    const auto* const word = std::ranges::find_if(
        kWords, [&](const Word& known) { return entry.starts_with(known.text); });
    if (word == kWords.end()) {
      return {};
    }
    each.kind = word->kind;
    each.limit = word->limit;
    entry.remove_prefix(word->text.size());
    auto counts = parse_counts(entry);
    if (!counts || resource.empty()) {
      return {};
    }
    each.there = *std::move(counts);
    slices.insert_or_assign(std::string(resource), std::move(each));
  }
  return slices;
}

ChosenSlices parse_chosen_slices(std::string_view text) {
  ChosenSlices slices;
  while (!text.empty()) {
    std::string_view entry = take_until(text, ';');
    const std::string_view resource = take_until(entry, '=');
    auto counts = parse_counts(entry);
    if (!counts || counts->empty() || resource.empty()) {
      return {};
    }
    slices.insert_or_assign(std::string(resource), *std::move(counts));
  }
  return slices;
}

NodeSlices slices_of_node(const api::Labels& annotations) {
  return parse_node_slices(annotation(annotations, kGpuDevicesAnnotation));
}

ChosenSlices slices_of_pod(const api::Labels& annotations) {
  return parse_chosen_slices(annotation(annotations, kGpuSlicesAnnotation));
}

std::vector<std::string> one_replica_resources(const api::Labels& labels,
                                               const api::Labels& annotations) {
  constexpr std::string_view kDomain = "nvidia.com/";
  constexpr std::string_view kStrategy = ".sharing-strategy";
  std::set<std::string> resources;
  for (auto it = labels.lower_bound(kDomain); it != labels.end() && it->first.starts_with(kDomain);
       ++it) {
    if (it->second == "mps" && it->first.ends_with(kStrategy)) {
      const std::string shared = it->first.substr(0, it->first.size() - kStrategy.size());
      resources.insert({shared, shared + ".shared"});
    }
  }
  const bool mps = !resources.empty(); // one strategy is a node's
  for (const auto& [resource, slices] : slices_of_node(annotations)) {
    if (slices.kind != SliceKind::Replica) {
      continue;
    }
    switch (slices.limit) {
    case ReplicaLimit::ByStrategy:
      if (mps) {
        resources.insert(resource);
      }
      break;
    case ReplicaLimit::None:
      resources.erase(resource);
      break;
    case ReplicaLimit::OneToAContainer:
      resources.insert(resource);
      break;
    }
  }
  return {resources.begin(), resources.end()};
}

} // namespace berth::model
