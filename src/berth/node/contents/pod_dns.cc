#include "berth/node/contents/pod_dns.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "berth/node/contents/spec_field.h"

namespace berth::node {
namespace {

namespace json = api::json;

constexpr std::size_t kMostServers = 3;
constexpr std::size_t kMostSearches = 32;

std::vector<std::string> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<std::string> words;
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    if (line.empty()) {
      return words;
    }
    words.emplace_back(line.substr(0, line.find_first_of(kBlank)));
    line.remove_prefix(words.back().size());
  }
}

void add_new(std::vector<std::string>& to, const std::vector<std::string>& more) {
  for (const std::string& each : more) {
    if (std::ranges::find(to, each) == to.end()) {
      to.push_back(each);
    }
  }
}

/// "ndots:5" replaces another ndots.
void set_option(std::vector<std::string>& options, const std::string& option) {
  const std::string name = option.substr(0, option.find(':'));
  std::erase_if(options,
                [&](const std::string& each) { return each.substr(0, each.find(':')) == name; });
  options.push_back(option);
}

/// What the cluster's own DNS answers, before the machine's searches.
runtime::DnsConfig of_cluster(std::string_view ns, const DnsSettings& settings,
                              const runtime::DnsConfig& machine) {
  const std::string& domain = settings.cluster_domain;
  runtime::DnsConfig dns{
      .servers = settings.cluster_servers,
      .searches = {fmt::format("{}.svc.{}", ns, domain), fmt::format("svc.{}", domain), domain},
      .options = {"ndots:5"}};
  add_new(dns.searches, machine.searches);
  return dns;
}

} // namespace

runtime::DnsConfig parse_resolv_conf(std::string_view text) {
  runtime::DnsConfig dns;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    std::vector<std::string> words = words_of(line);
    if (words.size() < 2) {
      continue;
    }
    const std::string keyword = std::exchange(words.front(), "");
    words.erase(words.begin());
    if (keyword == "nameserver") {
      dns.servers.push_back(words.front());
    } else if (keyword == "search") {
      dns.searches = std::move(words);
    } else if (keyword == "options") {
      for (const std::string& option : words) {
        set_option(dns.options, option);
      }
    }
  }
  return dns;
}

runtime::DnsConfig pod_dns(const json::value& pod, const DnsSettings& settings,
                           const runtime::DnsConfig& machine) {
  const std::string_view policy = api::string_at(pod, "spec.dnsPolicy");
  const bool host = bool_at(pod, "spec.hostNetwork").value_or(false);
  const bool cluster = !settings.cluster_servers.empty() &&
                       (policy == "ClusterFirstWithHostNet" ||
                        (!host && (policy == "ClusterFirst" || policy.empty())));
  runtime::DnsConfig dns =
      policy == "None" ? runtime::DnsConfig()
      : cluster        ? of_cluster(api::string_at(pod, "metadata.namespace"), settings, machine)
                       : machine;
  if (const json::value* own = api::find_path(pod, "spec.dnsConfig")) {
    add_new(dns.servers, strings_at(*own, "nameservers"));
    add_new(dns.searches, strings_at(*own, "searches"));
    for (const json::value& option : list_at(*own, "options")) {
      const std::string name(api::string_at(option, "name"));
      const std::string_view value = api::string_at(option, "value");
      set_option(dns.options, value.empty() ? name : fmt::format("{}:{}", name, value));
    }
  }
  dns.servers.resize(std::min(dns.servers.size(), kMostServers));
  dns.searches.resize(std::min(dns.searches.size(), kMostSearches));
  return dns;
}

} // namespace berth::node
