#include "berth/store/admission.h"

#include "berth/store/budget_admission.h"
#include "berth/store/cron_job_admission.h"
#include "berth/store/decoding.h"
#include "berth/store/job_admission.h"
#include "berth/store/limit_range.h"
#include "berth/store/naming.h"
#include "berth/store/node_admission.h"
#include "berth/store/pod_defaults.h"
#include "berth/store/pod_validation.h"
#include "berth/store/priority_admission.h"
#include "berth/store/service_admission.h"
#include "berth/store/small_kinds.h"
#include "berth/store/workload_defaults.h"
#include "berth/store/workload_validation.h"

namespace berth::store {

Admission kubernetes_admission() {
  return {
      .defaults = {&default_small_kinds, &default_priority_class, &default_limit_range,
                   &default_job, &default_pod, &default_workload, &default_service, &default_budget,
                   &default_device_claim},
      .mutate = {&generate_job_selector, &resolve_priority, &default_tolerations,
                 &apply_limit_ranges, &allocate_addresses},
      .validate = {&check_metadata, &check_job, &check_decodable, &check_pod, &check_priority_class,
                   &check_small_kinds, &check_workload, &check_cron_job, &check_budget,
                   &check_service, &check_device_claim, &check_limit_ranges},
  };
}

Admission server_admission() {
  Admission admission = kubernetes_admission();
  admission.mutate.push_back(&taint_new_node);
  return admission;
}

Result<void> complete(const std::vector<Mutate>& steps, const AdmissionRequest& request,
                      api::json::value& document) {
  if (request.subresource == Subresource::Status) {
    return {};
  }
  for (const Mutate step : steps) {
    BERTH_CHECK(step(request, document));
  }
  return {};
}

Result<void> validate(const Admission& chain, const AdmissionRequest& request,
                      const api::Object& object) {
  for (const Validate step : chain.validate) {
    BERTH_CHECK(step(request, object));
  }
  return {};
}

} // namespace berth::store
