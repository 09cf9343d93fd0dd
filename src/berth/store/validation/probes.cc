#include "berth/store/validation/probes.h"

#include <algorithm>
#include <array>

#include "berth/store/validation/formats.h"

namespace berth::store {
namespace {

bool is_header(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

void check_http_get(const Judged& http) {
  http["path"].need_text();
  check_port_or_name(http["port"]);
  if (const auto scheme = http.text("scheme"); scheme != "HTTP" && scheme != "HTTPS") {
    http["scheme"].unsupported({"HTTP", "HTTPS"});
  }
  http.each("httpHeaders", [&](const Judged& header) {
    if (!is_header(header.text("name"))) {
      http["httpHeaders"].invalid(
          quote(header.text("name")),
          "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. "
          "'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')");
    }
  });
}

void check_action(std::string_view kind, const Judged& action, std::int64_t grace) {
  if (kind == "exec") {
    if (action.size("command") == 0) {
      action["command"].required();
    }
  } else if (kind == "httpGet") {
    check_http_get(action);
  } else if (kind == "sleep") {
    const std::int64_t seconds = action.number("seconds").value_or(0);
    if (seconds < 0 || seconds > grace) {
      action.invalid(
          fmt::to_string(seconds),
          fmt::format("must be non-negative and less than terminationGracePeriodSeconds ({})",
                      grace));
    }
  } else {
    check_port_or_name(action["port"]);
  }
}

/// Exactly one way to ask or act.
void check_handler(const Judged& handler, std::int64_t grace) {
  static constexpr std::array<std::string_view, 5> kActions = {"exec", "httpGet", "tcpSocket",
                                                               "grpc", "sleep"};
  bool first = true;
  for (const std::string_view kind : kActions) {
    if (!handler.has(kind)) {
      continue;
    }
    if (first) {
      check_action(kind, handler[kind], grace);
      first = false;
    } else {
      handler[kind].forbidden("may not specify more than 1 handler type");
    }
  }
  if (first) {
    handler.required("must specify a handler type");
  }
}

void check_probe(const Judged& probe, std::int64_t grace) {
  check_handler(probe, grace);
  for (const std::string_view field : {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                                       "successThreshold", "failureThreshold"}) {
    probe[field].not_negative();
  }
  if (probe.number("terminationGracePeriodSeconds").value_or(1) <= 0) {
    probe["terminationGracePeriodSeconds"].invalid("must be greater than 0");
  }
}

void succeeds_at_once(const Judged& probe) {
  if (const auto threshold = probe.number("successThreshold"); threshold && *threshold != 1) {
    probe["successThreshold"].invalid("must be 1");
  }
}

} // namespace

void check_probes(const Judged& container, std::int64_t grace) {
  if (container.has("lifecycle")) {
    for (const std::string_view hook : {"postStart", "preStop"}) {
      if (const Judged action = container["lifecycle"][hook]) {
        check_handler(action, grace);
      }
    }
  }
  if (container.has("livenessProbe")) {
    check_probe(container["livenessProbe"], grace);
    succeeds_at_once(container["livenessProbe"]);
  }
  if (container.has("readinessProbe")) {
    const Judged probe = container["readinessProbe"];
    check_probe(probe, grace);
    if (probe.has("terminationGracePeriodSeconds")) {
      probe["terminationGracePeriodSeconds"].invalid("must not be set for readinessProbes");
    }
  }
  if (container.has("startupProbe")) {
    check_probe(container["startupProbe"], grace);
    succeeds_at_once(container["startupProbe"]);
  }
}

} // namespace berth::store
