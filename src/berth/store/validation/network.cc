#include "berth/store/validation/network.h"

#include <set>

#include "berth/store/document.h"
#include "berth/store/naming.h"
#include "berth/store/validation/formats.h"
#include "berth/store/validation/immutable.h"

namespace berth::store {
namespace {

const GroupKind kIngresses{"networking.k8s.io", "Ingress"};
const GroupKind kIngressClasses{"networking.k8s.io", "IngressClass"};
const GroupKind kPolicies{"networking.k8s.io", "NetworkPolicy"};
const GroupKind kEndpoints{"", "Endpoints"};
const GroupKind kSlices{"discovery.k8s.io", "EndpointSlice"};

constexpr std::size_t kMaxEndpoints = 1000;
constexpr std::size_t kMaxAddresses = 100;

// ---- Ingress
void check_backend(const Judged& backend) {
  const bool resource = backend.has("resource");
  const bool service = backend.has("service");
  if (resource && service) {
    backend.invalid("\"\"", "cannot set both resource and service backends");
  } else if (resource) {
    for (const std::string_view member : {"kind", "name"}) {
      backend["resource"][member].need_text();
    }
  } else if (service) {
    const Judged name = backend["service"]["name"];
    if (name.need_text()) {
      name.invalid(dns1035_label_errors(name.text()));
    }
    const Judged port = backend["service"]["port"];
    const bool named = !port.text("name").empty();
    const bool numbered = port.number("number").value_or(0) != 0;
    if (named && numbered) {
      backend.invalid("\"\"", "cannot set both port name & port number");
    } else if (named) {
      port["name"].invalid(port_name_errors(port.text("name")));
    } else if (numbered) {
      port["number"].in_range(1, kHighestPort);
    } else {
      backend.required("port name or number is required");
    }
  } else {
    backend.invalid("\"\"", "resource or service backend is required");
  }
}

void check_host(const Judged& host) {
  const std::string_view text = host.text();
  if (text.empty()) {
    return;
  }
  if (is_ip(text)) {
    host.invalid("must be a DNS name, not an IP address");
    return;
  }
  host.invalid(text.find('*') == std::string_view::npos ? subdomain_errors(text)
                                                        : wildcard_errors(text));
}

void check_path(const Judged& path) {
  const Judged type = path["pathType"];
  const std::string_view text = path.text("path");
  if (type.text().empty()) {
    type.required("pathType must be specified");
  } else if (type.text() == "Exact" || type.text() == "Prefix") {
    if (!text.starts_with('/')) {
      path["path"].invalid("must be an absolute path");
    }
    for (const std::string_view sequence : {"//", "/./", "/../", "%2f", "%2F"}) {
      if (!text.empty() && text.find(sequence) != std::string_view::npos) {
        path["path"].invalid(fmt::format("must not contain '{}'", sequence));
      }
    }
    for (const std::string_view ending : {"/..", "/."}) {
      if (text.ends_with(ending)) {
        path["path"].invalid(fmt::format("cannot end with '{}'", ending));
      }
    }
  } else if (type.text() == "ImplementationSpecific") {
    if (!text.empty() && !text.starts_with('/')) {
      path["path"].invalid("must be an absolute path");
    }
  } else {
    type.unsupported({"Exact", "ImplementationSpecific", "Prefix"});
  }
  check_backend(path["backend"]);
}

void check_ingress(const Judged& spec) {
  if (spec.size("rules") == 0 && !spec.has("defaultBackend")) {
    spec.invalid("null", "either `defaultBackend` or `rules` must be specified");
  }
  if (spec.has("defaultBackend")) {
    check_backend(spec["defaultBackend"]);
  }
  spec.each("rules", [](const Judged& rule) {
    check_host(rule["host"]);
    if (const Judged http = rule["http"]) {
      if (http.size("paths") == 0) {
        http["paths"].required();
      }
      http.each("paths", check_path);
    }
  });
  spec.each("tls", [](const Judged& tls) { tls.each("hosts", check_host); });
  if (const Judged name = spec["ingressClassName"]) {
    name.dns_subdomain();
  }
}

void check_ingress_class(const AdmissionRequest& request, const Judged& spec) {
  const Judged controller = spec["controller"];
  if (request.before != nullptr) {
    check_immutable(Judged(api::find(request.before->json(), "spec"), "spec", spec.errors()), spec,
                    "controller");
  }
  if (!controller.need_text()) {
    return;
  }
  const std::size_t slash = controller.text().find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == controller.text().size()) {
    controller.invalid("must be a domain-prefixed path (such as \"acme.io/foo\")");
  } else {
    controller.invalid(subdomain_errors(controller.text().substr(0, slash)));
  }
}

// ---- NetworkPolicy
void check_policy_port(const Judged& port) {
  port["protocol"].one_of({"SCTP", "TCP", "UDP"});
  const Judged number = port["port"];
  if (!number) {
    if (port.has("endPort")) {
      port["endPort"].invalid("may not be specified when `port` is not specified");
    }
    return;
  }
  check_port_or_name(number);
  if (const Judged last = port["endPort"]) {
    if (number.json()->is_string()) {
      last.invalid("may not be specified when `port` is non-numeric");
    } else {
      if (last.number().value_or(0) < number.number().value_or(0)) {
        last.invalid("must be greater than or equal to `port`");
      }
      last.in_range(1, kHighestPort);
    }
  }
}

void check_block(const Judged& block) {
  const Judged range = block["cidr"];
  if (!range.need_text()) {
    return;
  }
  if (!is_cidr(range.text())) {
    range.invalid("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    return;
  }
  block.each("except", [](const Judged& hole) {
    if (!is_cidr(hole.text())) {
      hole.invalid("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    }
  });
}

void check_peer(const Judged& peer) {
  const bool pods = peer.has("podSelector");
  const bool namespaces = peer.has("namespaceSelector");
  check_label_selector(peer["podSelector"]);
  check_label_selector(peer["namespaceSelector"]);
  if (peer.has("ipBlock")) {
    if (pods || namespaces) {
      peer.forbidden("may not specify both ipBlock and another peer");
    }
    check_block(peer["ipBlock"]);
  } else if (!pods && !namespaces) {
    peer.required("must specify a peer");
  }
}

void check_policy(const Judged& spec) {
  check_label_selector(spec["podSelector"]);
  for (const auto& [direction, peers] : {std::pair("ingress", "from"), std::pair("egress", "to")}) {
    spec.each(direction, [&, list = peers](const Judged& rule) {
      rule.each("ports", check_policy_port);
      rule.each(list, check_peer);
    });
  }
  if (spec.size("policyTypes") > 2) {
    spec["policyTypes"].invalid("may not specify more than two policyTypes");
    return;
  }
  spec.each("policyTypes", [](const Judged& type) {
    if (type.text() != "Egress" && type.text() != "Ingress") {
      type.unsupported({"Egress", "Ingress"});
    }
  });
}

// ---- Endpoints, EndpointSlice
void check_endpoint_port(const Judged& port, bool need_name) {
  if (const Judged name = port["name"]; !name.text().empty()) {
    name.dns_label();
  } else if (need_name) {
    name.required();
  }
  const std::int64_t number = port.number("port").value_or(0);
  if (number < 1 || number > kHighestPort) {
    port["port"].invalid(fmt::to_string(number), "must be between 1 and 65535, inclusive");
  }
  port["protocol"].one_of({"SCTP", "TCP", "UDP"});
}

void check_endpoints(const Judged& whole) {
  whole.each("subsets", [](const Judged& subset) {
    if (subset.size("addresses") == 0 && subset.size("notReadyAddresses") == 0) {
      subset.required("must specify `addresses` or `notReadyAddresses`");
    }
    for (const std::string_view list : {"addresses", "notReadyAddresses"}) {
      subset.each(list, [](const Judged& address) {
        check_ip(address["ip"]);
        if (!address.text("hostname").empty()) {
          address["hostname"].dns_label();
        }
      });
    }
    const bool need_name = subset.size("ports") > 1;
    subset.each("ports", [&](const Judged& port) { check_endpoint_port(port, need_name); });
  });
}

void check_slice(const AdmissionRequest& request, const Judged& whole) {
  const std::string_view type = whole.text("addressType");
  if (request.before != nullptr) {
    check_immutable(Judged(&request.before->json(), "", whole.errors()), whole, "addressType");
  }
  if (whole["addressType"].need_text()) {
    whole["addressType"].one_of({"FQDN", "IPv4", "IPv6"});
  }
  if (whole.size("endpoints") > kMaxEndpoints) {
    whole["endpoints"].too_many(kMaxEndpoints);
  }
  whole.each("endpoints", [&](const Judged& endpoint) {
    if (endpoint.size("addresses") == 0) {
      endpoint["addresses"].required("must contain at least 1 address");
    } else if (endpoint.size("addresses") > kMaxAddresses) {
      endpoint["addresses"].too_many(kMaxAddresses);
    }
    endpoint.each("addresses", [&](const Judged& address) {
      if (type == "FQDN") {
        address.dns_subdomain();
      } else if (!is_ip(address.text())) {
        check_ip(address);
      } else if (type == "IPv4" && !is_ipv4(address.text())) {
        address.invalid("must be an IPv4 address");
      } else if (type == "IPv6" && is_ipv4(address.text())) {
        address.invalid("must be an IPv6 address");
      }
    });
    if (!endpoint.text("hostname").empty()) {
      endpoint["hostname"].dns_label();
    }
  });
  std::set<std::string, std::less<>> names;
  whole.each("ports", [&](const Judged& port) {
    if (const Judged name = port["name"]; !name.text().empty()) {
      name.dns_label();
    }
    if (!names.emplace(port.text("name")).second) {
      port["name"].duplicate();
    }
    port["protocol"].one_of({"SCTP", "TCP", "UDP"});
  });
}

} // namespace

Result<void> default_network(const AdmissionRequest& request, api::json::value& document) {
  api::json::object& whole = document.as_object();
  if (request.kind == kIngresses && request.before == nullptr) {
    whole["status"] = api::json::object{{"loadBalancer", api::json::object()}};
  } else if (request.kind == kSlices) {
    each_in(whole, "ports", [](api::json::object& port) {
      set_default(port, "name", "");
      set_default(port, "protocol", "TCP");
    });
  } else if (request.kind == kEndpoints) {
    each_in(whole, "subsets", [](api::json::object& subset) {
      each_in(subset, "ports",
              [](api::json::object& port) { set_default(port, "protocol", "TCP"); });
    });
  } else if (api::json::object* spec = object_in(whole, "spec");
             request.kind == kPolicies && spec != nullptr) {
    for (const std::string_view direction : {"ingress", "egress"}) {
      each_in(*spec, direction, [](api::json::object& rule) {
        each_in(rule, "ports",
                [](api::json::object& port) { set_default(port, "protocol", "TCP"); });
      });
    }
    api::json::array types{"Ingress"};
    const api::json::value* egress = spec->if_contains("egress");
    if (egress != nullptr && egress->is_array() && !egress->get_array().empty()) {
      types.emplace_back("Egress");
    }
    set_default(*spec, "policyTypes", std::move(types));
  }
  return {};
}

void check_network(const AdmissionRequest& request, const api::Object& object,
                   FieldErrors& errors) {
  if (request.subresource == Subresource::Status) {
    return;
  }
  const Judged whole(&object.json(), "", errors);
  if (request.kind == kIngresses) {
    check_ingress(whole["spec"]);
  } else if (request.kind == kIngressClasses) {
    check_ingress_class(request, whole["spec"]);
  } else if (request.kind == kPolicies) {
    check_policy(whole["spec"]);
  } else if (request.kind == kEndpoints) {
    check_endpoints(whole);
  } else if (request.kind == kSlices) {
    check_slice(request, whole);
  }
}

} // namespace berth::store
