#include "berth/cli/up/cross_thread_nodes.h"

#include <utility>

namespace berth::cli {

/// Belongs to the API server's thread.
struct CrossThreadNodes::Near {
  /// A log that somebody reads, who owns it.
  struct Log {
    std::string text; ///< that has come and was not asked for yet
    bool over = false;
    std::function<void()> on_more;
  };

  std::uint64_t next = 0;
  /// What to do about questions under way if no answer can come any more.
  std::map<std::uint64_t, std::function<void()>> open;
  std::map<std::uint64_t, std::weak_ptr<Log>> logs;
  std::map<std::string, server::NodeUsage, std::less<>> usages;
};

/// Belongs to the thread of the nodes.
struct CrossThreadNodes::Far {
  server::Nodes& nodes;
  net::AsioLoop& loop;
  net::AsioLoop& home;
  std::weak_ptr<Near> near = {}; ///< asked there only
  std::map<std::uint64_t, std::unique_ptr<server::LogReading>> readings = {};
};

namespace {

using Near = CrossThreadNodes::Near;
using Far = CrossThreadNodes::Far;

template <class Work> void there(const std::shared_ptr<Far>& far, Work work) {
  far->loop.post_from_any_thread([weak = std::weak_ptr(far), work = std::move(work)]() mutable {
    if (const auto side = weak.lock()) {
      work(side);
    }
  });
}

template <class Work> void back(const Far& far, Work work) {
  far.home.post_from_any_thread([weak = far.near, work = std::move(work)]() mutable {
    if (const auto side = weak.lock()) {
      work(side);
    }
  });
}

/// As back(), with the answer to a question.
template <class Work> void answer(const Far& far, std::uint64_t number, Work work) {
  back(far, [number, work = std::move(work)](const std::shared_ptr<Near>& near) mutable {
    near->open.erase(number);
    work(near);
  });
}

/// What a reading can tell now.
struct Piece {
  std::string text;
  bool over = false;
};

Piece next_piece(server::LogReading& reading) {
  Piece piece;
  for (std::string more = reading.more(); !more.empty(); more = reading.more()) {
    piece.text += more;
  }
  piece.over = reading.over();
  return piece;
}

void add(Near::Log& log, const Piece& piece) {
  log.text += piece.text;
  log.over = piece.over;
}

void tell_more(const std::shared_ptr<Far>& far, std::uint64_t number) {
  const auto reading = far->readings.find(number);
  if (reading == far->readings.end()) {
    return;
  }
  back(*far, [number, piece = next_piece(*reading->second)](const std::shared_ptr<Near>& near) {
    const auto known = near->logs.find(number);
    const auto log = known == near->logs.end() ? nullptr : known->second.lock();
    if (log) {
      add(*log, piece);
      log->on_more();
    }
  });
}

class NearReading final : public server::LogReading {
 public:
  NearReading(const std::shared_ptr<Near>& near, std::weak_ptr<Far> far, std::uint64_t number,
              std::shared_ptr<Near::Log> log)
      : near_(near), far_(std::move(far)), number_(number), log_(std::move(log)) {
    near->logs.emplace(number, log_);
  }
  ~NearReading() override {
    if (const auto near = near_.lock()) {
      near->logs.erase(number_);
    }
    if (const auto far = far_.lock()) {
      there(far,
            [number = number_](const std::shared_ptr<Far>& side) { side->readings.erase(number); });
    }
  }
  NearReading(const NearReading&) = delete;
  NearReading& operator=(const NearReading&) = delete;

  std::string more() override { return std::exchange(log_->text, {}); }
  bool over() const override { return log_->over; }

