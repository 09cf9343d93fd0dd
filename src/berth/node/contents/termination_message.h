// Why a container ended, in its own words: what it wrote to /dev/termination-log, or the end of its
// output if it failed and its policy is FallbackToLogsOnError. Rule: kubelet.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/api/json.h"

namespace berth::node {

/// The file on the machine that one attempt of a container writes to.
std::string termination_file(std::string_view root, std::string_view pod_uid,
                             std::string_view container, std::uint32_t attempt);
/// Where the container finds it.
std::string termination_path(const api::json::value& container);

/// What the last lines of a container's log say, without the runtime's stamps: at most 80 lines and
/// 2048 bytes.
std::string log_tail(std::string_view log);

struct EndOfContainer {
  std::string file;     ///< termination_file()
  std::string log_path; ///< "" for none
  int exit_code = 0;
};

/// At most 4096 bytes; "" if it said nothing. Reads files.
std::string termination_message(const api::json::value& container, const EndOfContainer& end);

} // namespace berth::node
