#include "berth/model/hami.h"

#include <algorithm>
#include <charconv>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"

namespace berth::model::hami {
namespace {

namespace json = boost::json;

constexpr std::string_view kType = "NVIDIA";
constexpr std::string_view kSoftware = "hami-core";
constexpr int kWhole = 100;
constexpr int kMostOfAContainer = 1024;

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

constexpr std::int64_t kMost = std::int64_t{1} << 31;

std::optional<std::int64_t> number(std::string_view text) {
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
  BERTH_TRY(const std::int64_t gpus, amount(container, kGpuResource, kMostOfAContainer));
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

// What is 0, false or empty may be left out.
std::optional<std::int64_t> number_at(const json::value& object, std::string_view key) {
  const json::value* member = api::find(object, key);
  if (member == nullptr) {
    return 0;
  }
  const bool good = member->is_int64() && member->get_int64() >= 0 && member->get_int64() < kMost;
  return good ? std::optional(member->get_int64()) : std::nullopt;
}

std::optional<Device> read_device(const json::value& object) {
  const auto count = number_at(object, "count");
  const auto memory = number_at(object, "devmem");
  const auto cores = number_at(object, "devcore");
  const auto index = number_at(object, "index");
  const std::string_view uuid = api::string_at(object, "id");
  const std::string_view mode = api::string_at(object, "mode");
  const json::value* health = api::find(object, "health");
  if (!count || !memory || !cores || !index || uuid.empty()) {
    return std::nullopt;
  }
  return Device{.uuid = std::string(uuid),
                .count = static_cast<int>(*count),
                .memory = *memory,
                .cores = static_cast<int>(*cores),
                .type = std::string(api::string_at(object, "type")),
                .numa = static_cast<int>(number_at(object, "numa").value_or(0)),
                .healthy = health != nullptr && health->is_bool() && health->get_bool(),
                .index = static_cast<int>(*index),
                .mode = std::string(mode.empty() ? kSoftware : mode)};
}

std::vector<Device> read_list(std::string_view text) {
  const auto list = api::parse_json(text);
  std::vector<Device> devices;
  if (!list || !list->is_array()) {
    return devices;
  }
  for (const json::value& each : list->get_array()) {
    auto device = each.is_object() ? read_device(each) : std::nullopt;
    if (!device) {
      return {};
    }
    devices.push_back(*std::move(device));
  }
  return devices;
}

bool has_any(const PodShares& shares) {
  return std::ranges::any_of(shares, [](const auto& container) { return !container.empty(); });
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
  const std::string_view registered = annotation(node.meta.annotations, kRegister);
  if (registered.starts_with('[')) {
    return read_list(registered);
  }
  std::vector<Device> devices;
  for (const std::string_view text : split(registered, ':')) {
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

std::string encode_devices(const std::vector<Device>& devices) {
  json::array list;
  for (const Device& device : devices) {
    list.push_back(json::object{{"id", device.uuid},
                                {"index", device.index},
                                {"count", device.count},
                                {"devmem", device.memory},
                                {"devcore", device.cores},
                                {"type", device.type},
                                {"numa", device.numa},
                                {"mode", device.mode},
                                {"health", device.healthy}});
  }
  return api::to_json(list);
}

bool shares_gpus(const Node& node) {
  return !annotation(node.meta.annotations, kRegister).empty();
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

Result<PodShares> shares_to_give(const Pod& pod) {
  BERTH_TRY(const std::vector<Request> requests, requests_of(pod));
  if (requests.empty()) {
    return PodShares();
  }
  auto shares = decode_shares(annotation(pod.meta.annotations, kToAllocate));
  if (!shares || !has_any(*shares)) {
    shares = shares_of(pod);
  }
  if (!shares) {
    return fail(
        Code::Invalid,
        fmt::format("no vGPUs were chosen for the pod (annotation {}); let a scheduler that "
                    "knows HAMi's resources place it (spec.schedulerName)",
                    kToAllocate));
  }
  if (shares->size() < requests.size()) { // releases that leave out init containers
    shares->insert(shares->begin(), requests.size() - shares->size(), {});
  }
  for (std::size_t i = 0; i < shares->size(); ++i) {
    const int asked = i < requests.size() ? requests[i].gpus : 0;
    if (std::ssize((*shares)[i]) != asked) {
      return fail(
          Code::Invalid,
          fmt::format("annotation {} gives container {} of the pod {} vGPUs, but it asks for "
                      "{}; delete the pod to have it placed again",
                      kToAllocate, i, (*shares)[i].size(), asked));
    }
  }
  return *std::move(shares);
}

} // namespace berth::model::hami
