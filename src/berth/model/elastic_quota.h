// Typed view of an ElasticQuota (scheduling.x-k8s.io/v1alpha1): what a namespace is guaranteed, and
// the most it gets.
#pragma once

#include <memory>

#include "berth/model/pod.h"

namespace berth::model {

struct ElasticQuota {
  api::ObjectMeta meta;
  ResourceList min;
  ResourceList max;  ///< absent resources are not limited
  ResourceList used; ///< status.used
};

Result<std::shared_ptr<const ElasticQuota>> decode_elastic_quota(const api::json::value& document);

inline Result<std::shared_ptr<const ElasticQuota>> elastic_quota_view(const api::Object& o) {
  return o.view<ElasticQuota>(&decode_elastic_quota);
}

} // namespace berth::model
