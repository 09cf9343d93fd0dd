#include "berth/store/decoding.h"

#include <fmt/format.h>

#include "berth/model/elastic_quota.h"
#include "berth/model/node.h"
#include "berth/model/node_report.h"
#include "berth/model/pod.h"
#include "berth/model/storage.h"
#include "berth/model/workload.h"
#include "berth/store/addon_kinds.h"

namespace berth::store {
namespace {

template <class View> Result<void> decoded(const api::Object& object, const View& view) {
  if (view) {
    return {};
  }
  const api::GroupVersionKind& gvk = object.gvk();
  return fail(Code::BadRequest,
              fmt::format("{} in version \"{}\" cannot be handled as a {}: {}", gvk.kind,
                          gvk.version, gvk.kind, to_string(view.error())));
}

} // namespace

Result<void> check_decodable(const AdmissionRequest& request, const api::Object& object) {
  const GroupKind& kind = request.kind;
  if (kind == kPods) {
    return decoded(object, model::pod_view(object));
  }
  if (kind == kNodes) {
    return decoded(object, model::node_view(object));
  }
  if (kind == kJobs) {
    return decoded(object, model::job_view(object));
  }
  if (kind == kPodGroups) {
    return decoded(object, model::pod_group_view(object));
  }
  if (kind == kPriorityClasses) {
    return decoded(object, model::priority_class_view(object));
  }
  if (kind == kResourceQuotas) {
    return decoded(object, model::resource_quota_view(object));
  }
  if (kind == kElasticQuotas) {
    return decoded(object, model::elastic_quota_view(object));
  }
  if (kind == kNodeResourceTopologies) {
    return decoded(object, model::node_resource_topology_view(object));
  }
  if (kind == kNodeMetrics) {
    return decoded(object, model::node_metrics_view(object));
  }
  if (kind == kVolumeClaims) {
    return decoded(object, model::claim_view(object));
  }
  if (kind == kVolumes) {
    return decoded(object, model::volume_view(object));
  }
  if (kind == kStorageClasses) {
    return decoded(object, model::storage_class_view(object));
  }
  if (kind == kCsiDrivers) {
    return decoded(object, model::csi_driver_view(object));
  }
  if (kind == kStorageCapacities) {
    return decoded(object, model::storage_capacity_view(object));
  }
  if (kind == kCsiNodes) {
    return decoded(object, model::csi_node_view(object));
  }
  return {};
}

} // namespace berth::store
