// What a request is to the expressions of policies. Source: apiserver/pkg/admission/plugin/cel
// (condition.go, CreateAdmissionRequest; activation.go).
#pragma once

#include <memory>

#include <boost/json/value.hpp>

#include "berth/api/object.h"
#include "berth/server/access/rbac.h"
#include "berth/server/policies/policy.h"
#include "berth/server/policies/review.h"

namespace berth::server {

/// The values of one request in one version; owns the JSON that they are made of, but for the
/// objects of the review.
class ReviewValues {
 public:
  /// `version`: in which the policy wants to see the object. `namespace_object`: empty if there is
  /// none.
  ReviewValues(const Review& review, const std::string& version,
               const api::Object& namespace_object, const Rbac& rbac);

  /// `params`: empty for none; outlives the input.
  PolicyInput input(const api::Object& params) const;

 private:
  std::optional<boost::json::value> object_; ///< where the version is another
  std::optional<boost::json::value> before_;
  boost::json::value request_;
  api::Object namespace_object_;
  PolicyInput input_;
};

} // namespace berth::server
