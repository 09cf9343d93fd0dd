#include "berth/server/log_answer.h"

#include <string>
#include <utility>

namespace berth::server {
namespace {

constexpr std::size_t kWhole = std::size_t{256} * 1024;  ///< what is sent in one piece
constexpr std::size_t kAhead = std::size_t{1024} * 1024; ///< what may wait for a slow reader

/// One reader of a log. Lives as long as its stream is used.
class Telling : public std::enable_shared_from_this<Telling> {
 public:
  void opened(std::unique_ptr<LogReading> log, const net::HttpRespond& respond) {
    log_ = std::move(log);
    net::HttpResponse response{
        .status = 200,
        .headers = {{"Content-Type", "text/plain"}, {"Cache-Control", "no-cache, private"}}};
    while (begun_.size() < kWhole) {
      const std::string piece = log_->more();
      if (piece.empty()) {
        break;
      }
      begun_ += piece;
    }
    if (begun_.size() < kWhole && log_->over()) {
      response.body = std::move(begun_);
    } else {
      response.stream = [self = shared_from_this()](std::shared_ptr<net::HttpStream> stream) {
        self->start(std::move(stream));
      };
    }
    respond(std::move(response));
  }

  /// Sends what there is, as far as the reader takes it.
  void tell() {
    const auto self = shared_from_this();
    while (stream_ != nullptr && stream_->waiting() < kAhead) {
      const std::string piece = log_->more();
      if (!piece.empty()) {
        stream_->send(piece);
        continue;
      }
      if (log_->over()) {
        const auto stream = stream_;
        stop();
        stream->end();
      }
      return;
    }
  }

 private:
  void start(std::shared_ptr<net::HttpStream> stream) {
    stream_ = std::move(stream);
    stream_->on_gone([self = shared_from_this()] { self->stop(); });
    stream_->on_room([self = shared_from_this()] { self->tell(); });
    stream_->send(std::exchange(begun_, {}));
    tell();
  }

  void stop() {
    const auto self = shared_from_this(); // until this is over
    log_ = nullptr;
    if (const auto stream = std::exchange(stream_, nullptr)) {
      stream->on_gone(nullptr);
      stream->on_room(nullptr);
    }
  }

  std::unique_ptr<LogReading> log_;
  std::string begun_; ///< read before there was a stream
  std::shared_ptr<net::HttpStream> stream_;
};

} // namespace

void answer_with_log(const OpenLog& open, net::HttpRespond respond) {
  auto telling = std::make_shared<Telling>();
  open(
      [weak = std::weak_ptr(telling)] {
        if (const auto self = weak.lock()) {
          self->tell();
        }
      },
      [telling, respond = std::move(respond)](Answer<std::unique_ptr<LogReading>> log) {
        if (log) {
          telling->opened(*std::move(log), respond);
        } else {
          respond(to_response(log.error()));
        }
      });
}

} // namespace berth::server
