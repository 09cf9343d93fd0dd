// The section `sharing` of the configuration file: time slicing and MPS.
#pragma once

#include <string>
#include <vector>

#include "berth/api/field.h"
#include "berth/deviceplugin/config/config.h"

namespace berth::deviceplugin {

/// Renames are settled here: the default is NAME.shared with renameByDefault, and none without.
void read_sharing(const api::Field& in, Sharing& out, std::vector<std::string>& remarks);

} // namespace berth::deviceplugin
