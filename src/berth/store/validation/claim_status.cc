#include "berth/store/validation/claim_status.h"

#include <algorithm>

#include "berth/store/validation/affinity.h"
#include "berth/store/validation/immutable.h"
#include "berth/store/validation/internal_text.h"
#include "berth/store/validation/storage.h"

namespace berth::store {
namespace {

using Names = std::set<std::string, std::less<>>;

constexpr std::size_t kMaxConsumers = 256;
constexpr std::size_t kMaxResults = 32;

constexpr Member kToleration[] = {{"Key", "key", Form::Text},
                                  {"Operator", "operator", Form::Text},
                                  {"Value", "value", Form::Text},
                                  {"Effect", "effect", Form::Text},
                                  {"TolerationSeconds", "tolerationSeconds", Form::Pointer}};
constexpr Member kResult[] = {{"Request", "request", Form::Text},
                              {"Driver", "driver", Form::Text},
                              {"Pool", "pool", Form::Text},
                              {"Device", "device", Form::Text},
                              {"AdminAccess", "adminAccess", Form::Pointer},
                              {"Tolerations", "tolerations", Form::Structs, kToleration},
                              {"BindingConditions", "bindingConditions", Form::Texts},
                              {"BindingFailureConditions", "bindingFailureConditions", Form::Texts},
                              {"ShareID", "shareID", Form::Pointer},
                              {"ConsumedCapacity", "consumedCapacity", Form::Amounts}};
constexpr Member kDevices[] = {{"Results", "results", Form::Structs, kResult},
                               {"Config", "config", Form::Unknown}};
constexpr Member kAllocation[] = {{"Devices", "devices", Form::Struct, kDevices},
                                  {"NodeSelector", "nodeSelector", Form::Unknown},
                                  {"AllocationTimestamp", "allocationTimestamp", Form::Pointer}};

std::string device_of(const Judged& one) {
  return fmt::format("{}/{}/{}", one.text("driver"), one.text("pool"), one.text("device"));
}

void check_consumers(const Judged& is) {
  const Judged all = is["reservedFor"];
  if (all.size() > kMaxConsumers) {
    all.too_many(kMaxConsumers);
  }
  Names uids;
  is.each("reservedFor", [](const Judged& consumer) {
    for (const std::string_view member : {"resource", "name", "uid"}) {
      consumer[member].need_text();
    }
  });
  is.each("reservedFor", [&](const Judged& consumer) {
    if (!uids.emplace(consumer.text("uid")).second) {
      consumer["uid"].duplicate();
    }
  });
}

/// Who uses a claim uses what is allocated, and nobody comes to use what goes.
void check_use(const Judged& was, const Judged& is, bool deleted) {
  const Judged all = is["reservedFor"];
  if (all.size() == 0) {
    return;
  }
  if (!is.has("allocation")) {
    all.forbidden("may not be specified when `allocated` is not set");
    return;
  }
  const api::json::array* held = was["reservedFor"].array();
  const bool grew = std::ranges::any_of(*all.array(), [&](const api::json::value& one) {
    return held == nullptr || std::ranges::find(*held, one) == held->end();
  });
  if (deleted && grew) {
    all.forbidden("new entries may not be added while `deallocationRequested` or "
                  "`deletionTimestamp` are set");
  }
}

void check_result(const Judged& result, const RequestNames& known) {
  check_request_name(result["request"], known);
  check_csi_driver_name(result["driver"]);
  const Judged pool = result["pool"];
  if (pool.need_text()) {
    std::string_view rest = pool.text();
    for (bool more = true; more;) {
      const std::size_t slash = rest.find('/');
      const api::json::value part(rest.substr(0, slash));
      Judged(&part, pool.path(), pool.errors()).dns_subdomain();
      more = slash != std::string_view::npos;
      rest.remove_prefix(more ? slash + 1 : 0);
    }
  }
  result["device"].dns_label();
}

void check_allocation(const Judged& was, const Judged& is, const RequestNames& known) {
  if (!is) {
    return;
  }
  if (was) {
    if (*was.json() != *is.json()) {
      const auto lines = internal_lines(*is.json(), kAllocation);
      is.invalid(lines ? on_one_line(*lines) : api::to_json(*is.json()), "field is immutable");
    }
    return;
  }
  if (is["devices"].size("results") > kMaxResults) {
    is["devices"]["results"].too_many(kMaxResults);
  }
  is["devices"].each("results", [&](const Judged& one) { check_result(one, known); });
  if (is.has("nodeSelector")) {
    check_node_selector(is["nodeSelector"]);
  }
}

void check_devices(const Judged& status) {
  Names allocated;
  status["allocation"]["devices"].each(
      "results", [&](const Judged& result) { allocated.insert(device_of(result)); });
  Names seen;
  status.each("devices", [&](const Judged& device) {
    check_csi_driver_name(device["driver"]);
    device["pool"].need_text();
    device["device"].dns_label();
    if (!allocated.contains(device_of(device))) {
      device.invalid(quote(device_of(device)), "must be an allocated device in the claim");
    }
    if (!seen.insert(device_of(device)).second) {
      device.duplicate(quote(device_of(device)));
    }
  });
}

} // namespace

void check_request_name(const Judged& name, const RequestNames& known) {
  constexpr std::string_view kWhy = "must be the name of a request in the claim or the name of a "
                                    "request and a subrequest separated by '/'";
  const std::string_view text = name.text();
  if (std::ranges::count(text, '/') > 1) {
    name.invalid(kWhy);
    return;
  }
  const std::size_t slash = text.find('/');
  for (const std::string_view part :
       {text.substr(0, slash),
        slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1)}) {
    if (part.empty() && slash == std::string_view::npos && !text.empty()) {
      continue; // there is no second part
    }
    const api::json::value shown(part);
    Judged(&shown, name.path(), name.errors()).dns_label();
  }
  if (!known.contains(text)) {
    name.invalid(kWhy);
  }
}

void check_claim_status(const Judged& before, const Judged& now, const RequestNames& known) {
  const Judged was = before["status"];
  const Judged is = now["status"];
  check_consumers(is);
  check_devices(is);
  check_use(was, is, now["metadata"].has("deletionTimestamp"));
  check_allocation(was["allocation"], is["allocation"], known);
}

} // namespace berth::store
