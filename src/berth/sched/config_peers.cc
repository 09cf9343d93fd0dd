// The parts of a KubeSchedulerConfiguration that say whom the scheduler talks to.
#include <map>

#include <fmt/format.h>

#include "berth/api/strict.h"
#include "berth/sched/config_peers.h"

namespace berth::sched {

using api::Field;

namespace {

/// A domain, a slash and a name: counted in whole numbers, not one of Kubernetes' own.
bool is_extended_resource(std::string_view name) {
  const std::size_t slash = name.find('/');
  return slash != std::string_view::npos && slash > 0 && slash + 1 < name.size() &&
         name.find('/', slash + 1) == std::string_view::npos &&
         name.find("kubernetes.io/") == std::string_view::npos && !name.starts_with("requests.");
}

void read_managed(const Field& in, Extender& out) {
  api::refuse_unknown(in, {"name", "ignoredByScheduler"});
  Extender::Resource& resource = out.managed_resources.emplace_back();
  in.read("name", resource.name);
  in.read("ignoredByScheduler", resource.ignored_by_scheduler);
  if (!in.failed() && !is_extended_resource(resource.name)) {
    in.fail_member(
        "name",
        fmt::format("Invalid value: \"{}\": is an invalid extended resource name", resource.name));
  }
}

void read_tls(const Field& in, Extender::Tls& out) {
  api::refuse_unknown(in, {"insecure", "serverName", "certFile", "keyFile", "caFile", "certData",
                           "keyData", "caData"});
  in.read("insecure", out.insecure);
  in.read("serverName", out.server_name);
  in.read("certFile", out.cert_file);
  in.read("keyFile", out.key_file);
  in.read("caFile", out.ca_file);
  in.read("certData", out.cert_data);
  in.read("keyData", out.key_data);
  in.read("caData", out.ca_data);
}

} // namespace

void decode(const Field& in, LeaderElection& out) {
  api::refuse_unknown(in, {"leaderElect", "leaseDuration", "renewDeadline", "retryPeriod",
                           "resourceLock", "resourceName", "resourceNamespace"});
  in.read("leaderElect", out.leader_elect);
  in.read("resourceLock", out.resource_lock);
  in.read("resourceName", out.resource_name);
  in.read("resourceNamespace", out.resource_namespace);
  const auto read = [&](std::string_view name, Duration& into) {
    in.within(name, [&](const Field& field) {
      api::decode_duration(field, into);
      if (out.leader_elect && into <= Duration()) {
        api::refuse_value(field, "must be greater than zero");
      }
    });
  };
  read("leaseDuration", out.lease_duration);
  read("renewDeadline", out.renew_deadline);
  read("retryPeriod", out.retry_period);
  if (!out.leader_elect) {
    return;
  }
  if (out.lease_duration <= out.renew_deadline) {
    in.fail_member("leaseDuration", "LeaseDuration must be greater than RenewDeadline");
  }
  if (out.renew_deadline <= out.retry_period) {
    in.fail_member("renewDeadline", "RenewDeadline must be greater than RetryPeriod");
  }
  if (out.resource_lock != "leases") {
    in.fail_member("resourceLock", fmt::format("Invalid value: \"{}\": resourceLock value must be "
                                               "\"leases\"",
                                               out.resource_lock));
  }
}

void decode(const Field& in, ClientConnection& out) {
  api::refuse_unknown(in, {"kubeconfig", "acceptContentTypes", "contentType", "qps", "burst"});
  in.read("kubeconfig", out.kubeconfig);
  in.read("acceptContentTypes", out.accept_content_types);
  in.read("contentType", out.content_type);
  in.within("qps", [&](const Field& field) {
    if (!field.value().is_number()) {
      return field.expected("a number");
    }
    out.qps = field.value().to_number<double>();
  });
  in.within("burst", [&](const Field& field) {
    decode(field, out.burst);
    if (out.burst < 0) {
      api::refuse_value(field, "must be non-negative");
    }
  });
}

void decode(const Field& in, Extender& out) {
  api::refuse_unknown(in, {"urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "weight",
                           "bindVerb", "enableHTTPS", "tlsConfig", "httpTimeout",
                           "nodeCacheCapable", "managedResources", "ignorable"});
  in.read("urlPrefix", out.url_prefix);
  in.read("filterVerb", out.filter_verb);
  in.read("preemptVerb", out.preempt_verb);
  in.read("prioritizeVerb", out.prioritize_verb);
  in.read("bindVerb", out.bind_verb);
  in.read("weight", out.weight);
  in.read("enableHTTPS", out.enable_https);
  in.read("nodeCacheCapable", out.node_cache_capable);
  in.read("ignorable", out.ignorable);
  in.within("httpTimeout",
            [&](const Field& field) { api::decode_duration(field, out.http_timeout); });
  in.within("tlsConfig", [&](const Field& tls) { read_tls(tls, out.tls); });
  in.within("managedResources", [&](const Field& list) {
    list.each([&](const Field& item) { read_managed(item, out); });
  });
  if (out.url_prefix.empty()) {
    api::require(in, "urlPrefix");
  }
  if (!out.prioritize_verb.empty() && out.weight <= 0) {
    in.fail_member("weight", fmt::format("Invalid value: {}: must have a positive weight applied "
                                         "to it",
                                         out.weight));
  }
}

void decode_extenders(const Field& list, std::vector<Extender>& out) {
  int binders = 0;
  std::map<std::string, int> managed;
  list.each([&](const Field& item) {
    Extender& extender = out.emplace_back();
    decode(item, extender);
    binders += extender.bind_verb.empty() ? 0 : 1;
    if (binders > 1) {
      item.fail_member("bindVerb", "only one extender can implement bind");
    }
    for (const Extender::Resource& resource : extender.managed_resources) {
      if (++managed[resource.name] > 1) {
        item.fail_member("managedResources",
                         fmt::format("Invalid value: \"{}\": duplicate extender managed resource "
                                     "name",
                                     resource.name));
      }
    }
  });
}

} // namespace berth::sched
