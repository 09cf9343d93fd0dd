#include "berth/server/live_streams.h"

#include <utility>
#include <vector>

namespace berth::server {

struct LiveStreams::State {
  std::uint64_t next = 1;
  std::map<std::uint64_t, Stream*> open; ///< each takes itself out
};

/// Stands between who writes and the network.
class LiveStreams::Stream final : public net::HttpStream {
 public:
  Stream(std::shared_ptr<net::HttpStream> inner, const std::shared_ptr<State>& state,
         std::function<void()> ended)
      : inner_(std::move(inner)), state_(state), ended_(std::move(ended)), number_(state->next++) {
    state->open.emplace(number_, this);
  }
  ~Stream() override {
    if (const auto state = state_.lock()) {
      state->open.erase(number_);
      ended_();
    }
  }

  void send(std::string_view bytes) override {
    if (!over_) {
      inner_->send(bytes);
    }
  }
  void end() override {
    if (!std::exchange(over_, true)) {
      inner_->end();
    }
  }
  std::size_t waiting() const override { return inner_->waiting(); }
  void on_gone(std::function<void()> gone) override {
    gone_ = gone;
    inner_->on_gone(std::move(gone));
  }
  void on_room(std::function<void()> room) override { inner_->on_room(std::move(room)); }

  void cut_short() {
    const auto gone = std::exchange(gone_, nullptr);
    end();
    if (gone) {
      gone();
    }
  }

 private:
  std::shared_ptr<net::HttpStream> inner_;
  std::weak_ptr<State> state_;
  std::function<void()> ended_;
  std::function<void()> gone_;
  std::uint64_t number_;
  bool over_ = false;
};

LiveStreams::LiveStreams() : state_(std::make_shared<State>()) {}
LiveStreams::~LiveStreams() = default;

void LiveStreams::take(net::HttpResponse& response, std::function<void()> began,
                       std::function<void()> ended) {
  response.stream = [weak = std::weak_ptr(state_), began = std::move(began),
                     ended = std::move(ended),
                     begin = std::move(response.stream)](std::shared_ptr<net::HttpStream> inner) {
    if (const auto state = weak.lock()) {
      began();
      inner = std::make_shared<Stream>(std::move(inner), state, ended);
    }
    begin(std::move(inner));
  };
}

std::size_t LiveStreams::count() const {
  return state_->open.size();
}

void LiveStreams::end_all() {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, stream] : state_->open) {
    numbers.push_back(number);
  }
  for (const std::uint64_t number : numbers) {
    if (const auto open = state_->open.find(number); open != state_->open.end()) {
      open->second->cut_short();
    }
  }
}

} // namespace berth::server
