// CDI specs as files: one read with the places of its errors, or all that a machine's directories
// hold.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/cdi/registry.h"
#include "berth/cdi/spec.h"

namespace berth::cdi {

/// A spec in YAML or JSON; a pipe is a file too. At most 16 MiB. Errors name file, line and field,
/// or say why the file cannot be read.
Result<Spec> read_spec_file(const std::string& path);
/// The same of a text that was read from `path`.
Result<Spec> read_spec_text(std::string_view text, const std::string& path);

struct SpecDirectories {
  Registry registry;         ///< files by their paths
  std::vector<Error> broken; ///< files that are no specs, paths that are no directories
};

/// Every *.json and *.yaml of the directories; of a device in several the last one's counts. A
/// directory that is not there is empty. The rest stands when something is broken.
SpecDirectories read_spec_directories(std::span<const std::string> directories);

} // namespace berth::cdi
