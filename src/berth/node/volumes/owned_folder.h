// Folders of pods that bear the name of the agent that made them: another agent, or a kubelet, may
// keep its pods below the same root, and what is theirs must not be cleaned away.
#pragma once

#include <string>

#include "berth/base/result.h"

namespace berth::node {

/// Makes the folder if it is not there, and puts the owner's name into it.
Result<void> make_owned_folder(const std::string& folder, const std::string& owner);
/// Whether this owner made it.
bool owns_folder(const std::string& folder, const std::string& owner);

} // namespace berth::node
