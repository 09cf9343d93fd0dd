// A scheduler's own pages over HTTP: what a monitor scrapes, what a probe asks, and why a pod went
// where it went.
#pragma once

#include "berth/base/loop.h"
#include "berth/net/http_server.h"
#include "berth/scheduler/scheduler.h"

namespace berth::scheduler {

/// GET /metrics, /healthz, /livez, /readyz (503 until all is listed), /debug/decisions
/// (?pod=NAME to see those alone, ?output=text for tables); POST /debug/decisions?pod=NAME keeps
/// the decisions of these pods from now on. Scheduler and loop must outlive the router.
net::HttpRouter pages(Scheduler& scheduler, const Loop& loop);

} // namespace berth::scheduler
