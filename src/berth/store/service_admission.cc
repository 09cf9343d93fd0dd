#include "berth/store/service_admission.h"

#include <cstdint>
#include <set>
#include <string>

#include <fmt/format.h>

#include "berth/store/document.h"
#include "berth/store/errors.h"
#include "berth/store/validation/judged.h"

namespace berth::store {
namespace {

using api::json::object;
using api::json::value;

const GroupKind kServices{"", "Service"};

constexpr std::uint32_t kAddresses =
    65'534 - 256; // of 10.96.1.0 and up: the first 256 are kept free
constexpr int kFirstNodePort = 30'000;
constexpr int kNodePorts = 2'768;
constexpr int kAffinitySeconds = 10'800;

bool is_headless(const object& spec) {
  return text_at(spec, "clusterIP") == "None";
}

/// FNV-1a: where the search for a free address begins, so that a Service made again gets the same
/// one.
std::uint32_t start_of(std::string_view text) {
  std::uint32_t hash = 2'166'136'261U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619U;
  }
  return hash;
}

/// Whether the type is one that has addresses.
bool fits_type(const object& spec) {
  const std::string_view type = text_at(spec, "type");
  return type == "ClusterIP" || type == "NodePort" || type == "LoadBalancer";
}

struct Taken {
  std::set<std::string, std::less<>> addresses;
  std::set<std::int64_t> node_ports;
};

/// By all Services but the one of this name.
Taken taken(const Store& store, const api::ObjectMeta& but) {
  Taken all;
  for (const api::Object& service : store.list({.kind = kServices, .ns = "", .labels = {}}).items) {
    if (service.meta().name == but.name && service.meta().ns == but.ns) {
      continue;
    }
    all.addresses.emplace(api::string_at(service.json(), "spec.clusterIP"));
    const value* ports = api::find_path(service.json(), "spec.ports");
    if (ports == nullptr || !ports->is_array()) {
      continue;
    }
    for (const value& port : ports->get_array()) {
      if (const value* node = api::find(port, "nodePort"); node != nullptr && node->is_int64()) {
        all.node_ports.insert(node->get_int64());
      }
    }
  }
  return all;
}

Result<std::string> free_address(const Taken& all, std::string_view name) {
  for (std::uint32_t i = 0; i < kAddresses; ++i) {
    const std::uint32_t at = 256 + (start_of(name) % kAddresses + i) % kAddresses;
    std::string address = fmt::format("10.96.{}.{}", at / 256, at % 256);
    if (!all.addresses.contains(address)) {
      return address;
    }
  }
  return fail(Code::Internal, "failed to allocate a serviceIP: range is full");
}

Result<std::int64_t> free_node_port(const Taken& all, std::string_view name) {
  for (int i = 0; i < kNodePorts; ++i) {
    const std::int64_t port =
        kFirstNodePort +
        static_cast<std::int64_t>((start_of(name) + static_cast<std::uint32_t>(i)) % kNodePorts);
    if (!all.node_ports.contains(port)) {
      return port;
    }
  }
  return fail(Code::Internal, "failed to allocate a nodePort: range is full");
}

} // namespace

Result<void> default_service(const AdmissionRequest& request, value& document) {
  object& whole = document.as_object();
  object* spec = object_in(whole, "spec");
  if (request.kind != kServices || spec == nullptr) {
    return {};
  }
  set_default(*spec, "sessionAffinity", "None");
  if (text_at(*spec, "sessionAffinity") == "None") {
    spec->stable_erase("sessionAffinityConfig");
  } else if (text_at(*spec, "sessionAffinity") == "ClientIP") {
    object& config = api::object_at(*spec, "sessionAffinityConfig");
    set_default(api::object_at(config, "clientIP"), "timeoutSeconds", kAffinitySeconds);
  }
  set_default(*spec, "type", "ClusterIP");
  if (text_at(*spec, "type") != "ExternalName") {
    set_default(*spec, "internalTrafficPolicy", "Cluster");
  }
  if (text_at(*spec, "type") == "NodePort" || text_at(*spec, "type") == "LoadBalancer") {
    set_default(*spec, "externalTrafficPolicy", "Cluster");
  }
  if (text_at(*spec, "type") == "LoadBalancer") {
    set_default(*spec, "allocateLoadBalancerNodePorts", true);
  }
  each_in(*spec, "ports", [](object& port) {
    set_default(port, "protocol", "TCP");
    const value* target = port.if_contains("targetPort");
    const value* number = port.if_contains("port");
    const bool none =
        target == nullptr || target->is_null() || *target == value(0) || *target == value("");
    if (number != nullptr && none) {
      const value same = *number;
      port["targetPort"] = same;
    }
  });
  set_default(whole, "status", object{{"loadBalancer", object()}});
  return {};
}

