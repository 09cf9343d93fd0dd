// What a pod's resolv.conf says: dnsPolicy and dnsConfig, over the machine's own. Pure. Source:
// kubelet pkg/kubelet/network/dns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/api/json.h"
#include "berth/runtime/runtime.h"

namespace berth::node {

struct DnsSettings {
  std::vector<std::string> cluster_servers; ///< empty: the cluster has no DNS of its own
  std::string cluster_domain = "cluster.local";
  std::string resolv_conf = "/etc/resolv.conf"; ///< the machine's
};

/// Of a machine's file: what is no line of a resolver's is passed over; of several "search" lines
/// the last counts.
runtime::DnsConfig parse_resolv_conf(std::string_view text);

/// `machine` is the machine's own. ClusterFirst without a DNS of the cluster, and with the
/// machine's network, is Default. The first three servers count, as a resolver reads no more.
runtime::DnsConfig pod_dns(const api::json::value& pod, const DnsSettings& settings,
                           const runtime::DnsConfig& machine);

} // namespace berth::node
