// Carrying questions to extenders over HTTP. How the bytes travel is handed in, since a simulation
// waits for the answer while its own clock stands still, and a real scheduler does not wait.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "berth/base/time.h"
#include "berth/net/http.h"
#include "berth/scheduler/extender_wire.h"

namespace berth::net {
class AsioLoop;
}

namespace berth::scheduler {

struct HttpPost {
  std::string url;
  std::string body;
  Duration timeout;
  sched::Extender::Tls tls; ///< for https; without any authority of its own the server is believed,
                            ///< as kube-scheduler does with enableHTTPS
};
/// Answers once, in the call or later.
using HttpPoster =
    std::function<void(const HttpPost&, std::function<void(Result<net::HttpResponse>)>)>;

/// Waits for each answer: for simulations, whose clock stands still meanwhile.
HttpPoster blocking_poster();
/// Lives on the loop, which must outlive it.
HttpPoster poster_on(net::AsioLoop& loop);

/// One question to its extender. The answer, or kube-scheduler's words for what went wrong.
void ask_extender(const HttpPoster& poster, const sched::Extender& extender,
                  const sched::ExtenderQuestion& question, const ExtenderObjects& objects,
                  std::function<void(Result<sched::ExtenderAnswer>)> done);

/// The binding by an extender that binds.
void bind_by_extender(const HttpPoster& poster, const sched::Extender& extender,
                      const store::Binding& binding, std::function<void(Result<void>)> done);

} // namespace berth::scheduler
