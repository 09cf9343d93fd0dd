#include "berth/cli/scheduler_process.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "berth/base/rng.h"
#include "berth/client/remote_client.h"
#include "berth/net/http_server.h"
#include "berth/scheduler/pages.h"

namespace berth::cli {
namespace {

constexpr Duration kLook = Duration::millis(100);
constexpr Duration kFarewell = Duration::seconds(3); ///< to give the lead away

class Process {
 public:
  Process(const SchedulerProcessOptions& options, std::function<void(const std::string&)> say)
      : options_(options), say_(std::move(say)) {}

  Result<SchedulerEnd> run(const std::function<bool()>& stop) {
    BERTH_TRY(client_, client::RemoteClient::make(loop_, options_.access,
                                                  {.user_agent = "berth-scheduler"}));
    BERTH_CHECK(listen());
    if (options_.election) {
      say_(fmt::format("standing for the lead as {}", options_.election->identity));
      election_.emplace(
          *client_, loop_, *options_.election, [this] { lead(); }, [this] { lost_ = true; });
    } else {
      lead();
    }
    while (!stop() && !lost_ && !failed_) {
      loop_.run_for(kLook);
    }
    if (failed_) {
      return tl::unexpected(*failed_);
    }
    if (lost_) {
      say_("the lead is lost");
      return SchedulerEnd::LeadLost;
    }
    say_("stopping");
    scheduler_ = nullptr;
    farewell();
    return SchedulerEnd::Stopped;
  }

 private:
  Result<void> listen() {
    BERTH_TRY(server_, net::HttpServer::listen(
                           loop_, {.address = options_.address, .port = options_.port},
                           [this](const net::HttpRequest& request,
                                  const net::HttpRespond& respond) { page(request, respond); }));
    say_(fmt::format("pages at http://{}:{}: /metrics, /healthz, /livez, /readyz, /debug/decisions",
                     options_.address, server_->port()));
    return {};
  }

  /// Until this process leads it is alive and has nothing to show.
  void page(const net::HttpRequest& request, const net::HttpRespond& respond) {
    if (pages_) {
      (*pages_)(request, respond);
    } else if (request.path() == "/healthz" || request.path() == "/livez" ||
               request.path() == "/readyz") {
      respond(net::text_response(200, "ok"));
    } else {
      respond(net::text_response(503, fmt::format("not leading; the leader is \"{}\"",
                                                  election_ ? election_->leader() : "")));
    }
  }

  void lead() {
    auto options = options_.scheduler;
    if (!options.extenders.empty()) {
      options.poster = scheduler::poster_on(loop_);
    }
    const auto seed = static_cast<std::uint64_t>(loop_.now().unix_nanos());
    auto started = scheduler::Scheduler::start(*client_, loop_, Rng(seed), std::move(options));
    if (!started) {
      failed_ = std::move(started).error();
      return;
    }
    scheduler_ = *std::move(started);
    pages_ = scheduler::pages(*scheduler_, loop_);
    say_(fmt::format("leading; scheduling for {} at {}",
                     options_.scheduler.profiles.front().scheduler_name,
                     options_.access.url.to_string()));
  }

  void farewell() {
    if (!election_ || !election_->leading()) {
      return;
    }
    bool gone = false;
    election_->release([&] {
      gone = true;
      loop_.stop();
    });
    if (!gone) {
      loop_.run_for(kFarewell);
    }
  }

  SchedulerProcessOptions options_;
  std::function<void(const std::string&)> say_;
  net::AsioLoop loop_;
  std::unique_ptr<client::RemoteClient> client_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::optional<client::LeaderElection> election_;
  std::optional<net::HttpRouter> pages_;
  std::unique_ptr<net::HttpServer> server_;
  bool lost_ = false;
  std::optional<Error> failed_;
};

} // namespace

Result<SchedulerEnd> run_scheduler(const SchedulerProcessOptions& options,
                                   const std::function<bool()>& stop,
                                   const std::function<void(const std::string&)>& say) {
  return Process(options, say).run(stop);
}

} // namespace berth::cli
