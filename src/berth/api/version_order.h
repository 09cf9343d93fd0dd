// Which of two API versions is preferred. Source: apimachinery pkg/version
// (CompareKubeAwareVersionStrings).
#pragma once

#include <string_view>

namespace berth::api {

/// v2, v1, v1beta2, v1beta1, v1alpha1, then other names in alphabetic order: whether `version`
/// comes before `other`.
bool is_newer(std::string_view version, std::string_view other);

} // namespace berth::api
