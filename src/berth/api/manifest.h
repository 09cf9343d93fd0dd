// Manifests as users have them: multi-document YAML or JSON, `kind: List`, kubectl dumps,
// directories, stdin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/api/object.h"
#include "berth/api/yaml.h"
#include "berth/base/result.h"

namespace berth::api {

/// One object and where it came from.
struct Manifest {
  Object object;
  Where where; ///< file and line of the document or List item
};

/// Reads every object of a text. `kind: List` (and any kind ending in "List" with items) is opened.
/// Errors name file, line, column and field path; nothing is returned on error. Memory: O(text).
Result<std::vector<Manifest>> read_manifests(std::string_view text, std::string_view file);

/// Reads a file, a directory (its *.yaml, *.yml, *.json, by name, not below) or "-" for standard
/// input. Limits: 64 MiB a file. Error NotFound names the path.
Result<std::vector<Manifest>> read_manifest_path(const std::string& path);

/// "spec.containers[0].image" as an RFC 6901 pointer: "/spec/containers/0/image".
std::string pointer_of(std::string_view field_path);

} // namespace berth::api
