#include "berth/runtime/cni/plugin.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/json.h"

namespace berth::runtime::cni {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 7> kVersions{"0.1.0", "0.2.0", "0.3.0", "0.3.1",
                                                    "0.4.0", "1.0.0", "1.1.0"};
constexpr std::string_view kUnsaid = "0.1.0"; ///< the version of a configuration without one
constexpr std::string_view kAddress = "127.0.0.1/8";

/// What went wrong, in the specification's numbers; those from 100 are the plugin's own.
enum class Trouble {
  IncompatibleVersion = 1,
  Environment = 4,
  Io = 5,
  Decoding = 6,
  LoopbackDown = 100,
};

struct Request {
  const PluginCall* call;
  const LoopbackDevice* device;
  std::string version;
  const json::value* previous; ///< what the plugin before it answered; nullptr: it is the first
};

PluginAnswer trouble(std::string_view version, Trouble code, std::string_view message,
                     std::string_view details = "") {
  json::object out{{"cniVersion", version}, {"code", static_cast<int>(code)}, {"msg", message}};
  if (!details.empty()) {
    out["details"] = details;
  }
  return {.out = api::to_json(out) + "\n", .exit_code = 1};
}

json::object result(const Request& request) {
  const std::string_view version = request.version;
  json::object out{{"cniVersion", version}};
  if (version < "0.3.0") {
    out["ip4"] = json::object{{"ip", kAddress}};
    out["dns"] = json::object();
    return out;
  }
  json::object interface {
    {"name", request.call->ifname}, { "sandbox", request.call->netns }
  };
  if (request.call->ifname == "lo") {
    interface["mac"] = "00:00:00:00:00:00";
  }
  json::object ip{{"interface", 0}, {"address", kAddress}};
  if (version < "1.0.0") {
    ip["version"] = "4";
  }
  out["interfaces"] = json::array{std::move(interface)};
  out["ips"] = json::array{std::move(ip)};
  out["dns"] = json::object();
  return out;
}

PluginAnswer add(const Request& request) {
  if (const auto up = request.device->bring_up(request.call->netns); !up) {
    return trouble(request.version, Trouble::Io, "the loopback device cannot be brought up",
                   up.error().message);
  }
  return {.out =
              (request.previous ? api::to_json(*request.previous) : api::to_json(result(request))) +
              "\n"};
}

PluginAnswer check(const Request& request) {
  const auto up = request.device->is_up(request.call->netns);
  if (!up) {
    return trouble(request.version, Trouble::Io, "the loopback device cannot be looked at",
                   up.error().message);
  }
  return *up ? PluginAnswer()
             : trouble(request.version, Trouble::LoopbackDown, "the loopback device is down");
}

// The device goes with its namespace, and nothing else was made.
PluginAnswer nothing(const Request&) {
  return {};
}

PluginAnswer versions(const Request& request) {
  return {.out = api::to_json(json::object{
                     {"cniVersion", request.version},
                     {"supportedVersions", json::array(kVersions.begin(), kVersions.end())}}) +
                 "\n"};
}

struct Command {
  std::string_view name;
  PluginAnswer (*carry_out)(const Request&);
  bool of_container = false; ///< needs CNI_CONTAINERID and CNI_IFNAME
  bool in_namespace = false; ///< needs CNI_NETNS
};

constexpr std::array<Command, 6> kCommands{{{"ADD", add, true, true},
                                            {"DEL", nothing, true, false},
                                            {"CHECK", check, true, true},
                                            {"GC", nothing},
                                            {"STATUS", nothing},
                                            {"VERSION", versions}}};

std::vector<std::string_view> missing(const Command& command, const PluginCall& call) {
  std::vector<std::string_view> names;
  const auto need = [&](bool needed, const std::string& value, std::string_view name) {
    if (needed && value.empty()) {
      names.push_back(name);
    }
  };
  need(command.of_container, call.container_id, "CNI_CONTAINERID");
  need(command.in_namespace, call.netns, "CNI_NETNS");
  need(command.of_container, call.ifname, "CNI_IFNAME");
  return names;
}

} // namespace

PluginAnswer answer(const PluginCall& call, const LoopbackDevice& device) {
  const auto* const command = std::ranges::find(kCommands, call.command, &Command::name);
  if (command == kCommands.end()) {
    return trouble(kVersions.back(), Trouble::Environment,
                   fmt::format("unknown CNI_COMMAND: {}", call.command));
  }
  if (const auto names = missing(*command, call); !names.empty()) {
    return trouble(kVersions.back(), Trouble::Environment,
                   fmt::format("required env variables [{}] missing", fmt::join(names, ",")));
  }
  const auto config = api::parse_json(call.config.empty() ? "{}" : call.config);
  if (!config || !config->is_object()) {
    return trouble(kVersions.back(), Trouble::Decoding, "the network configuration is no object",
                   config ? "" : config.error().message);
  }
  const std::string_view said = api::string_at(*config, "cniVersion");
  const std::string version(said.empty() ? kUnsaid : said);
  if (std::ranges::find(kVersions, version) == kVersions.end()) {
    return trouble(
        kVersions.back(), Trouble::IncompatibleVersion, "incompatible CNI versions",
        fmt::format("config is \"{}\", plugin supports {}", version, fmt::join(kVersions, ", ")));
  }
  return command->carry_out({.call = &call,
                             .device = &device,
                             .version = version,
                             .previous = api::find(*config, "prevResult")});
}

} // namespace berth::runtime::cni
