// Volumes of kind downwardAPI: the pod's own fields and its containers' resources as files. Rule:
// kubelet pkg/volume/downwardapi and pkg/fieldpath.
#pragma once

#include "berth/model/pod.h"
#include "berth/node/container_env.h"
#include "berth/node/volumes/payload.h"

namespace berth::node {

struct DownwardFacts {
  const api::json::value* document = nullptr; ///< the pod's
  const model::Pod* pod = nullptr;
  PodAddress address;
  model::ResourceList allocatable; ///< of the node
};

/// `source` has `items`; `mode` is that of files whose item names none.
Result<Payload> downward_files(const api::json::value& source, std::uint32_t mode,
                               const DownwardFacts& facts);

/// A field as a file shows it: labels and annotations whole, one `key="value"` a line.
std::string downward_text(const api::json::value& pod, std::string_view path,
                          const PodAddress& address);

} // namespace berth::node
