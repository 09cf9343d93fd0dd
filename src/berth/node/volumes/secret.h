// Volumes of kind secret: one file a key. Rule: kubelet pkg/volume/secret.
#pragma once

#include "berth/node/volumes/payload.h"

namespace berth::node {

/// `source` is the volume's `secret`, which names it in `secretName`, or a projected source's,
/// which does in `name`.
Result<Payload> secret_files(const api::json::value& source, std::uint32_t mode,
                             const Sources& sources);

} // namespace berth::node
