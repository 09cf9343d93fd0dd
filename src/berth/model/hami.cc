#include "berth/model/hami.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace berth::model::hami {
namespace {

constexpr std::string_view kType = "NVIDIA";
constexpr int kWhole = 100;
constexpr int kMostGpus = 1024;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

std::optional<std::int64_t> number(std::string_view text) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size();
  return good && value >= 0 && value < kMost ? std::optional(value) : std::nullopt;
}

std::string_view annotation(const api::Labels& annotations, std::string_view key) {
  const auto it = annotations.find(key);
  return it == annotations.end() ? std::string_view() : std::string_view(it->second);
}

/// 0 if it is not named.
Result<std::int64_t> amount(const Container& container, std::string_view resource,
                            std::int64_t most) {
  for (const ResourceList* list : {&container.resources.limits, &container.resources.requests}) {
    const auto it = list->find(resource);
    if (it == list->end()) {
      continue;
    }
    const std::int64_t value = it->second.value();
    if (value < 0 || value > most) {
      return fail(Code::Invalid, fmt::format("container \"{}\": {} must be from 0 to {}, but is {}",
                                             container.name, resource, most, value));
    }
    return value;
  }
  return 0;
}

Result<Request> request_of(const Container& container) {
  constexpr std::int64_t kMostMiB = std::int64_t{1} << 30;
  Request request;
  BERTH_TRY(const std::int64_t gpus, amount(container, kGpuResource, kMostGpus));
  BERTH_TRY(request.memory, amount(container, kMemory, kMostMiB));
  BERTH_TRY(const std::int64_t percentage, amount(container, kMemoryPercentage, kWhole));
  BERTH_TRY(const std::int64_t cores, amount(container, kCores, kWhole));
  request.memory_percentage = static_cast<int>(percentage);
  request.cores = static_cast<int>(cores);
  const bool asks = gpus > 0 || request.memory > 0 || percentage > 0 || cores > 0;
  request.gpus = gpus > 0 ? static_cast<int>(gpus) : asks ? 1 : 0;
  if (asks && request.memory == 0 && percentage == 0) {
    request.memory_percentage = kWhole;
  }
  return request;
}

std::optional<Device> read_device(std::string_view text, int place) {
  constexpr std::size_t kShort = 7;
  constexpr std::size_t kLong = 9;
  const auto fields = split(text, ',');
  if (fields.size() != kShort && fields.size() != kLong) {
    return std::nullopt;
  }
  const auto count = number(fields[1]);
  const auto memory = number(fields[2]);
  const auto cores = number(fields[3]);
  const auto index =
      fields.size() == kLong ? number(fields[7]) : std::optional<std::int64_t>(place);
  if (!count || !memory || !cores || !index || fields[0].empty()) {
    return std::nullopt;
  }
  Device device{.uuid = std::string(fields[0]),
                .count = static_cast<int>(*count),
                .memory = *memory,
                .cores = static_cast<int>(*cores),
                .type = std::string(fields[4]),
                .numa = static_cast<int>(number(fields[5]).value_or(0)),
                .healthy = fields[6] == "true",
                .index = static_cast<int>(*index)};
  if (fields.size() == kLong) {
    device.mode = fields[8];
  }
  return device;
}

} // namespace

Result<std::vector<Request>> requests_of(const Pod& pod) {
  std::vector<Request> requests;
  bool any = false;
  for (const auto* list : {&pod.spec.init_containers, &pod.spec.containers}) {
    for (const Container& container : *list) {
      BERTH_TRY(const Request request, request_of(container));
      any = any || request.gpus > 0;
      requests.push_back(request);
    }
  }
  return any ? requests : std::vector<Request>();
}

std::vector<Device> devices_of(const Node& node) {
  std::vector<Device> devices;
  for (const std::string_view text : split(annotation(node.meta.annotations, kRegister), ':')) {
    if (text.empty()) {
      continue;
    }
    auto device = read_device(text, static_cast<int>(devices.size()));
    if (!device) {
      return {};
    }
    devices.push_back(*std::move(device));
  }
  return devices;
}

std::string encode_shares(const PodShares& shares) {
  std::string text;
  for (const std::vector<Share>& container : shares) {
    for (const Share& share : container) {
      text += fmt::format("{},{},{},{}:", share.uuid, kType, share.memory, share.cores);
    }
    text += ';';
  }
  return text;
}

std::optional<PodShares> decode_shares(std::string_view text) {
  if (!text.ends_with(';')) {
    return std::nullopt;
  }
  text.remove_suffix(1);
  PodShares shares;
  for (const std::string_view container : split(text, ';')) {
    std::vector<Share>& list = shares.emplace_back();
    for (const std::string_view device : split(container, ':')) {
      if (device.empty()) {
        continue;
      }
      constexpr std::size_t kFields = 4;
      const auto fields = split(device, ',');
      const auto memory = fields.size() >= kFields ? number(fields[2]) : std::nullopt;
      const auto cores = fields.size() >= kFields ? number(fields[3]) : std::nullopt;
      if (!memory || !cores || fields[0].empty()) {
        return std::nullopt;
      }
      list.push_back(
          {.uuid = std::string(fields[0]), .memory = *memory, .cores = static_cast<int>(*cores)});
    }
  }
  return shares;
}

std::optional<PodShares> shares_of(const Pod& pod) {
  return decode_shares(annotation(pod.meta.annotations, kAllocated));
}

} // namespace berth::model::hami
