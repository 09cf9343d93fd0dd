#include "berth/runtime/cri/runtime_info.h"

#include <charconv>
#include <string>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"

namespace berth::runtime::cri {
namespace {

int major_of(std::string_view version) {
  if (version.starts_with('v')) {
    version.remove_prefix(1);
  }
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  return major;
}

/// What containerd tells of its configuration; null: nothing.
api::json::value config_of(const ::runtime::v1::StatusResponse& status) {
  const auto config = status.info().find("config");
  if (config == status.info().end()) {
    return nullptr;
  }
  return api::parse_json(config->second).value_or(nullptr);
}

bool says_enable_cdi(const api::json::value& config) {
  const api::json::value* enabled = api::find(config, "enableCDI");
  return enabled && enabled->is_bool() && enabled->get_bool();
}

/// containerd from 2.1 on has several folders for plugins, in which it looks one after the other.
cni::Directories cni_directories(const api::json::value& config) {
  cni::Directories told{.conf = std::string(api::string_at(config, "cni.confDir")),
                        .bin = std::string(api::string_at(config, "cni.binDir"))};
  const api::json::value* many = api::find_path(config, "cni.binDirs");
  if (told.bin.empty() && many && many->is_array() && !many->get_array().empty() &&
      many->get_array().front().is_string()) {
    told.bin = many->get_array().front().get_string();
  }
  return told;
}

} // namespace

Result<RuntimeInfo> runtime_info(const ::runtime::v1::VersionResponse& version,
                                 const ::runtime::v1::StatusResponse& status) {
  if (version.version() != kKubeletApiVersion) {
    return fail(Code::Invalid,
                fmt::format("the container runtime {} {} speaks version \"{}\", want \"{}\"",
                            version.runtime_name(), version.runtime_version(), version.version(),
                            kKubeletApiVersion));
  }
  RuntimeInfo info{.name = version.runtime_name(), .version = version.runtime_version()};
  for (const auto& condition : status.status().conditions()) {
    if (condition.type() == "RuntimeReady") {
      info.ready = condition.status();
      info.problem = condition.status() ? "" : condition.message();
    } else if (condition.type() == "NetworkReady") {
      info.network =
          condition.status() ? RuntimeInfo::Network::Configured : RuntimeInfo::Network::None;
    }
  }
  if (!info.ready && info.problem.empty()) {
    info.problem = "it does not say that it is ready";
  }
  const api::json::value config = config_of(status);
  info.cni = cni_directories(config);
  info.knows_cdi = info.name == "cri-o" ||
                   (info.name == "containerd" && major_of(info.version) >= 2) ||
                   says_enable_cdi(config);
  return info;
}

} // namespace berth::runtime::cri
