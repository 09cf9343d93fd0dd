#include "berth/store/small_kinds.h"

#include <fmt/format.h>

#include "berth/store/document.h"
#include "berth/store/errors.h"
#include "berth/store/validation/formats.h"
#include "berth/store/validation/immutable.h"
#include "berth/store/validation/metadata.h"
#include "berth/store/validation/pod.h"

namespace berth::store {
namespace {

const GroupKind kAutoscalers{"autoscaling", "HorizontalPodAutoscaler"};

/// One replica at least, and four fifths of the asked-for CPU.
void default_autoscaler(const AdmissionRequest& request, api::json::object& whole) {
  if (request.before == nullptr) {
    whole["status"] = api::json::object{{"desiredReplicas", 0}, {"currentMetrics", nullptr}};
  }
  if (api::json::object* spec = object_in(whole, "spec")) {
    set_default(*spec, "minReplicas", 1);
    set_default(
        *spec, "metrics",
        api::json::array{{{"type", "Resource"},
                          {"resource",
                           {{"name", "cpu"},
                            {"target", {{"type", "Utilization"}, {"averageUtilization", 80}}}}}}});
  }
}

/// Who empties a namespace before it goes: the namespace controller. It alone takes itself off, and
/// only from a namespace that is deleted.
void keep_content_finalizers(const AdmissionRequest& request, api::json::object& whole) {
  if (request.before == nullptr) {
    return; // hold_namespace begins with them
  }
  const api::json::value* held = api::find_path(request.before->json(), "spec.finalizers");
  if (held != nullptr && !request.before->meta().deletion_timestamp) {
    api::object_at(whole, "spec")["finalizers"] = *held;
  }
}

void check_lease(const Judged& spec) {
  if (spec.number("leaseDurationSeconds").value_or(1) <= 0) {
    spec["leaseDurationSeconds"].invalid("must be greater than 0");
  }
  if (spec.number("leaseTransitions").value_or(0) < 0) {
    spec["leaseTransitions"].invalid("must be greater than or equal to 0");
  }
}

void check_runtime_class(const AdmissionRequest& request, const Judged& whole) {
  if (request.before != nullptr) {
    check_immutable(Judged(&request.before->json(), "", whole.errors()), whole, "handler");
    return;
  }
  whole["handler"].dns_label();
  if (const Judged scheduling = whole["scheduling"]) {
    check_label_map(scheduling["nodeSelector"]);
    check_tolerations(scheduling);
  }
}

void check_autoscaler(const Judged& spec) {
  const auto least = spec.number("minReplicas");
  const std::int64_t most = spec.number("maxReplicas").value_or(0);
  if (least && *least < 1) {
    spec["minReplicas"].invalid("must be greater than or equal to 1");
  }
  if (most < 1) {
    spec["maxReplicas"].invalid(fmt::to_string(most), "must be greater than 0");
  }
  if (least && most < *least) {
    spec["maxReplicas"].invalid(fmt::to_string(most),
                                "must be greater than or equal to `minReplicas`");
  }
  const Judged target = spec["scaleTargetRef"];
  for (const std::string_view member : {"kind", "name"}) {
    if (target[member].need_text()) {
      target[member].invalid(path_segment_errors(target.text(member)));
    }
  }
}

} // namespace

Result<void> default_small_kinds(const AdmissionRequest& request, api::json::value& document) {
  api::json::object& whole = document.as_object();
  if (request.kind == kNamespaces) {
    api::json::object& meta = api::object_at(whole, "metadata");
    api::object_at(meta, "labels")["kubernetes.io/metadata.name"] =
        api::json::value(text_at(meta, "name"));
    keep_content_finalizers(request, whole);
    set_default(api::object_at(whole, "status"), "phase", "Active");
  } else if (request.kind == kResourceQuotas) {
    set_default(whole, "status", api::json::object());
  } else if (request.kind == kAutoscalers) {
    default_autoscaler(request, whole);
  }
  return {};
}

Result<void> hold_namespace(const AdmissionRequest& request, api::json::value& document) {
  if (request.kind == kNamespaces && request.before == nullptr) {
    set_default(api::object_at(document.as_object(), "spec"), "finalizers",
                api::json::array{"kubernetes"});
  }
  return {};
}

void check_small_kinds(const AdmissionRequest& request, const api::Object& object,
                       FieldErrors& errors) {
  if (request.subresource == Subresource::Status) {
    return;
  }
  const Judged whole(&object.json(), "", errors);
  if (request.kind == kLeases) {
    check_lease(whole["spec"]);
  } else if (request.kind == GroupKind{"node.k8s.io", "RuntimeClass"}) {
    check_runtime_class(request, whole);
  } else if (request.kind == kAutoscalers) {
    check_autoscaler(whole["spec"]);
  }
}

} // namespace berth::store