Result<void> allocate_addresses(const AdmissionRequest& request, value& document) {
  object* spec = object_in(document.as_object(), "spec");
  if (request.kind != kServices || spec == nullptr || text_at(*spec, "type") == "ExternalName") {
    return {};
  }
  const std::string name(fmt::format("{}/{}", api::string_at(document, "metadata.namespace"),
                                     api::string_at(document, "metadata.name")));
  api::ObjectMeta self;
  self.name = api::string_at(document, "metadata.name");
  self.ns = api::string_at(document, "metadata.namespace");
  Taken all = taken(*request.store, self);
  if (request.before != nullptr && !has(*spec, "clusterIP")) {
    (*spec)["clusterIP"] = api::string_at(request.before->json(), "spec.clusterIP");
  }
  if (!fits_type(*spec)) {
    return {}; // check_service says why
  }
  if (text_at(*spec, "clusterIP").empty()) {
    BERTH_TRY(std::string address, free_address(all, name));
    (*spec)["clusterIP"] = std::move(address);
  }
  set_default(*spec, "clusterIPs", api::json::array{(*spec)["clusterIP"]});
  const bool open_to_all = is_headless(*spec) && !has(*spec, "selector");
  set_default(*spec, "ipFamilies",
              open_to_all ? api::json::array{"IPv4", "IPv6"} : api::json::array{"IPv4"});
  set_default(*spec, "ipFamilyPolicy", open_to_all ? "RequireDualStack" : "SingleStack");
  if (text_at(*spec, "type") != "NodePort" && text_at(*spec, "type") != "LoadBalancer") {
    return {};
  }
  Result<void> allocated;
  each_in(*spec, "ports", [&](object& port) {
    const value* given = port.if_contains("nodePort");
    if ((given != nullptr && given->is_int64() && given->get_int64() != 0) || !allocated) {
      return;
    }
    const auto number = free_node_port(all, name);
    if (!number) {
      allocated = tl::unexpected(number.error());
      return;
    }
    port["nodePort"] = *number;
    all.node_ports.insert(*number);
  });
  return allocated;
}

Result<void> check_ports_free(const AdmissionRequest& request, const api::Object& object) {
  const value* spec = api::find(object.json(), "spec");
  if (request.kind != kServices || spec == nullptr) {
    return {};
  }
  FieldErrors errors;
  const Judged judged(spec, "spec", errors);
  const Taken others = taken(*request.store, object.meta());
  const std::string_view address = judged.text("clusterIP");
  if (!address.empty() && address != "None" && others.addresses.contains(address)) {
    judged["clusterIPs"].invalid(
        fmt::format("failed to allocate IP {}: provided IP is already allocated", address));
  }
  judged.each("ports", [&](const Judged& port) {
    const std::int64_t number = port.number("nodePort").value_or(0);
    if (number == 0) {
      return;
    }
    if (number < kFirstNodePort || number >= kFirstNodePort + kNodePorts) {
      port["nodePort"].invalid(
          fmt::format("provided port is not in the valid range. The range of valid ports is {}-{}",
                      kFirstNodePort, kFirstNodePort + kNodePorts - 1));
    } else if (others.node_ports.contains(number)) {
      port["nodePort"].invalid("provided port is already allocated");
    }
  });
  if (!errors.empty()) {
    errors.resize(1); // the first that cannot be had stops the allocation
    return invalid(request.kind, object.meta().name, std::move(errors));
  }
  return {};
}

} // namespace berth::store
