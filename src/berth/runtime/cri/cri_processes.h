// Processes in containers of a CRI runtime: commands that run to their end, and the URLs where
// streams of others wait. The channel must outlive the answers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/runtime/runtime.h"

namespace berth::rpc {
class Channel;
}

namespace berth::runtime::cri {

struct CommandIn {
  std::string id; ///< of the container
  std::vector<std::string> command;
};

void run_in_container(rpc::Channel& channel, const CommandIn& what, Duration timeout,
                      Done<ExecResult> done);
void ask_exec_url(rpc::Channel& channel, const CommandIn& what, const StreamWish& wish,
                  Done<std::string> done);
void ask_attach_url(rpc::Channel& channel, const std::string& id, const StreamWish& wish,
                    Done<std::string> done);
void ask_port_forward_url(rpc::Channel& channel, const std::string& sandbox_id,
                          const std::vector<std::int32_t>& ports, Done<std::string> done);

} // namespace berth::runtime::cri
