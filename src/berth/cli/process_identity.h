// What a process calls itself among those that may lead: HOST_PID.
#pragma once

#include <string>

namespace berth::cli {

std::string process_identity();

} // namespace berth::cli
