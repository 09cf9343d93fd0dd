// Shell completion from the command tables. The scripts are complete in themselves: they do not
// call berth.
#pragma once

#include <string>

namespace berth::cli {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

} // namespace berth::cli
