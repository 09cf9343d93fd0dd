// The answer that a container's log is: whole if it has ended and is short, else piece by piece as
// it grows and as its reader takes it.
#pragma once

#include <functional>
#include <memory>

#include "berth/net/http_server.h"
#include "berth/server/nodes.h"

namespace berth::server {

/// How to open the log: told whom to call when there is more, and with what was opened.
using OpenLog = std::function<void(std::function<void()> on_more,
                                   std::function<void(Answer<std::unique_ptr<LogReading>>)> done)>;

/// Answers once; the opened log is held by the answer's stream.
void answer_with_log(const OpenLog& open, net::HttpRespond respond);

} // namespace berth::server
