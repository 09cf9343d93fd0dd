#include "berth/model/gpu_slices.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "berth/model/gpu_units.h"

namespace berth::model {
namespace {

constexpr int kMostOnOne = 4096;

constexpr std::string_view kReplicas = "replicas:";
constexpr std::string_view kMig = "mig:";

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

std::string_view annotation(const api::Labels& annotations, std::string_view key) {
  const auto it = annotations.find(key);
  return it == annotations.end() ? std::string_view() : std::string_view(it->second);
}

} // namespace

std::string format_node_slices(const NodeSlices& slices) {
  std::string text;
  for (const auto& [resource, each] : slices) {
    text += fmt::format("{}{}={}{}", text.empty() ? "" : ";", resource,
                        each.kind == SliceKind::Mig ? kMig : kReplicas, format_counts(each.there));
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
    if (entry.starts_with(kMig)) {
      each.kind = SliceKind::Mig;
      entry.remove_prefix(kMig.size());
    } else if (entry.starts_with(kReplicas)) {
      entry.remove_prefix(kReplicas.size());
    } else {
      return {};
    }
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

} // namespace berth::model
