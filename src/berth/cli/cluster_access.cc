#include "berth/cli/cluster_access.h"

#include <utility>

#include <fmt/format.h>

namespace berth::cli {

std::vector<Flag> cluster_access_flags(std::string_view kubeconfig_help) {
  return {{.name = "--kubeconfig",
           .value = "FILE",
           .help = kubeconfig_help,
           .group = "CLUSTER",
           .offers = Offers::Files},
          {.name = "--context",
           .value = "NAME",
           .help = "a context of the kubeconfig file",
           .group = "CLUSTER"},
          {.name = "--api",
           .value = "URL",
           .help = "where the API is, https://HOST:PORT, instead of the address in the kubeconfig; "
                   "its authority and credentials stay",
           .group = "CLUSTER"}};
}

Result<client::ServerAccess> cluster_access(const Values& values, const std::string& kubeconfig) {
  BERTH_TRY(client::ServerAccess access,
            client::load_access(values.get("--kubeconfig", kubeconfig), values.get("--context")));
  if (!values.has("--api")) {
    return access;
  }
  auto url = net::HttpUrl::parse(values.get("--api"));
  if (!url) {
    return fail(Code::BadRequest, fmt::format("--api: {}", url.error().message));
  }
  if (access.url.tls && !url->tls) { // credentials are not for everybody to read
    return fail(Code::BadRequest, fmt::format("--api: want https://HOST:PORT, as in the "
                                              "kubeconfig, got \"{}\"",
                                              values.get("--api")));
  }
  access.url = *std::move(url);
  return access;
}

} // namespace berth::cli
