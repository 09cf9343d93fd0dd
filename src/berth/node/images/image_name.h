// Names of images: "[host/]path[:tag][@digest]". Pure. Grammar: the distribution project's
// reference; defaults: kubelet and the API's.
#pragma once

#include <string>
#include <string_view>

#include "berth/api/json.h"
#include "berth/base/result.h"

namespace berth::node {

struct ImageName {
  std::string registry; ///< "docker.io" if the name has none
  std::string path;     ///< "library/busybox"
  std::string tag;      ///< "latest" if the name has neither tag nor digest
  std::string digest;   ///< "sha256:..."; "" for none
};

/// Error Invalid: "invalid reference format", as the kubelet says it.
Result<ImageName> parse_image_name(std::string_view text);

enum class PullPolicy { Always, IfNotPresent, Never };
/// What the container says, else Always for the tag "latest" and IfNotPresent for everything else.
PullPolicy pull_policy(const api::json::value& container, const ImageName& image);

} // namespace berth::node
