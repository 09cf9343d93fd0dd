// CDI specs as files: the directories that runtimes read, /etc/cdi and /var/run/cdi.
#pragma once

#include <string>
#include <vector>

#include "berth/cdi/registry.h"

namespace berth::cdi {

struct SpecDirectory {
  std::string path;
  int priority = Registry::kStatic;
};

/// Where container runtimes look, least priority first.
std::vector<SpecDirectory> standard_directories();

struct SpecFiles {
  Registry registry;
  std::vector<Error> errors; ///< of files that are no valid specs; they are left out
};

/// Reads every .json, .yaml and .yml file of the directories; one that does not exist is empty.
SpecFiles read_directories(const std::vector<SpecDirectory>& directories);

} // namespace berth::cdi
