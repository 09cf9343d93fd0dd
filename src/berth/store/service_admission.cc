#include "berth/store/service_admission.h"

#include <cstdint>
#include <set>
#include <string>

#include <fmt/format.h>

#include "berth/store/document.h"
#include "berth/store/errors.h"

namespace berth::store {
namespace {

using api::json::object;
using api::json::value;

const GroupKind kServices{"", "Service"};

constexpr std::uint32_t kAddresses =
    65'534 - 256; // of 10.96.1.0 and up: the first 256 are kept free
constexpr int kFirstNodePort = 30'000;
constexpr int kNodePorts = 2'768;

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

struct Taken {
  std::set<std::string, std::less<>> addresses;
  std::set<std::int64_t> node_ports;
};

Taken taken(const Store& store) {
  Taken all;
  for (const api::Object& service : store.list({.kind = kServices, .ns = "", .labels = {}}).items) {
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
  set_default(*spec, "type", "ClusterIP");
  if (text_at(*spec, "type") != "ExternalName") {
    set_default(*spec, "internalTrafficPolicy", "Cluster");
  }
  if (text_at(*spec, "type") == "NodePort" || text_at(*spec, "type") == "LoadBalancer") {
    set_default(*spec, "externalTrafficPolicy", "Cluster");
  }
  each_in(*spec, "ports", [](object& port) {
    set_default(port, "protocol", "TCP");
    const value* target = port.if_contains("targetPort");
    const bool says_none = target != nullptr && (*target == value(0) || *target == value(""));
    if (const value* number = port.if_contains("port"); number != nullptr) {
      if (says_none) { // as a client of Go writes one that was not given
        port["targetPort"] = value(*number);
      } else {
        set_default(port, "targetPort", *number);
      }
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
  Taken all = taken(*request.store);
  if (request.before != nullptr && !has(*spec, "clusterIP")) {
    (*spec)["clusterIP"] = api::string_at(request.before->json(), "spec.clusterIP");
  }
  if (text_at(*spec, "clusterIP").empty()) {
    BERTH_TRY(std::string address, free_address(all, name));
    (*spec)["clusterIP"] = std::move(address);
  }
  set_default(*spec, "clusterIPs", api::json::array{(*spec)["clusterIP"]});
  set_default(*spec, "ipFamilies", api::json::array{"IPv4"});
  set_default(*spec, "ipFamilyPolicy", "SingleStack");
  if (text_at(*spec, "type") != "NodePort" && text_at(*spec, "type") != "LoadBalancer") {
    return {};
  }
  Result<void> allocated;
  each_in(*spec, "ports", [&](object& port) {
    if (has(port, "nodePort") || !allocated) {
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

Result<void> check_service(const AdmissionRequest& request, const api::Object& object) {
  if (request.kind != kServices) {
    return {};
  }
  FieldErrors errors;
  const value* spec = api::find(object.json(), "spec");
  const bool external = spec != nullptr && api::string_at(*spec, "type") == "ExternalName";
  const bool headless = spec != nullptr && spec->is_object() && is_headless(spec->get_object());
  const value* ports = spec == nullptr ? nullptr : api::find(*spec, "ports");
  const bool none = ports == nullptr || !ports->is_array() || ports->get_array().empty();
  if (none && !external && !headless) {
    errors.push_back(required_field("spec.ports"));
  }
  if (!none) {
    std::size_t i = 0;
    for (const value& port : ports->get_array()) {
      const value* number = api::find(port, "port");
      const std::string field = fmt::format("spec.ports[{}]", i++);
      if (ports->get_array().size() > 1 && api::string_at(port, "name").empty()) {
        errors.push_back(required_field(field + ".name"));
      }
      if (number == nullptr || !number->is_int64() || number->get_int64() < 1 ||
          number->get_int64() > 65'535) {
        errors.push_back(invalid_value(field + ".port",
                                       number == nullptr ? "0" : api::to_json(*number),
                                       "must be between 1 and 65535, inclusive"));
      }
    }
  }
  if (!errors.empty()) {
    return invalid(request.kind, object.meta().name, std::move(errors));
  }
  return {};
}

} // namespace berth::store
