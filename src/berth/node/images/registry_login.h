// Who a pod is to a registry: the logins in its imagePullSecrets that are meant for an image. Pure.
// Forms: .dockerconfigjson and .dockercfg; matching: kubelet's credential provider (globs in host
// names, path prefixes, the longest first).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/api/object.h"
#include "berth/base/result.h"
#include "berth/node/images/image_name.h"
#include "berth/runtime/runtime.h"

namespace berth::node {

/// Error Invalid: a secret whose text is no such file. The others count nevertheless, so that it is
/// the caller's to tell of it.
Result<std::vector<runtime::RegistryLogin>> logins_in(const api::Object& secret);

/// Those for this image, best match first; each once.
std::vector<runtime::RegistryLogin> logins_for(const ImageName& image,
                                               const std::vector<runtime::RegistryLogin>& all);

} // namespace berth::node
