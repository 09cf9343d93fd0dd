#include "berth/etcd/feed.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "berth/base/log.h"
#include "berth/etcd/endpoints.h"

namespace berth::etcd {

struct Feed::State : std::enable_shared_from_this<Feed::State> {
  State(net::AsioLoop& on, std::vector<net::HttpUrl> urls, Options given, Events handlers)
      : members(std::move(urls)), options(std::move(given)), events(std::move(handlers)),
        client(on, {.timeout = options.answer, .tls = options.tls}), again(on), look(on),
        wait(options.first_wait) {}

  const net::HttpUrl& member() const { return members[current]; }

  void connect() {
    ++round;
    lines = Lines();
    net::HttpStreamEvents stream;
    stream.head = [](const net::HttpResponse&) {};
    stream.piece = [this](std::string_view piece) {
      const std::uint64_t mine = round;
      for (const std::string& line : lines.add(piece)) {
        if (round != mine) {
          return; // it goes on elsewhere by now
        }
        take(line);
      }
    };
    stream.end = [this](const Result<void>& how) {
      lost(how ? "the answer ended" : to_string(how.error()));
    };
    call = client.stream(
        member(),
        post(kWatchPath, watch_body(options.prefix, end_of(options.prefix), events.known() + 1)),
        std::move(stream));
    look.set(options.look, [this] { ask(); });
  }

  void take(const std::string& line) {
    const auto answer = read_watch(line);
    if (!answer) {
      lost(to_string(answer.error()));
      return;
    }
    if (answer->compacted != 0) {
      log(LogLevel::Warn, "etcd",
          fmt::format("history is compacted up to {}: reading everything anew", answer->compacted));
      events.too_old();
      lost("it begins anew");
      return;
    }
    if (answer->canceled) {
      lost(answer->cancel_reason);
      return;
    }
    if (answer->created && answer->revision < events.known()) {
      events.went_back(answer->revision);
    }
    wait = options.first_wait;
    told = false;
    if (!answer->events.empty()) {
      events.changed(answer->events);
    }
  }

  /// A member without a majority keeps its connections and says nothing: a read shows it.
  void ask() {
    client.send(
        member(),
        post(kRangePath, range_body({.key = options.prefix, .limit = 1, .count_only = true})),
        [weak = weak_from_this(), mine = round](const Result<net::HttpResponse>& answer) {
          const auto self = weak.lock();
          if (!self || self->round != mine) {
            return;
          }
          if (answer && answer->status == 200) {
            self->look.set(self->options.look, [raw = self.get()] { raw->ask(); });
          } else {
            self->lost(answer ? read_refusal(answer->body).message : to_string(answer.error()));
          }
        });
  }

  void lost(const std::string& why) {
    ++round;
    if (!std::exchange(told, true)) {
      log(LogLevel::Warn, "etcd", fmt::format("watch at {}: {}", member().to_string(), why));
    }
    look.cancel();
    again.set(wait, [this] { connect(); });
    wait = std::min(wait * 2, options.longest_wait);
    current = (current + 1) % members.size();
    call.reset();
  }

  std::vector<net::HttpUrl> members;
  Options options;
  Events events;
  net::HttpClient client;
  std::unique_ptr<net::HttpStreamCall> call;
  Lines lines;
  Timer again;
  Timer look;
  Duration wait;
  std::size_t current = 0;
  std::uint64_t round = 0; ///< what comes for an earlier one is ignored
  bool told = false;       ///< that it is lost: once, until it is back
};

Feed::Feed(net::AsioLoop& loop, std::vector<net::HttpUrl> members, Options options, Events events)
    : state_(std::make_shared<State>(loop, std::move(members), std::move(options),
                                     std::move(events))) {
  state_->connect();
}

Feed::~Feed() {
  state_->again.cancel();
  state_->look.cancel();
  ++state_->round;
  state_->call.reset();
}

} // namespace berth::etcd
