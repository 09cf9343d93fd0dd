// Which pods serve a Service, where, and the Endpoints and EndpointSlices that say so. Source:
// kubernetes pkg/controller/endpoint and staging/src/k8s.io/endpointslice.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "berth/api/object.h"

namespace berth::controllers {

/// A Service whose addresses are found by its selector: not one without, nor an ExternalName.
bool has_backends(const api::Object& service);
/// Whether the Service's selector matches the pod.
bool serves(const api::Object& service, const api::Object& pod);

/// Ready addresses and others, by the ports they serve; pods that are being deleted are left out.
api::Object endpoints_of(const api::Object& service, const std::vector<api::Object>& pods);

/// At most so many endpoints are in one slice.
inline constexpr std::size_t kSliceSize = 100;

struct SliceChanges {
  std::vector<api::Object> create;
  std::vector<api::Object> update;
  std::vector<api::Object> remove;
};
/// What makes `held`, the slices of the Service, say which pods serve it. One slice is always
/// there. O(pods log pods).
SliceChanges plan_slices(const api::Object& service, const std::vector<api::Object>& pods,
                         const std::vector<api::Object>& held);

} // namespace berth::controllers
