#include "berth/net/file_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <fmt/format.h>

namespace berth::net {
namespace {

class Inotify final : public FileWatch {
 public:
  Inotify(AsioLoop& loop, int descriptor, std::function<void()> on_change)
      : state_(std::make_shared<State>(loop, descriptor, std::move(on_change))) {
    State::read(state_);
  }
  ~Inotify() override {
    state_->on_change = nullptr;
    boost::system::error_code ignored;
    state_->descriptor.close(ignored);
  }

 private:
  struct State {
    State(AsioLoop& loop, int from, std::function<void()> told)
        : descriptor(loop.io(), from), on_change(std::move(told)) {}

    static void read(const std::shared_ptr<State>& state) {
      state->descriptor.async_read_some(
          boost::asio::buffer(state->events),
          [state](const boost::system::error_code& error, std::size_t) {
            if (error || !state->on_change) {
              return;
            }
            const auto told = state->on_change; // a copy: it may end the watch
            told();
            if (state->on_change) {
              read(state);
            }
          });
    }

    boost::asio::posix::stream_descriptor descriptor;
    std::function<void()> on_change;
    std::array<char, 4096> events; ///< which they were does not matter
  };
  std::shared_ptr<State> state_;
};

} // namespace

Result<std::unique_ptr<FileWatch>> watch_file(AsioLoop& loop, const std::string& path,
                                              std::function<void()> on_change) {
  const int descriptor = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  const int watch = descriptor < 0 ? -1
                                   : ::inotify_add_watch(descriptor, path.c_str(),
                                                         IN_MODIFY | IN_MOVE_SELF | IN_DELETE_SELF);
  if (watch < 0) {
    const int error = errno;
    if (descriptor >= 0) {
      ::close(descriptor);
    }
    return fail(Code::Unavailable,
                fmt::format("{}: cannot be watched: {}", path, std::strerror(error)));
  }
  return std::unique_ptr<FileWatch>(
      std::make_unique<Inotify>(loop, descriptor, std::move(on_change)));
}

} // namespace berth::net
