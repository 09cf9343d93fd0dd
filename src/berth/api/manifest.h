// Manifests as users have them: multi-document YAML or JSON, `kind: List`, kubectl dumps,
// directories, stdin.
#pragma once

#include <memory>
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

  /// The place of a field of the object, e.g. "spec.containers[0].image", in the file: line and
  /// column of the value, or of the nearest parent that the file has.
  Where locate(std::string_view field_path) const;
  /// The same error, its place completed by file, line and column if it names a field of this
  /// object.
  Error locate(Error error) const;

  std::shared_ptr<const PositionMap> positions; ///< of the whole document
  std::string pointer; ///< of the object in its document, "" or e.g. "/items/3"
};

/// Reads every object of a text. `kind: List` (and any kind ending in "List" with items) is opened.
/// Errors name file, line, column and field path; nothing is returned on error. Memory: O(text).
Result<std::vector<Manifest>> read_manifests(std::string_view text, std::string_view file);

struct LenientManifests {
  std::vector<Manifest> manifests;
  /// Keys given twice, of which the last was taken; places in the file, paths in the document.
  std::vector<DuplicateKey> duplicates;
};

/// The same, as kubectl reads: of a key given twice the last one counts.
Result<LenientManifests> read_manifests_leniently(std::string_view text, std::string_view file);

/// Reads a file, a directory (its *.yaml, *.yml, *.json, by name, not below) or "-" for standard
/// input. Limits: 64 MiB a file. Error NotFound names the path.
Result<std::vector<Manifest>> read_manifest_path(const std::string& path);

/// "spec.containers[0].image" as an RFC 6901 pointer: "/spec/containers/0/image".
std::string pointer_of(std::string_view field_path);

} // namespace berth::api
