// Which requests a policy or its binding is about: matchConstraints, matchResources. Source:
// apiserver/pkg/admission/plugin/policy/matching/matching.go; plugin/webhook/predicates.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/server/policies/review.h"

namespace berth::server {

/// In which version the policy wants to see the object.
struct Match {
  std::string version;
};

/// nullopt: it is not about this request. `matched`: the MatchResources. `labels`: the metadata of
/// the namespace that the request is in; null if there is none. `versions`: all in which the
/// resource is served. Error: a selector cannot be read.
Result<std::optional<Match>> match(const boost::json::value& matched, const Review& review,
                                   const boost::json::value* namespace_object,
                                   std::span<const std::string> versions);

} // namespace berth::server
