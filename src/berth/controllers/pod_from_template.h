// Turns a controller's pod template into a pod owned by it: name, namespace, labels, owner
// reference. Form: what Kubernetes' controllers create (metadata.generateName plus a five-letter
// suffix, names of at most 63 characters).
#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "berth/api/json.h"
#include "berth/api/object.h"

namespace berth::controllers {

/// `base` cut so that a five-letter suffix still fits a DNS label; `tail` ("-3-") is kept whole.
std::string generate_name(std::string_view base, std::string_view tail);

/// The pod document: apiVersion, kind, metadata of the template (labels, annotations, finalizers),
/// spec; named `generate` + `suffix`, with `owner` as controller. A template that is no object
/// yields a pod without a spec, which admission refuses with a reason.
api::json::object pod_from_template(const api::json::value& pod_template, const api::Object& owner,
                                    const std::string& generate, const std::string& suffix);

} // namespace berth::controllers
