#include "berth/runtime/cri/runtime_info.h"

#include <charconv>
#include <string>

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

bool says_enable_cdi(const ::runtime::v1::StatusResponse& status) {
  const auto config = status.info().find("config");
  if (config == status.info().end()) {
    return false;
  }
  const auto document = api::parse_json(config->second);
  const api::json::value* enabled = document ? api::find(*document, "enableCDI") : nullptr;
  return enabled && enabled->is_bool() && enabled->get_bool();
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
      info.network_ready = condition.status();
    }
  }
  if (!info.ready && info.problem.empty()) {
    info.problem = "it does not say that it is ready";
  }
  info.knows_cdi = info.name == "cri-o" ||
                   (info.name == "containerd" && major_of(info.version) >= 2) ||
                   says_enable_cdi(status);
  return info;
}

} // namespace berth::runtime::cri
