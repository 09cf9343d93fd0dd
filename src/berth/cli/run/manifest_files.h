// From paths to manifests, one error a file, with the place of a wrong field down to line and
// column.
#pragma once

#include <string>
#include <vector>

#include "berth/api/manifest.h"
#include "berth/base/result.h"
#include "berth/cli/run/options.h"
#include "berth/report/run_report.h"

namespace berth::cli {

/// A whole file (a pipe or a device too), or standard input for "-". At most 64 MiB. Errors name
/// the path and say why: it is a directory, say.
Result<std::string> read_text(const std::string& path);

struct ManifestFiles {
  std::vector<api::Manifest> manifests;
  std::vector<Error> errors;
  std::vector<report::Note> warnings; ///< keys given twice
};

/// A path is a file, a directory (its *.yaml, *.yml, *.json in name order; below too when
/// recursive) or "-". A key given twice is an error, or the last one counts and a warning names
/// both places. Objects of kinds that Berth decodes are decoded, so that a wrong type is found here
/// and not halfway through a run.
ManifestFiles read_manifest_files(const std::vector<std::string>& paths, Depth depth,
                                  api::Duplicates duplicates);

} // namespace berth::cli
