#include "berth/store/admission.h"

#include "berth/store/budget_admission.h"
#include "berth/store/class_admission.h"
#include "berth/store/cron_job_admission.h"
#include "berth/store/decoding.h"
#include "berth/store/job_admission.h"
#include "berth/store/limit_range.h"
#include "berth/store/node_admission.h"
#include "berth/store/pod_defaults.h"
#include "berth/store/pod_standards/pod_security_admission.h"
#include "berth/store/priority_admission.h"
#include "berth/store/service_admission.h"
#include "berth/store/small_kinds.h"
#include "berth/store/storage_defaults.h"
#include "berth/store/validation/admission_rules.h"
#include "berth/store/validation/config.h"
#include "berth/store/validation/devices.h"
#include "berth/store/validation/events.h"
#include "berth/store/validation/job.h"
#include "berth/store/validation/metadata.h"
#include "berth/store/validation/network.h"
#include "berth/store/validation/node.h"
#include "berth/store/validation/pod.h"
#include "berth/store/validation/quotas.h"
#include "berth/store/validation/replicas.h"
#include "berth/store/validation/service.h"
#include "berth/store/validation/signing_request.h"
#include "berth/store/validation/storage.h"
#include "berth/store/workload_defaults.h"
#include "berth/store/workload_validation.h"

namespace berth::store {

Admission kubernetes_admission() {
  return {
      .defaults = {&default_small_kinds, &default_priority_class, &default_limit_range,
                   &default_job, &default_pod, &default_workload, &default_controller,
                   &default_service, &default_network, &default_storage, &default_budget,
                   &default_device_claim, &default_admission_rules},
      .mutate = {&generate_job_selector, &resolve_priority, &default_tolerations,
                 &apply_limit_ranges, &allocate_addresses, &hold_namespace},
      .judge = {&check_metadata, &check_pod, &check_job, &check_replicas, &check_service,
                &check_config, &check_storage, &check_quotas, &check_node, &check_network,
                &check_devices, &check_small_kinds, &check_admission_rules, &check_signing_request,
                &check_event, &check_workload, &check_cron_job, &check_budget},
      .validate = {&check_decodable, &check_priority_class, &check_ports_free, &check_limit_ranges},
  };
}

Admission server_admission() {
  Admission admission = kubernetes_admission();
  for (const Mutate step :
       {&taint_new_node, &apply_runtime_class, &apply_ingress_class, &admit_storage}) {
    admission.mutate.push_back(step);
  }
  admission.validate.push_back(&admit_pod_security);
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
  FieldErrors errors;
  for (const Judge step : chain.judge) {
    step(request, object, errors);
  }
  if (!errors.empty()) {
    return invalid(request.kind, object.meta().name, std::move(errors));
  }
  for (const Validate step : chain.validate) {
    BERTH_CHECK(step(request, object));
  }
  return {};
}

} // namespace berth::store
