#include "berth/controllers/node/lease_fact.h"

#include "berth/api/json.h"
#include "berth/client/standing_lease.h"

namespace berth::controllers {

Result<std::shared_ptr<const LeaseFact>> decode_lease_fact(const api::json::value& document) {
  BERTH_TRY(const api::ObjectMeta meta, api::parse_meta(document));
  auto fact = std::make_shared<LeaseFact>();
  const auto standing = meta.annotations.find(client::kStandingAnnotation);
  fact->standing = standing != meta.annotations.end() && standing->second == "true";
  if (const auto renewed = parse_rfc3339(api::string_at(document, "spec.renewTime"))) {
    fact->renewed = *renewed;
  }
  return std::shared_ptr<const LeaseFact>(std::move(fact));
}

} // namespace berth::controllers
