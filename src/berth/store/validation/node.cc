#include "berth/store/validation/node.h"

#include <set>

#include "berth/store/naming.h"
#include "berth/store/validation/formats.h"
#include "berth/store/validation/immutable.h"

namespace berth::store {
namespace {

/// Named as if they stood in the metadata, as ValidateNode has it.
void check_taints(const Judged& spec) {
  std::set<std::pair<std::string, std::string>> seen;
  std::size_t i = 0;
  spec.each("taints", [&](const Judged& one) {
    const Judged taint(one.json(), fmt::format("metadata.taints[{}]", i++), spec.errors());
    const std::string key(taint.text("key"));
    const std::string effect(taint.text("effect"));
    taint["key"].label_name();
    if (const auto whys = label_value_errors(taint.text("value")); !whys.empty()) {
      taint["value"].invalid(quote(taint.text("value")), fmt::format("{}", fmt::join(whys, ";")));
    }
    if (taint["effect"].need_text()) {
      taint["effect"].one_of({"NoSchedule", "PreferNoSchedule", "NoExecute"});
    }
    if (!seen.emplace(key, effect).second) {
      const Judged added = taint["timeAdded"];
      taint.duplicate(fmt::format(
          R"({{"Key":{},"Value":{},"Effect":{},"TimeAdded":{}}}: taints must be unique by key and effect pair)",
          quote(key), quote(taint.text("value")), quote(effect),
          added ? quote(added.text()) : "null"));
    }
  });
}

void check_changes(const Judged& before, const Judged& now) {
  for (const auto& [field, what] :
       {std::pair("podCIDRs", "podCIDR"), std::pair("providerID", "providerID")}) {
    if (before.has(field) && differ(before, now, field)) {
      now[field].forbidden(
          fmt::format("node updates may not change {} except from \"\" to valid", what));
    }
  }
}

} // namespace

void check_node(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors) {
  if (request.kind != kNodes || request.subresource == Subresource::Status) {
    return;
  }
  const Judged spec(api::find(object.json(), "spec"), "spec", errors);
  check_taints(spec);
  spec.each("podCIDRs", [](const Judged& range) {
    if (!is_cidr(range.text())) {
      range.invalid("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    }
  });
  if (request.before != nullptr) {
    check_changes(Judged(api::find(request.before->json(), "spec"), "spec", errors), spec);
  }
}

} // namespace berth::store
