// The files that a volume shows: what ConfigMaps, Secrets, the pod itself and tokens become, before
// anything is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/json.h"
#include "berth/base/result.h"
#include "berth/node/contents/sources.h"

namespace berth::node {

struct PayloadFile {
  std::string path; ///< below the volume
  std::string bytes;
  std::uint32_t mode = 0644;
  std::optional<std::int64_t> user = {}; ///< who owns it; none: who writes it
  bool operator==(const PayloadFile&) const = default;
};

/// By path, each once.
using Payload = std::vector<PayloadFile>;

/// Error Invalid: the path is absolute, empty, leaves the volume or takes one of the writer's names
/// ("..data").
Result<void> check_payload_path(std::string_view path);

/// The mode a volume gives its files: `defaultMode`, else 0644.
std::uint32_t default_mode(const api::json::value& volume_source);

/// What a source's keys become: all of them, or those that `items` names, with its paths and modes.
/// `what` names the source in the error for a key that is not there: `configmap "x"`.
Result<Payload> select_items(const SourceData& data, const api::json::value& volume_source,
                             std::uint32_t mode, std::string_view what);

/// Adds files to others; the later ones win where paths are the same.
void merge_payload(Payload& into, Payload files);

} // namespace berth::node
