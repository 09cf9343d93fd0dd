// A container's log file being read: what is there, and what comes while the container runs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "berth/net/asio_loop.h"
#include "berth/runtime/runtime.h"
#include "berth/server/nodes.h"

namespace berth::kubelet {

/// A reading of the container's file (its status says where that is). `on_more` runs as a later
/// task when there may be more: with the option to follow until the container has ended. Loop and
/// runtime must outlive the reading. Error NotFound: there is no such file.
Result<std::unique_ptr<server::LogReading>> read_log_file(net::AsioLoop& loop,
                                                          runtime::Runtime& runtime,
                                                          const runtime::ContainerStatus& container,
                                                          const server::LogOptions& options,
                                                          std::function<void()> on_more);

} // namespace berth::kubelet