 private:
  std::weak_ptr<Near> near_;
  std::weak_ptr<Far> far_;
  std::uint64_t number_;
  std::shared_ptr<Near::Log> log_;
};

} // namespace

CrossThreadNodes::CrossThreadNodes(server::Nodes& nodes, const std::vector<std::string>& names,
                                   net::AsioLoop& of_nodes, net::AsioLoop& home)
    : names_(names.begin(), names.end()),
      far_(std::make_shared<Far>(Far{.nodes = nodes, .loop = of_nodes, .home = home})),
      near_(std::make_shared<Near>()) {
  far_->near = near_;
}

// Whoever follows a log looks again, and finds it over; whoever waits is told that nobody answers.
CrossThreadNodes::~CrossThreadNodes() {
  far_->readings.clear();
  for (auto& [number, give_up] : near_->open) {
    far_->home.post(std::move(give_up));
  }
  for (const auto& [number, reader] : near_->logs) {
    if (const auto log = reader.lock()) {
      log->over = true;
      far_->home.post([waiting = std::weak_ptr(log)] {
        if (const auto still = waiting.lock()) {
          still->on_more();
        }
      });
    }
  }
}

void CrossThreadNodes::open_log(
    std::string_view node, server::LogRequest what, std::function<void()> on_more,
    std::function<void(server::Answer<std::unique_ptr<server::LogReading>>)> done) {
  const std::uint64_t number = ++near_->next;
  near_->open.emplace(number,
                      [done, refused = what.unreachable] { done(tl::unexpected(refused)); });
  there(far_, [number, node = std::string(node), what = std::move(what),
               on_more = std::move(on_more),
               done = std::move(done)](const std::shared_ptr<Far>& far) mutable {
    const std::weak_ptr<Far> weak = far;
    const auto more = [weak, number] {
      if (const auto still = weak.lock()) {
        tell_more(still, number);
      }
    };
    far->nodes.open_log(
        node, std::move(what), more,
        [weak, number, on_more = std::move(on_more), done = std::move(done)](
            server::Answer<std::unique_ptr<server::LogReading>> opened) mutable {
          const auto side = weak.lock();
          if (!side) {
            return;
          }
          if (!opened) {
            answer(*side, number,
                   [refused = std::move(opened).error(), done = std::move(done)](
                       const std::shared_ptr<Near>& /*near*/) { done(tl::unexpected(refused)); });
            return;
          }
          const Piece first = next_piece(**opened);
          side->readings.emplace(number, *std::move(opened));
          answer(*side, number,
                 [weak, number, first, on_more = std::move(on_more),
                  done = std::move(done)](const std::shared_ptr<Near>& near) mutable {
                   const auto log = std::make_shared<Near::Log>(Near::Log{
                       .text = first.text, .over = first.over, .on_more = std::move(on_more)});
                   done(std::make_unique<NearReading>(near, weak, number, log));
                 });
        });
  });
}

void CrossThreadNodes::find_streams(std::string_view node, server::StreamRequest what,
                                    std::function<void(server::Answer<server::StreamPlace>)> done) {
  const std::uint64_t number = ++near_->next;
  near_->open.emplace(number,
                      [done, refused = what.unreachable] { done(tl::unexpected(refused)); });
  there(far_, [number, node = std::string(node), what = std::move(what),
               done = std::move(done)](const std::shared_ptr<Far>& far) mutable {
    far->nodes.find_streams(node, std::move(what),
                            [number, weak = std::weak_ptr(far), done = std::move(done)](
                                server::Answer<server::StreamPlace> place) mutable {
                              const auto side = weak.lock();
                              if (!side) {
                                return;
                              }
                              answer(*side, number,
                                     [place = std::move(place), done = std::move(done)](
                                         const std::shared_ptr<Near>& /*near*/) { done(place); });
                            });
  });
}

void CrossThreadNodes::measure(const std::vector<std::string>& nodes, std::function<void()> done) {
  const std::uint64_t number = ++near_->next;
  near_->open.emplace(number, done);
  there(far_,
        [number, nodes = nodes, done = std::move(done)](const std::shared_ptr<Far>& far) mutable {
          far->nodes.measure(nodes, [number, weak = std::weak_ptr(far), nodes = nodes,
                                     done = std::move(done)]() mutable {
            const auto side = weak.lock();
            if (!side) {
              return;
            }
            std::vector<std::optional<server::NodeUsage>> usages;
            usages.reserve(nodes.size());
            for (const std::string& node : nodes) {
              usages.push_back(side->nodes.usage(node));
            }
            answer(*side, number,
                   [nodes = std::move(nodes), usages = std::move(usages),
                    done = std::move(done)](const std::shared_ptr<Near>& near) mutable {
                     for (std::size_t i = 0; i < nodes.size(); ++i) {
                       near->usages.erase(nodes[i]);
                       if (usages[i]) {
                         near->usages.emplace(nodes[i], *std::move(usages[i]));
                       }
                     }
                     done();
                   });
          });
        });
}

std::optional<server::NodeUsage> CrossThreadNodes::usage(std::string_view node) const {
  const auto known = near_->usages.find(node);
  return known == near_->usages.end() ? std::nullopt : std::optional(known->second);
}

} // namespace berth::cli
