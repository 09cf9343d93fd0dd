#include "berth/store/admission.h"

#include "berth/store/decoding.h"
#include "berth/store/naming.h"

namespace berth::store {

Admission kubernetes_admission() {
  return {
      .mutate = {},
      .validate = {&check_metadata, &check_decodable},
  };
}

Result<void> mutate(const Admission& chain, const AdmissionRequest& request,
                    api::json::object& document) {
  if (request.subresource == Subresource::Status) {
    return {};
  }
  for (const Mutate step : chain.mutate) {
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
