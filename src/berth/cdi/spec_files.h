// CDI specs as files: one read with the places of its errors, or all that a machine's directories
// hold.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "berth/base/result.h"
#include "berth/cdi/registry.h"
#include "berth/cdi/spec.h"

namespace berth::cdi {

/// A spec in YAML or JSON. Errors NotFound: no such file; Invalid: file, line and field.
Result<Spec> read_spec_file(const std::string& path);

struct SpecDirectories {
  Registry registry;         ///< files by their paths
  std::vector<Error> broken; ///< files that are no specs; the rest stands
};

/// Every *.json and *.yaml of the directories; of a device in several the last one's counts. A
/// directory that is not there is empty.
SpecDirectories read_spec_directories(std::span<const std::string> directories);

} // namespace berth::cdi
