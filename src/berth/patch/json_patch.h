// JSON patch, RFC 6902, as evanphx/json-patch v4 does it inside kube-apiserver: negative indices
// count from the end, replace makes a member that was not there, test of a missing member equals
// null.
#pragma once

#include <cstddef>

#include "berth/base/result.h"
#include "berth/patch/path.h"

namespace berth::patch {

/// More operations are refused before any is done.
inline constexpr std::size_t kMostOperations = 10'000;
/// What copy operations may add to a document, in bytes of compact JSON.
inline constexpr std::size_t kMostCopied = std::size_t{3} * 1024 * 1024;

/// `document` after `operations`, an array of objects. Error: Invalid, evanphx's words for the
/// first operation that cannot be done; RequestEntityTooLarge for too many. O(operations x depth),
/// and the sizes of what they move.
Result<json::value> json_patch(json::value document, const json::value& operations);

} // namespace berth::patch
