// Volumes of kind configMap: one file a key. Rule: kubelet pkg/volume/configmap.
#pragma once

#include "berth/node/volumes/payload.h"

namespace berth::node {

/// `source` is the volume's `configMap`, or a projected source's; `mode` is that of its files.
Result<Payload> config_map_files(const api::json::value& source, std::uint32_t mode,
                                 const Sources& sources);

} // namespace berth::node
