#include "berth/store/validation/pod_status.h"

#include <algorithm>
#include <array>
#include <set>

#include "berth/api/same.h"
#include "berth/store/naming.h"
#include "berth/store/validation/formats.h"
#include "berth/store/validation/judged.h"

namespace berth::store {
namespace {

using Names = std::set<std::string, std::less<>>;

/// The paths begin with metadata, as kube-apiserver's do.
void check_conditions(const Judged& status) {
  static constexpr std::array<std::string_view, 3> kOwn = {"PodScheduled", "Ready", "Initialized"};
  std::size_t i = 0;
  status.each("conditions", [&](const Judged& condition) {
    if (std::ranges::find(kOwn, condition.text("type")) == kOwn.end()) {
      Judged(condition["type"].json(), fmt::format("metadata.conditions[{}].Type", i),
             condition.errors())
          .label_name();
    }
    ++i;
  });
}

bool ended(const Judged& status) {
  return status["state"].has("terminated");
}

/// Containers that ended for good may not come to life again.
void check_ends(const Judged& was, const Judged& is, std::string_view list,
                std::string_view restart_policy) {
  if (restart_policy == "Always") {
    return;
  }
  std::size_t i = 0;
  was.each(list, [&](const Judged& old) {
    const Judged place = is[list][i++]["state"];
    const std::string_view name = old.text("name");
    const bool failed = old["state"]["terminated"].number("exitCode").value_or(0) != 0;
    if (!ended(old) || (failed && restart_policy == "OnFailure")) {
      return;
    }
    is.each(list, [&](const Judged& next) {
      if (next.text("name") == name && !ended(next)) {
        place.forbidden("may not be transitioned to non-terminated state");
      }
    });
  });
}

void check_claims(const Judged& status, const Judged& spec) {
  Names claims;
  spec.each("resourceClaims", [&](const Judged& claim) { claims.emplace(claim.text("name")); });
  Names seen;
  status.each("resourceClaimStatuses", [&](const Judged& one) {
    const Judged name = one["name"];
    if (!claims.contains(name.text())) {
      name.invalid("must match the name of an entry in `spec.resourceClaims`");
    }
    if (!seen.emplace(name.text()).second) {
      name.duplicate();
    }
    if (const Judged claim = one["resourceClaimName"]) {
      add_invalid(one.errors(), name.path(), claim.text(), subdomain_errors(claim.text()));
    }
  });
}

/// At most one address of each family.
void check_families(const Judged& status, std::string_view list) {
  const Judged all = status[list];
  if (all.size() < 2) {
    return;
  }
  std::size_t fours = 0;
  Names seen;
  status.each(list, [&](const Judged& one) { fours += is_ipv4(one.text("ip")) ? 1 : 0; });
  const auto check_families = [&] {
    if (all.size() > 2 || fours != 1) {
      all.invalid("may specify no more than one IP for each IP family");
    }
  };
  const auto check_twice = [&] {
    status.each(list, [&](const Judged& one) {
      if (!seen.emplace(one.text("ip")).second) {
        one.duplicate(fmt::format(R"({{"IP":{}}})", quote(one.text("ip"))));
      }
    });
  };
  if (list == "podIPs") {
    check_families();
    check_twice();
  } else {
    check_twice();
    check_families();
  }
}

void check_addresses(const Judged& status) {
  const auto each_ip = [&](std::string_view list) {
    status.each(list, [](const Judged& one) {
      check_ip(Judged(one["ip"].json(), one.path(), one.errors()));
    });
    check_families(status, list);
  };
  each_ip("podIPs");
  const Judged first = status["hostIPs"][0]["ip"];
  if (first && first.text() != status.text("hostIP")) {
    first.invalid("must be equal to `hostIP`");
  }
  each_ip("hostIPs");
}

} // namespace

void check_pod_status(const api::Object& before, const api::Object& now, FieldErrors& errors) {
  const api::json::value* old = api::find(before.json(), "status");
  const api::json::value* next = api::find(now.json(), "status");
  if (old != nullptr && next != nullptr && api::same(*old, *next)) {
    return;
  }
  const Judged was(old, "status", errors);
  const Judged is(next, "status", errors);
  const Judged spec(api::find(now.json(), "spec"), "spec", errors);
  check_conditions(is);
  if (const Judged node = is["nominatedNodeName"];
      !node.text().empty() && node.text() != was.text("nominatedNodeName")) {
    node.dns_subdomain();
  }
  if (was.text("qosClass") != is.text("qosClass")) {
    is["qosClass"].invalid("field is immutable");
  }
  const std::string_view policy = spec.text("restartPolicy");
  check_ends(was, is, "containerStatuses", policy);
  check_ends(was, is, "ephemeralContainerStatuses", "Never");
  check_claims(is, spec);
  check_addresses(is);
}

} // namespace berth::store
