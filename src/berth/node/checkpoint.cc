#include "berth/node/checkpoint.h"

#include <array>
#include <charconv>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/node/numa_entries.h"

namespace berth::node {
namespace {

namespace json = boost::json;

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1U) ? 0x82f63b78U : 0U);
    }
    table[byte] = crc;
  }
  return table;
}
constexpr auto kCrcTable = make_crc_table();

std::string header_of(std::string_view payload) {
  return fmt::format("berth-checkpoint/1 crc32c={:08x} bytes={}\n", crc32c(payload),
                     payload.size());
}

tl::unexpected<Error> corrupted(std::string_view why) {
  return fail(Code::Invalid, fmt::format("checkpoint is corrupted: {}", why));
}

// What is written is gathered in one arena, which the bytes outlive: a node writes its checkpoint
// with every pod that comes or goes.
using Arena = json::storage_ptr;

json::array write(const std::vector<std::string>& texts, const Arena& arena) {
  return json::array(texts.begin(), texts.end(), arena);
}

json::object write(const std::map<std::string, std::string>& texts, const Arena& arena) {
  json::object out(arena);
  for (const auto& [key, value] : texts) {
    out[key] = value;
  }
  return out;
}

json::object write(const deviceplugin::ContainerAllocateResponse& response, const Arena& arena) {
  json::array mounts(arena);
  for (const deviceplugin::Mount& mount : response.mounts) {
    mounts.push_back({{"containerPath", mount.container_path},
                      {"hostPath", mount.host_path},
                      {"readOnly", mount.read_only}});
  }
  json::array devices(arena);
  for (const deviceplugin::DeviceSpec& device : response.devices) {
    devices.push_back({{"containerPath", device.container_path},
                       {"hostPath", device.host_path},
                       {"permissions", device.permissions}});
  }
  json::object out(arena);
  out["envs"] = write(response.envs, arena);
  out["mounts"] = std::move(mounts);
  out["devices"] = std::move(devices);
  out["annotations"] = write(response.annotations, arena);
  out["cdiDevices"] = write(response.cdi_devices, arena);
  return out;
}

json::object write(const Holding& holding, const Arena& arena) {
  json::object devices(arena);
  for (const auto& [numa, ids] : holding.devices) {
    devices[std::to_string(numa)] = write(ids, arena);
  }
  json::object out(arena);
  out["podUID"] = holding.pod_uid;
  out["containerName"] = holding.container;
  out["resourceName"] = holding.resource;
  out["deviceIDs"] = std::move(devices);
  if (holding.response) {
    out["allocateResponse"] = write(*holding.response, arena);
  }
  if (holding.part) {
    out["part"] = format_parts(*holding.part);
  }
  return out;
}

// Readers below trust the checksum for the shape they know and only guard against another program's
// document.
std::string text_at(const json::value& value, std::string_view key) {
  return std::string(api::string_at(value, key));
}

const json::array& list_at(const json::value& value, std::string_view key) {
  static const json::array kNone;
  const json::value* member = api::find(value, key);
  return member && member->is_array() ? member->get_array() : kNone;
}

const json::object& members_at(const json::value& value, std::string_view key) {
  static const json::object kNone;
  const json::value* member = api::find(value, key);
  return member && member->is_object() ? member->get_object() : kNone;
}

std::vector<std::string> read_texts(const json::value& value) {
  std::vector<std::string> texts;
  if (const json::array* items = value.if_array()) {
    for (const json::value& item : *items) {
      if (item.is_string()) {
        texts.emplace_back(item.get_string());
      }
    }
  }
  return texts;
}

std::map<std::string, std::string> read_map(const json::object& object) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : object) {
    if (value.is_string()) {
      texts.emplace(key, value.get_string());
    }
  }
  return texts;
}

deviceplugin::ContainerAllocateResponse read_response(const json::value& value) {
  deviceplugin::ContainerAllocateResponse response;
  response.envs = read_map(members_at(value, "envs"));
  for (const json::value& mount : list_at(value, "mounts")) {
    const json::value* read_only = api::find(mount, "readOnly");
    response.mounts.push_back(
        {.container_path = text_at(mount, "containerPath"),
         .host_path = text_at(mount, "hostPath"),
         .read_only = read_only && read_only->is_bool() && read_only->get_bool()});
  }
  for (const json::value& device : list_at(value, "devices")) {
    response.devices.push_back({.container_path = text_at(device, "containerPath"),
                                .host_path = text_at(device, "hostPath"),
                                .permissions = text_at(device, "permissions")});
  }
  response.annotations = read_map(members_at(value, "annotations"));
  if (const json::value* names = api::find(value, "cdiDevices")) {
    response.cdi_devices = read_texts(*names);
  }
  return response;
}

