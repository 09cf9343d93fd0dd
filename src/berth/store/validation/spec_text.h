// A pod's spec as kube-apiserver shows it where it says what may not change: every field of its
// internal type, set or not, one a line. Source: kubernetes/pkg/apis/core/types.go.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "berth/api/json.h"

namespace berth::store {

/// none if the spec has parts whose internal form is not known here: ephemeral containers, volumes
/// of rare kinds, what is for Windows.
std::optional<std::vector<std::string>> spec_text(const api::json::value& spec);

/// The same on one line, of a PodTemplateSpec.
std::optional<std::string> template_text(const api::json::value& pod);

} // namespace berth::store
