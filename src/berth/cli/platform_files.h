// Platforms that are not in the catalogue: files that berth hardware import made or people wrote,
// named where a platform's name may stand.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "berth/base/result.h"
#include "berth/cluster/spec.h"
#include "berth/hardware/platform.h"

namespace berth::cli {

/// Does the text name a platform file (it ends in .yaml or .yml), not a platform?
bool is_platform_file(std::string_view text);

/// Reads a platform file. Errors name the path, or its line and field.
Result<hardware::Platform> read_platform_file(const std::string& path);

/// A platform of the catalogue by its name, or of a file. Error NotFound: no such name, with the
/// nearest one.
Result<std::shared_ptr<const hardware::Platform>> find_platform(const std::string& name_or_file);

/// What --nodes says: as cluster::parse_node_group, with "mine.yaml:4" too. A file's platform joins
/// `catalogue`; the same file may be named again.
Result<cluster::NodeGroup> read_node_group(std::string_view text, hardware::Catalogue& catalogue);

/// The same text with the path of a platform file made absolute, so that it can be read again from
/// another directory; other texts as they are.
std::string with_absolute_path(std::string_view text);

} // namespace berth::cli
