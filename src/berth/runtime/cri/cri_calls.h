// What all calls of a container runtime have in common: names, patience, and errors that have no
// code of their own. Pure.
#pragma once

#include <string>
#include <string_view>

#include "berth/rpc/channel.h"

namespace berth::runtime::cri {

/// Of what takes its time, and of what is only looked at.
inline constexpr rpc::CallOptions kPatient{.timeout = Duration::minutes(2),
                                           .absent = rpc::CallOptions::Absent::Wait};
inline constexpr rpc::CallOptions kLook{.timeout = Duration::seconds(30),
                                        .absent = rpc::CallOptions::Absent::Wait};

/// "/runtime.v1.RuntimeService/NAME".
std::string runtime_method(std::string_view name);

/// Gives an error of containerd's the code that it says in words: a name that is taken
/// ("failed to reserve sandbox name ...: name ... is reserved for ..."), a time that is over.
Error sort_out(Error error);
/// containerd has lost, or never had, the CNI configuration that a sandbox with a network of its
/// own takes, to be made as well as to be stopped.
bool without_network(const Error& error);

} // namespace berth::runtime::cri
