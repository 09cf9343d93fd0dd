#include "berth/node/contents/hosts_file.h"

#include <boost/json/array.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/node/contents/spec_field.h"

namespace berth::node {
namespace {

constexpr std::string_view kLocal = "127.0.0.1\tlocalhost\n"
                                    "::1\tlocalhost ip6-localhost ip6-loopback\n"
                                    "fe00::0\tip6-localnet\n"
                                    "fe00::0\tip6-mcastprefix\n"
                                    "fe00::1\tip6-allnodes\n"
                                    "fe00::2\tip6-allrouters\n";

std::string own_line(const api::json::value& pod, std::string_view pod_ip) {
  const std::string hostname = hostname_of(pod);
  const std::string_view subdomain = api::string_at(pod, "spec.subdomain");
  if (pod_ip.empty()) {
    return "";
  }
  if (subdomain.empty()) {
    return fmt::format("{}\t{}\n", pod_ip, hostname);
  }
  return fmt::format("{0}\t{1}.{2}.{3}.svc.cluster.local\t{1}\n", pod_ip, hostname, subdomain,
                     api::string_at(pod, "metadata.namespace"));
}

} // namespace

bool wants_hosts_file(const api::json::value& pod) {
  return !list_at(pod, "spec.hostAliases").empty();
}

std::string hosts_file(const api::json::value& pod, std::string_view pod_ip,
                       std::string_view machine_hosts) {
  std::string text;
  if (bool_at(pod, "spec.hostNetwork").value_or(false)) {
    text = fmt::format("# Kubernetes-managed hosts file (host network).\n{}", machine_hosts);
  } else {
    text = fmt::format("# Kubernetes-managed hosts file.\n{}{}", kLocal, own_line(pod, pod_ip));
  }
  text += "\n# Entries added by HostAliases.\n";
  for (const api::json::value& alias : list_at(pod, "spec.hostAliases")) {
    text += fmt::format("{}\t{}\n", api::string_at(alias, "ip"),
                        fmt::join(strings_at(alias, "hostnames"), "\t"));
  }
  return text;
}

std::string hostname_of(const api::json::value& pod) {
  constexpr std::size_t kLongest = 63;
  const std::string_view given = api::string_at(pod, "spec.hostname");
  std::string name(given.empty() ? api::string_at(pod, "metadata.name") : given);
  name.resize(std::min(name.size(), kLongest));
  while (!name.empty() && (name.back() == '-' || name.back() == '.')) {
    name.pop_back();
  }
  return name;
}

} // namespace berth::node
