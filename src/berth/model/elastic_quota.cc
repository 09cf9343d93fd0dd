#include "berth/model/elastic_quota.h"

#include "berth/model/decode.h"

namespace berth::model {

using api::Field;

void decode(const Field& in, ElasticQuota& out) {
  in.read("metadata", out.meta);
  in.within("spec", [&](const Field& spec) {
    spec.read("min", out.min);
    spec.read("max", out.max);
  });
  in.within("status", [&](const Field& status) { status.read("used", out.used); });
}

Result<std::shared_ptr<const ElasticQuota>> decode_elastic_quota(const api::json::value& document) {
  return decode_shared<ElasticQuota>(document);
}

} // namespace berth::model
