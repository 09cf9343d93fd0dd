#include "berth/store/validation/webhooks.h"

#include <algorithm>
#include <set>

#include "berth/store/naming.h"
#include "berth/store/validation/admission_rules.h"
#include "berth/store/validation/formats.h"

namespace berth::store {
namespace {

using Names = std::set<std::string, std::less<>>;

constexpr std::string_view kVersions = "v1, v1beta1";
constexpr std::int64_t kLongestSeconds = 30;

/// What older configurations may have had.
struct Demands {
  bool no_side_effects = true;
  bool known_version = true;
  bool unique_names = true;
};

bool knows_version(const Judged& hook) {
  bool known = hook.size("admissionReviewVersions") == 0;
  hook.each("admissionReviewVersions", [&](const Judged& version) {
    known = known || version.text() == "v1" || version.text() == "v1beta1";
  });
  return known;
}

Demands demands_after(const Judged& before) {
  Demands out;
  Names names;
  before.each("webhooks", [&](const Judged& hook) {
    const std::string_view effects = hook.text("sideEffects");
    out.no_side_effects = out.no_side_effects && (effects == "None" || effects == "NoneOnDryRun");
    out.known_version = out.known_version && knows_version(hook);
    out.unique_names = out.unique_names && names.emplace(hook.text("name")).second;
  });
  return out;
}

void check_name(const Judged& name) {
  if (!name.need_text()) {
    return;
  }
  if (const auto whys = subdomain_errors(name.text()); !whys.empty()) {
    name.invalid(fmt::format("{}", fmt::join(whys, ",")));
  } else if (std::ranges::count(name.text(), '.') < 2) {
    name.invalid("should be a domain with at least three segments separated by dots");
  }
}

void check_url(const Judged& url) {
  constexpr std::string_view kForm = "; desired format: https://host[/path]";
  const std::string_view text = url.text();
  const std::size_t scheme = text.find("://");
  if (!text.starts_with("https://")) {
    url.invalid(quote(scheme == std::string_view::npos ? "" : text.substr(0, scheme)),
                fmt::format("'https' is the only allowed URL scheme{}", kForm));
  }
  const std::string_view rest =
      scheme == std::string_view::npos ? std::string_view() : text.substr(scheme + 3);
  const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  if (host.empty()) {
    url.invalid(quote(""), fmt::format("host must be provided{}", kForm));
  }
  if (const std::size_t user = host.rfind('@'); user != std::string_view::npos) {
    url.invalid(quote(host.substr(0, user)), "user information is not permitted in the URL");
  }
  const std::size_t fragment = rest.find('#');
  if (fragment != std::string_view::npos && fragment + 1 < rest.size()) {
    url.invalid(quote(rest.substr(fragment + 1)), "fragments are not permitted in the URL");
  }
  const std::size_t query = rest.substr(0, fragment).find('?');
  if (query != std::string_view::npos && query + 1 < rest.substr(0, fragment).size()) {
    url.invalid(quote(rest.substr(0, fragment).substr(query + 1)),
                "query parameters are not permitted in the URL");
  }
}

void check_service_path(const Judged& path) {
  const std::string_view text = path.text();
  if (text.empty() || text == "/") {
    return;
  }
  if (text == "//") {
    path.invalid("segment[0] may not be empty");
    return;
  }
  if (!text.starts_with('/')) {
    path.invalid("must start with a '/'");
  }
  std::string_view rest = text.starts_with('/') ? text.substr(1) : text;
  rest = rest.ends_with('/') ? rest.substr(0, rest.size() - 1) : rest;
  std::size_t i = 0;
  for (std::size_t start = 0; start <= rest.size(); ++i) {
    const std::size_t end = std::min(rest.find('/', start), rest.size());
    const std::string_view segment = rest.substr(start, end - start);
    start = end + 1;
    if (segment.empty()) {
      path.invalid(fmt::format("segment[{}] may not be empty", i));
      continue;
    }
    for (const std::string& why : subdomain_errors(segment)) {
      path.invalid(fmt::format("segment[{}]: {}", i, why));
    }
  }
}

void check_client(const Judged& client) {
  const bool url = client.has("url");
  if (url == client.has("service")) {
    client.required("exactly one of url or service is required");
  } else if (url) {
    check_url(client["url"]);
  } else {
    const Judged service = client["service"];
    if (service.text("name").empty()) {
      service["name"].required("service name is required");
    }
    if (service.text("namespace").empty()) {
      service["namespace"].required("service namespace is required");
    }
    const std::int64_t port = service.number("port").value_or(0);
    if (port < 1 || port > kHighestPort) {
      service["port"].invalid(fmt::to_string(port),
                              "port is not valid: must be between 1 and 65535, inclusive");
    }
    check_service_path(service["path"]);
  }
}

void check_hook(const Judged& hook, const Demands& demands) {
  check_name(hook["name"]);
  hook.each("rules", check_admission_rule);
  hook["failurePolicy"].one_of({"Fail", "Ignore"});
  hook["matchPolicy"].one_of({"Equivalent", "Exact"});
  const std::vector<std::string> effects =
      demands.no_side_effects ? std::vector<std::string>{"None", "NoneOnDryRun"}
                              : std::vector<std::string>{"None", "NoneOnDryRun", "Some", "Unknown"};
  if (!hook.has("sideEffects")) {
    hook["sideEffects"].required(fmt::format("must specify one of {}", fmt::join(effects, ", ")));
  }
  hook["sideEffects"].one_of(effects);
  if (const auto seconds = hook.number("timeoutSeconds");
      seconds && (*seconds < 1 || *seconds > kLongestSeconds)) {
    hook["timeoutSeconds"].invalid("the timeout value must be between 1 and 30 seconds");
  }
  check_label_selector(hook["namespaceSelector"]);
  check_label_selector(hook["objectSelector"]);
  hook["reinvocationPolicy"].one_of({"IfNeeded", "Never"});
  check_client(hook["clientConfig"]);
  check_match_conditions(hook, PolicyScope::Params::None);
}

void check_versions(const Judged& hook, const Demands& demands) {
  const Judged all = hook["admissionReviewVersions"];
  if (all.size() == 0) {
    all.required(fmt::format("must specify one of {}", kVersions));
    return;
  }
  Names seen;
  hook.each("admissionReviewVersions", [&](const Judged& version) {
    if (!seen.emplace(version.text()).second) {
      version.invalid("duplicate version");
      return;
    }
    version.invalid(dns1035_label_errors(version.text()));
  });
  if (demands.known_version && !knows_version(hook)) {
    all.invalid(fmt::format("must include at least one of {}", kVersions));
  }
}

} // namespace

void check_webhooks(const Judged& whole, const Judged& before) {
  const Demands demands = demands_after(before);
  Names names;
  whole.each("webhooks", [&](const Judged& hook) {
    check_hook(hook, demands);
    check_versions(hook, demands);
    const Judged name = hook["name"];
    if (demands.unique_names && !name.text().empty() && !names.emplace(name.text()).second) {
      name.duplicate();
    }
  });
}

} // namespace berth::store
