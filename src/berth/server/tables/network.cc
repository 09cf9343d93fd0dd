// Services and what leads to them. Source: printers.go.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/server/tables/cells.h"
#include "berth/server/tables/shapes.h"

namespace berth::server::tables {
namespace {

constexpr std::size_t kMax = 3; // addresses, ports or hosts shown in one cell

/// Addresses of a load balancer, each once.
std::string load_balancer(const Row& row) {
  std::set<std::string> out;
  for (const json::value& ingress : list_at(row.document(), "status.loadBalancer.ingress")) {
    out.insert(text_at(ingress, "ip", api::string_at(ingress, "hostname")));
  }
  out.erase("");
  return fmt::format("{}", fmt::join(out, ","));
}

json::value cluster_ip(const Row& row) {
  const auto all = list_at(row.document(), "spec.clusterIPs");
  if (!all.empty() && all.front().is_string()) {
    return all.front();
  }
  return json::value(text_at(row.document(), "spec.clusterIP", "<none>"));
}

json::value external_ip(const Row& row) {
  const std::string type = text_at(row.document(), "spec.type", "ClusterIP");
  std::vector<std::string> ips = texts_of(list_at(row.document(), "spec.externalIPs"));
  if (type == "ExternalName") {
    return json::value(text_at(row.document(), "spec.externalName"));
  }
  if (type == "LoadBalancer") {
    if (std::string balanced = load_balancer(row); !balanced.empty()) {
      ips.insert(ips.begin(), std::move(balanced));
    }
    return json::value(ips.empty() ? "<pending>" : fmt::format("{}", fmt::join(ips, ",")));
  }
  if (type == "ClusterIP" || type == "NodePort") {
    return json::value(ips.empty() ? "<none>" : fmt::format("{}", fmt::join(ips, ",")));
  }
  return "<unknown>";
}

json::value service_ports(const Row& row) {
  std::vector<std::string> out;
  for (const json::value& port : list_at(row.document(), "spec.ports")) {
    const std::int64_t number = number_at(port, "port");
    const std::int64_t node_port = number_at(port, "nodePort");
    const std::string protocol = text_at(port, "protocol", "TCP");
    out.push_back(node_port > 0 ? fmt::format("{}:{}/{}", number, node_port, protocol)
                                : fmt::format("{}/{}", number, protocol));
  }
  return json::value(out.empty() ? "<none>" : fmt::format("{}", fmt::join(out, ",")));
}

TableShape service_shape() {
  return {
      .columns = {
          name_column(),
          {.name = "Type",
           .description = "How the service is reached.",
           .cell = text("spec.type", "ClusterIP")},
          {.name = "Cluster-IP", .description = "Address inside the cluster.", .cell = &cluster_ip},
          {.name = "External-IP",
           .description = "Addresses outside the cluster.",
           .cell = &external_ip},
          {.name = "Port(s)",
           .description = "Ports, with those of the nodes.",
           .cell = &service_ports},
          age_column(),
          {.name = "Selector",
           .description = "Labels of the pods that it leads to.",
           .priority = 1,
           .cell = [](const Row& row) {
             return json::value(labels_text(api::find_path(row.document(), "spec.selector")));
           }}}};
}

/// net.JoinHostPort: IPv6 in brackets.
std::string host_port(std::string_view host, std::int64_t port) {
  return host.find(':') == std::string_view::npos ? fmt::format("{}:{}", host, port)
                                                  : fmt::format("[{}]:{}", host, port);
}

json::value endpoints(const Row& row) {
  const auto subsets = list_at(row.document(), "subsets");
  std::vector<std::string> out;
  for (const json::value& subset : subsets) {
    const std::vector<std::string> ips = texts_of(list_at(subset, "addresses"), "ip");
    const auto ports = list_at(subset, "ports");
    if (ports.empty()) { // a headless service
      out.insert(out.end(), ips.begin(), ips.end());
    }
    for (const json::value& port : ports) {
      for (const std::string& ip : ips) {
        out.push_back(host_port(ip, number_at(port, "port")));
      }
    }
  }
  return json::value(first_few(out, kMax, subsets.empty() ? "<none>" : ""));
}

TableShape endpoints_shape() {
  return {
      .columns = {name_column(),
                  {.name = "Endpoints", .description = "Addresses and ports.", .cell = &endpoints},
                  age_column()}};
}

json::value slice_ports(const Row& row) {
  std::vector<std::string> out;
  for (const json::value& port : list_at(row.document(), "ports")) {
    const json::value* name = api::find(port, "name");
    out.push_back(text_or_number(api::find(port, "port"), text_or_number(name, "*")));
  }
  return json::value(first_few(out, kMax, "<unset>"));
}

json::value slice_endpoints(const Row& row) {
  std::vector<std::string> out;
  for (const json::value& endpoint : list_at(row.document(), "endpoints")) {
    std::ranges::move(texts_of(list_at(endpoint, "addresses")), std::back_inserter(out));
  }
  return json::value(first_few(out, kMax, "<unset>"));
}

TableShape endpoint_slice_shape() {
  return {.columns = {name_column(),
                      {.name = "AddressType",
                       .description = "IPv4, IPv6 or FQDN.",
                       .cell = text("addressType")},
                      {.name = "Ports", .description = "Ports.", .cell = &slice_ports},
                      {.name = "Endpoints", .description = "Addresses.", .cell = &slice_endpoints},
                      age_column()}};
}

/// Rules without a host take no place in the list, but count among those left out.
json::value hosts(const Row& row) {
  const auto rules = list_at(row.document(), "spec.rules");
  std::vector<std::string> out;
  bool more = false;
  for (const json::value& rule : rules) {
    more = more || out.size() == kMax;
    if (const std::string host = text_at(rule, "host"); !more && !host.empty()) {
      out.push_back(host);
    }
  }
  if (out.empty()) {
    return "*";
  }
  const std::string shown = fmt::format("{}", fmt::join(out, ","));
  return json::value(more ? fmt::format("{} + {} more...", shown, rules.size() - kMax) : shown);
}

TableShape ingress_shape() {
  return {.columns = {name_column(),
                      {.name = "Class",
                       .description = "Its IngressClass.",
                       .cell = set_text("spec.ingressClassName", "<none>")},
                      {.name = "Hosts", .description = "Hosts of its rules.", .cell = &hosts},
                      {.name = "Address",
                       .description = "Addresses of the load balancer.",
                       .cell = [](const Row& row) { return json::value(load_balancer(row)); }},
                      {.name = "Ports",
                       .description = "Ports that are open.",
                       .cell = [](const Row& row) -> json::value {
                         return list_at(row.document(), "spec.tls").empty() ? "80" : "80, 443";
                       }},
                      age_column()}};
}

json::value parameters(const Row& row) {
  const json::value* to = api::find_path(row.document(), "spec.parameters");
  if (to == nullptr) {
    return "<none>";
  }
  std::string kind = text_at(*to, "kind");
  if (api::find(*to, "apiGroup") != nullptr) {
    kind += "." + text_at(*to, "apiGroup");
  }
  return json::value(fmt::format("{}/{}", kind, api::string_at(*to, "name")));
}

TableShape ingress_class_shape() {
  return {.columns = {name_column(),
                      {.name = "Controller",
                       .description = "Who serves ingresses of the class.",
                       .cell = text("spec.controller")},
                      {.name = "Parameters",
                       .description = "The object that configures the class.",
                       .cell = &parameters},
                      age_column()}};
}

TableShape network_policy_shape() {
  return {.columns = {name_column(),
                      {.name = "Pod-Selector",
                       .description = "The pods that it is about.",
                       .cell =
                           [](const Row& row) {
                             return json::value(formatted_selector(
                                 api::find_path(row.document(), "spec.podSelector")));
                           }},
                      age_column()}};
}

TableShape service_cidr_shape() {
  return {.columns = {name_column(),
                      {.name = "CIDRs",
                       .description = "Ranges that services' addresses are taken from.",
                       .cell =
                           [](const Row& row) {
                             return json::value(fmt::format(
                                 "{}",
                                 fmt::join(texts_of(list_at(row.document(), "spec.cidrs")), ",")));
                           }},
                      age_column()}};
}

json::value parent(const Row& row) {
  const json::value* to = api::find_path(row.document(), "spec.parentRef");
  if (to == nullptr) {
    return "<none>";
  }
  const std::string group = text_at(*to, "group");
  const std::string ns = text_at(*to, "namespace");
  return json::value(
      fmt::format("{}{}/{}", lower(text_at(*to, "resource") + (group.empty() ? "" : "." + group)),
                  ns.empty() ? "" : "/" + ns, api::string_at(*to, "name")));
}

TableShape ip_address_shape() {
  return {
      .columns = {
          name_column(),
          {.name = "ParentRef", .description = "What the address belongs to.", .cell = &parent}}};
}

constexpr KindShape kShapes[] = {
    {"", "Service", &service_shape},
    {"", "Endpoints", &endpoints_shape},
    {"discovery.k8s.io", "EndpointSlice", &endpoint_slice_shape},
    {"networking.k8s.io", "Ingress", &ingress_shape},
    {"networking.k8s.io", "IngressClass", &ingress_class_shape},
    {"networking.k8s.io", "NetworkPolicy", &network_policy_shape},
    {"networking.k8s.io", "ServiceCIDR", &service_cidr_shape},
    {"networking.k8s.io", "IPAddress", &ip_address_shape},
};

} // namespace

std::span<const KindShape> network_shapes() {
  return kShapes;
}

} // namespace berth::server::tables
