#include "berth/store/validation/service.h"

#include <set>

#include "berth/store/naming.h"
#include "berth/store/validation/formats.h"
#include "berth/store/validation/immutable.h"

namespace berth::store {
namespace {

constexpr std::int64_t kLongestAffinity = 86'400;
constexpr std::int64_t kKubeletPort = 10'250;

using Names = std::set<std::string, std::less<>>;

bool is_headless(const Judged& spec) {
  return spec.text("clusterIP") == "None";
}

void check_external_name(const Judged& spec) {
  for (const std::string_view field : {"clusterIPs", "ipFamilies"}) {
    if (spec.size(field) > 0) {
      spec[field].forbidden("may not be set for ExternalName services");
    }
  }
  if (spec.has("ipFamilyPolicy")) {
    spec["ipFamilyPolicy"].forbidden("may not be set for ExternalName services");
  }
  const Judged name = spec["externalName"];
  std::string_view text = name.text();
  if (text.ends_with('.')) {
    text.remove_suffix(1);
  }
  if (text.empty()) {
    name.required();
    return;
  }
  for (const std::string& why : subdomain_errors(text)) {
    name.invalid(quote(text), why);
  }
}

void check_type(const Judged& spec) {
  const std::string_view type = spec.text("type");
  if (spec.size("ports") == 0 && !is_headless(spec) && type != "ExternalName") {
    spec["ports"].required();
  }
  if (type == "LoadBalancer") {
    spec.each("ports", [](const Judged& port) {
      if (port.number("port").value_or(0) == kKubeletPort) {
        port.invalid(fmt::to_string(kKubeletPort),
                     fmt::format("may not expose port {} externally since it is used by kubelet",
                                 kKubeletPort));
      }
    });
  }
  if ((type == "LoadBalancer" || type == "NodePort") && is_headless(spec)) {
    spec["clusterIPs"][0].invalid(quote("None"),
                                  fmt::format("may not be set to 'None' for {} services", type));
  }
  if (type == "ExternalName") {
    check_external_name(spec);
  }
}

void check_port(const Judged& port, bool need_name, Names& names) {
  const Judged name = port["name"];
  if (name.text().empty()) {
    if (need_name) {
      name.required();
    }
  } else {
    name.dns_label();
    if (!names.emplace(name.text()).second) {
      name.duplicate();
    }
  }
  const std::int64_t number = port.number("port").value_or(0);
  if (number < 1 || number > kHighestPort) {
    port["port"].invalid(fmt::to_string(number), "must be between 1 and 65535, inclusive");
  }
  port["protocol"].one_of({"SCTP", "TCP", "UDP"});
  check_port_or_name(port["targetPort"]);
  if (port.has("appProtocol")) {
    port["appProtocol"].label_name();
  }
}

void check_affinity(const Judged& spec) {
  const Judged config = spec["sessionAffinityConfig"];
  spec["sessionAffinity"].one_of({"ClientIP", "None"});
  if (spec.text("sessionAffinity") == "ClientIP") {
    const std::int64_t seconds = config["clientIP"].number("timeoutSeconds").value_or(1);
    if (seconds <= 0 || seconds > kLongestAffinity) {
      config["clientIP"]["timeoutSeconds"].invalid(
          fmt::to_string(seconds),
          fmt::format("must be greater than 0 and less than {}", kLongestAffinity));
    }
  } else if (config && spec.text("sessionAffinity") == "None") {
    config.forbidden("must not be set when session affinity is None");
  }
}

void check_addresses(const Judged& spec) {
  if (spec.text("type") == "ExternalName") {
    return;
  }
  const Judged address = spec["clusterIP"];
  if (const std::string_view text = address.text();
      !text.empty() && text != "None" && !is_ip(text)) {
    spec["clusterIPs"][0].invalid(quote(text), "must be a valid IP address, (e.g. 10.9.8.7 or "
                                               "2001:db8::ffff)");
  }
  spec["ipFamilyPolicy"].one_of({"PreferDualStack", "RequireDualStack", "SingleStack"});
  spec.each("ipFamilies", [](const Judged& family) { family.one_of({"IPv4", "IPv6"}); });
}

/// Addresses that lead nowhere else, or everywhere.
void check_ordinary(const Judged& address) {
  const std::string_view ip = address.text();
  if (ip == "0.0.0.0" || ip == "::") {
    address.invalid(fmt::format("may not be unspecified ({})", ip));
  } else if (ip.starts_with("127.") || ip == "::1") {
    address.invalid("may not be in the loopback range (127.0.0.0/8, ::1/128)");
  } else if (ip.starts_with("169.254.")) {
    address.invalid("may not be in the link-local range (169.254.0.0/16, fe80::/10)");
  } else if (ip.starts_with("224.0.0.")) {
    address.invalid("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
  }
}

void check_ports_differ(const Judged& spec) {
  if (spec.text("type") == "ClusterIP") {
    spec.each("ports", [](const Judged& port) {
      if (port.number("nodePort").value_or(0) != 0) {
        port["nodePort"].forbidden("may not be used when `type` is 'ClusterIP'");
      }
    });
  }
  Names node_ports;
  Names ports;
  spec.each("ports", [&](const Judged& port) {
    const std::int64_t node = port.number("nodePort").value_or(0);
    if (node != 0 && !node_ports.insert(fmt::format("{}/{}", port.text("protocol"), node)).second) {
      port["nodePort"].duplicate();
    }
  });
  spec.each("ports", [&](const Judged& port) {
    const std::int64_t number = port.number("port").value_or(0);
    if (!ports.insert(fmt::format("{}/{}", port.text("protocol"), number)).second) {
      port.duplicate(fmt::format(
          R"({{"Name":"","Protocol":{},"AppProtocol":null,"Port":{},"TargetPort":0,"NodePort":0}})",
          quote(port.text("protocol")), number));
    }
  });
}

void check_load_balancer(const Judged& spec) {
  const bool balances = spec.text("type") == "LoadBalancer";
  // The path is spelled as kube-apiserver spells it.
  const Judged ranges(spec["loadBalancerSourceRanges"].json(),
                      spec.path() + ".LoadBalancerSourceRanges", spec.errors());
  if (ranges.size() > 0 && !balances) {
    ranges.forbidden("may only be used when `type` is 'LoadBalancer'");
  }
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (const Judged range = ranges[i]; !is_cidr(range.text())) {
      range.invalid("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    }
  }
  for (const std::string_view field : {"allocateLoadBalancerNodePorts", "loadBalancerClass"}) {
    if (spec.has(field) && !balances) {
      spec[field].forbidden("may only be used when `type` is 'LoadBalancer'");
    }
  }
}

void check_policies(const Judged& spec) {
  const std::string_view type = spec.text("type");
  const bool accessible = type == "NodePort" || type == "LoadBalancer" ||
                          (type == "ClusterIP" && spec.size("externalIPs") > 0);
  const Judged external = spec["externalTrafficPolicy"];
  if (!external.text().empty() && !accessible) {
    external.invalid("may only be set for externally-accessible services");
  } else {
    external.one_of({"Cluster", "Local"});
  }
  const bool checked = type == "LoadBalancer" && external.text() == "Local";
  if (const Judged port = spec["healthCheckNodePort"]; port.number().value_or(0) != 0) {
    if (checked) {
      port.in_range(1, kHighestPort);
    } else {
      port.invalid("may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is "
                   "'Local'");
    }
  }
  spec["internalTrafficPolicy"].one_of({"Cluster", "Local"});
}

/// An address, once given, stays as long as the type has addresses.
void check_change(const Judged& before, const Judged& now) {
  const std::string_view had = before.text("clusterIP");
  if (before.text("type") == "ExternalName" || now.text("type") == "ExternalName" || had.empty() ||
      had == now.text("clusterIP")) {
    return;
  }
  now["clusterIPs"][0].invalid(fmt::format("[{}]", quote(now.text("clusterIP"))),
                               "may not change once set");
}

} // namespace

void check_service(const AdmissionRequest& request, const api::Object& object,
                   FieldErrors& errors) {
  static const GroupKind kServices{"", "Service"};
  if (request.kind != kServices || request.subresource == Subresource::Status) {
    return;
  }
  const Judged spec(api::find(object.json(), "spec"), "spec", errors);
  if (request.before != nullptr) {
    check_change(Judged(api::find(request.before->json(), "spec"), "spec", errors), spec);
  }
  check_type(spec);
  Names names;
  const bool need_name = spec.size("ports") > 1;
  spec.each("ports", [&](const Judged& port) { check_port(port, need_name, names); });
  if (spec.has("selector")) {
    check_label_map(spec["selector"]);
  }
  check_affinity(spec);
  check_addresses(spec);
  spec.each("externalIPs", [](const Judged& address) {
    if (is_ip(address.text())) {
      check_ordinary(address);
    } else {
      check_ip(address);
    }
  });
  spec["type"].one_of({"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"});
  check_ports_differ(spec);
  check_load_balancer(spec);
  check_policies(spec);
}

} // namespace berth::store
