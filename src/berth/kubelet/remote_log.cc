#include "berth/kubelet/remote_log.h"

#include <utility>

#include <fmt/format.h>

#include "berth/server/streams/upstream.h"

namespace berth::kubelet {
namespace {

using Opened = std::function<void(server::Answer<std::unique_ptr<server::LogReading>>)>;

constexpr std::size_t kAhead = std::size_t{1024} * 1024; ///< read before it is told
constexpr std::size_t kRefusalBytes = std::size_t{64} * 1024;
constexpr int kOk = 200;

/// What has come and what has become of the call, shared by the call's events and the reading.
struct Arrived {
  std::unique_ptr<net::HttpStreamCall> call;
  std::function<void()> on_more;
  Opened opened; ///< until it is told
  int status = 0;
  std::string bytes;
  bool over = false;
};

class Reading final : public server::LogReading {
 public:
  explicit Reading(std::shared_ptr<Arrived> arrived) : arrived_(std::move(arrived)) {}
  ~Reading() override {
    arrived_->on_more = nullptr;
    arrived_->call = nullptr;
  }

  std::string more() override {
    std::string bytes = std::exchange(arrived_->bytes, {});
    if (arrived_->call) {
      arrived_->call->resume();
    }
    return bytes;
  }
  bool over() const override { return arrived_->over && arrived_->bytes.empty(); }

 private:
  std::shared_ptr<Arrived> arrived_;
};

void come(const std::shared_ptr<Arrived>& arrived, std::string_view piece) {
  if (arrived->status != kOk) { // why there is no log
    arrived->bytes +=
        piece.substr(0, kRefusalBytes - std::min(kRefusalBytes, arrived->bytes.size()));
    return;
  }
  arrived->bytes += piece;
  if (arrived->bytes.size() >= kAhead) {
    arrived->call->pause();
  }
  if (const auto on_more = arrived->on_more) {
    on_more();
  }
}

void end(const std::shared_ptr<Arrived>& arrived, const Result<void>& how) {
  arrived->over = true;
  if (const auto opened = std::exchange(arrived->opened, nullptr)) {
    if (arrived->status == 0) {
      opened(tl::unexpected(server::dialing_failed(how.error())));
    } else {
      std::string text = std::exchange(arrived->bytes, {});
      while (text.ends_with('\n')) {
        text.pop_back();
      }
      opened(tl::unexpected(server::Status{.code = arrived->status,
                                           .reason = arrived->status == 400 ? "BadRequest" : "",
                                           .message = std::move(text),
                                           .details = nullptr}));
    }
  } else if (const auto on_more = arrived->on_more) {
    on_more();
  }
  arrived->call = nullptr; // which holds what holds it
}

} // namespace

void read_remote_log(net::HttpClient& client, const RemoteLogPlace& place,
                     std::function<void()> on_more, Opened done) {
  auto arrived = std::make_shared<Arrived>();
  arrived->on_more = std::move(on_more);
  arrived->opened = std::move(done);
  // The events hold what has arrived, and that the call: until the call has ended, or nobody reads.
  arrived->call = client.stream(
      place.url, {.target = place.target, .headers = place.headers, .body = {}, .peer = {}},
      {.head =
           [arrived](const net::HttpResponse& head) {
             arrived->status = head.status;
             if (head.status == kOk) {
               const auto opened = std::exchange(arrived->opened, nullptr);
               opened(std::make_unique<Reading>(arrived));
             }
           },
       .piece = [arrived](std::string_view piece) { come(arrived, piece); },
       .end = [arrived](const Result<void>& how) { end(arrived, how); }});
}

std::string log_target(const server::LogRequest& what) {
  std::string query;
  const auto add = [&](std::string_view name, std::string_view value) {
    query += fmt::format("{}{}={}", query.empty() ? "?" : "&", name, value);
  };
  const server::LogOptions& options = what.options;
  for (const auto& [name, wanted] :
       {std::pair("follow", options.follow), std::pair("previous", options.previous),
        std::pair("timestamps", options.timestamps)}) {
    if (wanted) {
      add(name, "true");
    }
  }
  if (options.since) {
    add("sinceTime", to_rfc3339(*options.since));
  }
  if (options.tail_lines) {
    add("tailLines", fmt::to_string(*options.tail_lines));
  }
  if (options.limit_bytes) {
    add("limitBytes", fmt::to_string(*options.limit_bytes));
  }
  return fmt::format("/containerLogs/{}/{}/{}{}", what.ns, what.pod, what.container, query);
}

} // namespace berth::kubelet