Result<Holding> read_holding(const json::value& value) {
  Holding holding{.pod_uid = text_at(value, "podUID"),
                  .container = text_at(value, "containerName"),
                  .resource = text_at(value, "resourceName")};
  if (holding.pod_uid.empty() || holding.container.empty() || holding.resource.empty()) {
    return corrupted("an entry names no pod, container or resource");
  }
  for (const auto& [key, ids] : members_at(value, "deviceIDs")) {
    std::int64_t numa = 0;
    const std::string text(key);
    const char* const end = text.data() + text.size();
    if (const auto read = std::from_chars(text.data(), end, numa);
        read.ec != std::errc() || read.ptr != end) {
      return corrupted("a NUMA node is no number");
    }
    holding.devices[numa] = read_texts(ids);
  }
  if (const json::value* response = api::find(value, "allocateResponse")) {
    holding.response = read_response(*response);
  }
  if (api::find(value, "part")) {
    holding.part = parse_parts(text_at(value, "part"));
    if (!holding.part) {
      return corrupted("a part of a device is none");
    }
  }
  return holding;
}

} // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char byte : bytes) {
    crc = kCrcTable[(crc ^ static_cast<unsigned char>(byte)) & 0xffU] ^ (crc >> 8);
  }
  return ~crc;
}

std::string encode_checkpoint(const Checkpoint& checkpoint) {
  json::monotonic_resource memory;
  const Arena arena(&memory);
  json::array entries(arena);
  for (const Holding& holding : checkpoint.holdings) {
    entries.push_back(write(holding, arena));
  }
  json::object registered(arena);
  for (const auto& [resource, ids] : checkpoint.registered) {
    registered[resource] = write(ids, arena);
  }
  json::value whole(json::object_kind, arena);
  json::object& document = whole.get_object();
  document["bootID"] = checkpoint.boot_id;
  document["podDeviceEntries"] = std::move(entries);
  document["registeredDevices"] = std::move(registered);
  document["departedResources"] = write(checkpoint.departed, arena);
  if (!checkpoint.unproven.empty()) {
    document["unprovenPods"] = write(checkpoint.unproven, arena);
  }
  if (!checkpoint.cpus.empty()) {
    document["podCPUEntries"] = write_cpu_entries(checkpoint.cpus);
  }
  if (!checkpoint.memory.empty()) {
    document["podMemoryEntries"] = write_memory_entries(checkpoint.memory);
  }
  const std::string payload = api::to_json(whole);
  return header_of(payload) + payload;
}

Result<Checkpoint> decode_checkpoint(std::string_view bytes) {
  const std::size_t line = bytes.find('\n');
  if (line == std::string_view::npos) {
    return corrupted("no header");
  }
  const std::string_view payload = bytes.substr(line + 1);
  if (bytes.substr(0, line + 1) != header_of(payload)) {
    return corrupted("header and content disagree");
  }
  const auto document = api::parse_json(payload);
  if (!document || !document->is_object()) {
    return corrupted("content is no JSON object");
  }
  Checkpoint checkpoint{.boot_id = text_at(*document, "bootID")};
  for (const json::value& entry : list_at(*document, "podDeviceEntries")) {
    BERTH_TRY(Holding holding, read_holding(entry));
    checkpoint.holdings.push_back(std::move(holding));
  }
  for (const auto& [resource, ids] : members_at(*document, "registeredDevices")) {
    checkpoint.registered[std::string(resource)] = read_texts(ids);
  }
  if (const json::value* departed = api::find(*document, "departedResources")) {
    checkpoint.departed = read_texts(*departed);
  }
  if (const json::value* unproven = api::find(*document, "unprovenPods")) {
    checkpoint.unproven = read_texts(*unproven);
  }
  if (const json::value* cpus = api::find(*document, "podCPUEntries")) {
    auto read = read_cpu_entries(*cpus);
    if (!read) {
      return corrupted(read.error().message);
    }
    checkpoint.cpus = *std::move(read);
  }
  if (const json::value* memory = api::find(*document, "podMemoryEntries")) {
    auto read = read_memory_entries(*memory);
    if (!read) {
      return corrupted(read.error().message);
    }
    checkpoint.memory = *std::move(read);
  }
  return checkpoint;
}

} // namespace berth::node
