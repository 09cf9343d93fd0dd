// A command that goes on in the background: the shell gets its prompt back once what was started is
// ready.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "berth/base/result.h"

namespace berth::cli {

/// Says that the work is under way (what to print), or why it is not.
using Announce = std::function<void(const Result<std::string>&)>;

/// Runs `work` in a child process without a terminal, its output appended to `log`. Returns what it
/// announces first. Error too if it ends before. To be called before threads are started.
Result<std::string> run_detached(const std::filesystem::path& log,
                                 const std::function<int(const Announce&)>& work);

} // namespace berth::cli
