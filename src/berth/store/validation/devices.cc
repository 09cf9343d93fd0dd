#include "berth/store/validation/devices.h"

#include <algorithm>
#include <functional>
#include <set>

#include "berth/store/naming.h"
#include "berth/store/validation/affinity.h"
#include "berth/store/validation/claim_status.h"
#include "berth/store/validation/expressions.h"
#include "berth/store/validation/immutable.h"

namespace berth::store {
namespace {

constexpr std::size_t kMaxRequests = 32;
constexpr std::size_t kMaxAlternatives = 8;
constexpr std::size_t kMaxSelectors = 32;
constexpr std::size_t kMaxConstraints = 32;
constexpr std::size_t kMaxConfigs = 32;
constexpr std::size_t kMaxDevices = 128;
constexpr std::size_t kMaxDriver = 63;
constexpr std::size_t kMaxExpression = std::size_t{10} * 1024;
constexpr std::size_t kMaxIdentifier = 32;

using Names = std::set<std::string, std::less<>>;

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

void check_identifier(const Judged& at, std::string_view name) {
  if (name.size() > kMaxIdentifier) {
    at.too_long(kMaxIdentifier);
  }
  if (!is_identifier(name)) {
    at.invalid(quote(name),
               "a valid C identifier must start with alphabetic character or '_', followed by a "
               "string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
               "'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')");
  }
}

/// "name" or "domain/name".
void check_qualified(const Judged& at, std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) {
    check_identifier(at, name);
    return;
  }
  if (slash == 0) {
    at.required("the domain must not be empty");
  } else {
    for (const std::string& why : subdomain_errors(name.substr(0, slash))) {
      at.invalid(quote(name.substr(0, slash)), why);
    }
  }
  if (slash + 1 == name.size()) {
    at.required("the name must not be empty");
  } else {
    check_identifier(at, name.substr(slash + 1));
  }
}

void check_fully_qualified(const Judged& name) {
  if (!name.need_text("name required")) {
    return;
  }
  check_qualified(name, name.text());
  if (name.text().find('/') == std::string_view::npos) {
    name.invalid("must include a domain");
  }
}

void check_driver(const Judged& name) {
  if (!name.need_text()) {
    return;
  }
  if (name.text().size() > kMaxDriver) {
    name.too_long(kMaxDriver);
  }
  name.dns_subdomain();
}

void check_selectors(const Judged& of) {
  if (of.size("selectors") > kMaxSelectors) {
    of["selectors"].too_many(kMaxSelectors);
  }
  of.each("selectors", [](const Judged& selector) {
    if (!selector.has("cel")) {
      selector["cel"].required();
    } else if (selector["cel"].text("expression").size() > kMaxExpression) {
      selector["cel"]["expression"].too_long(kMaxExpression);
    } else {
      check_device_expression(selector["cel"]["expression"]);
    }
  });
}

void check_mode(const Judged& request) {
  const std::string_view mode = request.text("allocationMode");
  const std::int64_t count = request.number("count").value_or(0);
  if (mode == "All") {
    if (count != 0) {
      request["count"].invalid("must not be specified when allocationMode is 'All'");
    }
  } else if (mode == "ExactCount") {
    if (count <= 0) {
      request["count"].invalid(fmt::to_string(count), "must be greater than zero");
    }
  } else {
    request["allocationMode"].unsupported({"All", "ExactCount"});
  }
}

void check_tolerations(const Judged& request) {
  request.each("tolerations", [](const Judged& toleration) {
    if (!toleration.text("key").empty()) {
      toleration["key"].label_name();
    }
    const std::string_view op = toleration.text("operator");
    if (op == "Exists") {
      if (!toleration.text("value").empty()) {
        toleration["value"].invalid("must be empty for operator `Exists`");
      }
    } else if (op == "Equal") {
      toleration["value"].invalid(label_value_errors(toleration.text("value")));
    } else if (op.empty()) {
      toleration["operator"].required();
    } else {
      toleration["operator"].unsupported({"Equal", "Exists"});
    }
    toleration["effect"].one_of({"NoExecute", "NoSchedule"});
  });
}

void check_ask(const Judged& ask) {
  if (ask["deviceClassName"].need_text()) {
    ask["deviceClassName"].dns_subdomain();
  }
  check_selectors(ask);
  check_mode(ask);
  check_tolerations(ask);
}

void check_name(const Judged& name, Names& seen) {
  if (name.need_text()) {
    name.dns_label();
  }
  if (!seen.emplace(name.text()).second) {
    name.duplicate();
  }
}

void check_request(const Judged& request, Names& names) {
  check_name(request["name"], names);
  const bool alternatives = request.size("firstAvailable") > 0;
  const bool exactly = request.has("exactly");
  if (alternatives && exactly) {
    request.invalid("null", "exactly one of `exactly` or `firstAvailable` is required, but "
                            "multiple fields are set");
  } else if (exactly) {
    check_ask(request["exactly"]);
  } else if (alternatives) {
    if (request.size("firstAvailable") > kMaxAlternatives) {
      request["firstAvailable"].too_many(kMaxAlternatives);
    }
    Names inner;
    request.each("firstAvailable", [&](const Judged& alternative) {
      check_name(alternative["name"], inner);
      check_ask(alternative);
    });
  } else {
    request.required("exactly one of `exactly` or `firstAvailable` is required");
  }
}

/// The requests of a claim, and "request/alternative".
Names request_names(const Judged& devices) {
  Names names;
  devices.each("requests", [&](const Judged& request) {
    names.emplace(request.text("name"));
    request.each("firstAvailable", [&](const Judged& alternative) {
      names.emplace(fmt::format("{}/{}", request.text("name"), alternative.text("name")));
    });
  });
  return names;
}

void check_references(const Judged& of, const Names& names) {
  Names seen;
  of.each("requests", [&](const Judged& name) {
    check_request_name(name, names);
    if (!seen.emplace(name.text()).second) {
      name.duplicate();
    }
  });
}

void check_opaque(const Judged& config) {
  const Judged opaque = config["opaque"];
  if (!opaque) {
    opaque.required();
    return;
  }
  check_driver(opaque["driver"]);
  if (!opaque.has("parameters")) {
    opaque["parameters"].required();
  }
}

void check_configs(const Judged& of) {
  if (of.size("config") > kMaxConfigs) {
    of["config"].too_many(kMaxConfigs);
  }
  of.each("config", check_opaque);
}

void check_claim_devices(const Judged& devices) {
  const Names known = request_names(devices);
  if (devices.size("requests") > kMaxRequests) {
    devices["requests"].too_many(kMaxRequests);
  }
  Names names;
  devices.each("requests", [&](const Judged& request) { check_request(request, names); });
  if (devices.size("constraints") > kMaxConstraints) {
    devices["constraints"].too_many(kMaxConstraints);
  }
  devices.each("constraints", [&](const Judged& constraint) {
    check_references(constraint, known);
    if (constraint.has("matchAttribute")) {
      check_fully_qualified(constraint["matchAttribute"]);
    } else if (!constraint.has("distinctAttribute")) {
      constraint["matchAttribute"].required();
    }
  });
  if (devices.size("config") > kMaxConfigs) {
    devices["config"].too_many(kMaxConfigs);
  }
  devices.each("config", [&](const Judged& config) {
    check_references(config, known);
    check_opaque(config);
  });
}

void check_device(const Judged& device, Names& names) {
  check_name(device["name"], names);
  const Judged attributes = device["attributes"];
  for (const std::string& name : attributes.names()) {
    const Judged attribute = attributes.key(name);
    check_qualified(attribute, name);
    const std::size_t values = attribute.size();
    if (values == 0) {
      attribute.required("exactly one value must be specified");
    } else if (values > 1) {
      attribute.invalid("exactly one value must be specified");
    }
  }
  const Judged capacity = device["capacity"];
  for (const std::string& name : capacity.names()) {
    check_qualified(capacity.key(name), name);
  }
}

void check_slice(const AdmissionRequest& request, const Judged& spec) {
  if (request.before != nullptr) {
    const Judged before(api::find(request.before->json(), "spec"), "spec", spec.errors());
    for (const std::string_view field : {"nodeName", "driver"}) {
      check_immutable(before, spec, field);
    }
    check_immutable(before["pool"], spec["pool"], "name");
  }
  check_driver(spec["driver"]);
  const Judged pool = spec["pool"];
  pool["name"].need_text();
  if (const std::int64_t count = pool.number("resourceSliceCount").value_or(0); count <= 0) {
    pool["resourceSliceCount"].invalid(fmt::to_string(count), "must be greater than zero");
  }
  if (pool.number("generation").value_or(0) < 0) {
    pool["generation"].invalid("must be greater than or equal to zero");
  }
  std::vector<std::string> placed;
  if (!spec.text("nodeName").empty()) {
    placed.emplace_back("`nodeName`");
    spec["nodeName"].dns_subdomain();
  }
  if (spec.has("nodeSelector")) {
    placed.emplace_back("`nodeSelector`");
    check_node_selector(spec["nodeSelector"]);
  }
  for (const std::string_view field : {"allNodes", "perDeviceNodeSelection"}) {
    if (spec.is_true(field)) {
      placed.push_back(fmt::format("`{}`", field));
    }
  }
  if (placed.empty()) {
    spec.required("exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` "
                  "is required");
  } else if (placed.size() > 1) {
    spec.invalid(quote(fmt::format("{{{}}}", fmt::join(placed, ", "))),
                 "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` "
                 "is required, but multiple fields are set");
  }
  if (spec.size("devices") > kMaxDevices) {
    spec["devices"].too_many(kMaxDevices);
  }
  Names names;
  spec.each("devices", [&](const Judged& device) { check_device(device, names); });
}

// ---- a claim's spec as kube-apiserver shows it: every field of its internal type
std::string plain(const Judged& value, std::string_view absent) {
  return value ? api::to_json(*value.json()) : std::string(absent);
}

std::string listed(const Judged& of, std::string_view member,
                   const std::function<std::string(const Judged&)>& text) {
  if (of.size(member) == 0) {
    return "null";
  }
  std::string out;
  of.each(member, [&](const Judged& one) { out += (out.empty() ? "" : ",") + text(one); });
  return "[" + out + "]";
}

std::string ask_text(const Judged& ask, std::string_view admin) {
  const std::string selectors = listed(ask, "selectors", [](const Judged& selector) {
    return fmt::format(R"({{"CEL":{{"Expression":{}}}}})",
                       plain(selector["cel"]["expression"], "\"\""));
  });
  return fmt::format(
      R"("DeviceClassName":{},"Selectors":{},"AllocationMode":{},"Count":{},{}"Tolerations":null,"Capacity":null)",
      plain(ask["deviceClassName"], "\"\""), selectors, plain(ask["allocationMode"], "\"\""),
      plain(ask["count"], "0"), admin);
}

std::string request_text(const Judged& request) {
  const Judged exactly = request["exactly"];
  const std::string exact =
      exactly ? fmt::format("{{{}}}",
                            ask_text(exactly, fmt::format("\"AdminAccess\":{},",
                                                          plain(exactly["adminAccess"], "null"))))
              : "null";
  const std::string alternatives = listed(request, "firstAvailable", [](const Judged& one) {
    return fmt::format(R"({{"Name":{},{}}})", plain(one["name"], "\"\""), ask_text(one, ""));
  });
  return fmt::format(R"({{"Name":{},"Exactly":{},"FirstAvailable":{}}})",
                     plain(request["name"], "\"\""), exact, alternatives);
}

std::string claim_text(const Judged& spec) {
  const Judged devices = spec["devices"];
  const std::string constraints = listed(devices, "constraints", [](const Judged& one) {
    return fmt::format(R"({{"Requests":{},"MatchAttribute":{},"DistinctAttribute":{}}})",
                       plain(one["requests"], "null"), plain(one["matchAttribute"], "null"),
                       plain(one["distinctAttribute"], "null"));
  });
  return fmt::format(R"({{"Devices":{{"Requests":{},"Constraints":{},"Config":{}}}}})",
                     listed(devices, "requests", request_text), constraints,
                     plain(devices["config"], "null"));
}

} // namespace

void check_devices(const AdmissionRequest& request, const api::Object& object,
                   FieldErrors& errors) {
  if (request.kind.group != "resource.k8s.io") {
    return;
  }
  const Judged whole(&object.json(), "", errors);
  const Judged spec = whole["spec"];
  const bool claim = request.kind.kind == "ResourceClaim";
  if (request.subresource == Subresource::Status) {
    if (claim) {
      check_claim_status(Judged(&request.before->json(), "", errors), whole,
                         request_names(spec["devices"]));
    }
    return;
  }
  const bool mould = request.kind.kind == "ResourceClaimTemplate";
  if (request.before != nullptr && (claim || mould) &&
      differ(Judged(&request.before->json(), "", errors), whole, "spec")) {
    spec.invalid(claim ? claim_text(spec) : plain(spec, "null"), "field is immutable");
  }
  if (claim) {
    check_claim_devices(spec["devices"]);
  } else if (mould) {
    check_claim_devices(spec["spec"]["devices"]);
  } else if (request.kind.kind == "DeviceClass") {
    check_selectors(spec);
    check_configs(spec);
  } else if (request.kind.kind == "ResourceSlice") {
    check_slice(request, spec);
  }
}

} // namespace berth::store
