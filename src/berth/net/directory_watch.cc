#include "berth/net/directory_watch.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/inotify.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <fmt/format.h>

namespace berth::net {
namespace {

constexpr std::uint32_t kAppeared = IN_CREATE | IN_MOVED_TO;
constexpr std::uint32_t kGone = IN_DELETE | IN_MOVED_FROM;
constexpr std::uint32_t kEnded = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT;

tl::unexpected<Error> refused(const std::string& directory, int number) {
  const auto say = [&](Code code, std::string_view why) {
    return fail(code, fmt::format("{}: cannot be watched: {}", directory, why));
  };
  switch (number) {
  case ENOENT:
  case ENOTDIR:
    return say(Code::NotFound, "no such directory");
  case EACCES:
    return say(Code::Forbidden, "permission denied");
  case EMFILE:
    return say(Code::Unavailable, "no inotify instance is left; try to raise "
                                  "fs.inotify.max_user_instances");
  case ENOSPC:
    return say(Code::Unavailable, "no inotify watch is left; try to raise "
                                  "fs.inotify.max_user_watches");
  default:
    return say(Code::Unavailable, std::strerror(number));
  }
}

} // namespace

struct DirectoryWatch::State : std::enable_shared_from_this<State> {
  State(AsioLoop& its_loop, int descriptor, std::function<void(const DirectoryChange&)> callback)
      : loop(&its_loop), events(its_loop.io(), descriptor), on_change(std::move(callback)) {}

  void read() {
    events.async_read_some(
        boost::asio::buffer(bytes),
        [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
          if (!error && !self->closed) {
            self->take(size);
            self->read();
          }
        });
  }

  // The kernel gives whole events only.
  void take(std::size_t size) {
    for (std::size_t at = 0; at + sizeof(inotify_event) <= size;) {
      inotify_event event{};
      std::memcpy(&event, bytes.data() + at, sizeof(event));
      // The name is padded with zeros.
      const char* name = bytes.data() + at + sizeof(event);
      tell(event.mask, std::string(name, strnlen(name, event.len)));
      at += sizeof(event) + event.len;
    }
  }

  void tell(std::uint32_t mask, std::string name) {
    using enum DirectoryChange::Kind;
    if ((mask & IN_Q_OVERFLOW) != 0) {
      post({.kind = Missed});
    } else if ((mask & kEnded) != 0) {
      if (!std::exchange(ended, true)) {
        post({.kind = Ended});
      }
    } else if ((mask & (kAppeared | kGone)) != 0) {
      post({.kind = (mask & kAppeared) != 0 ? Appeared : Gone, .name = std::move(name)});
    }
  }

  void post(DirectoryChange change) {
    loop->post([weak = weak_from_this(), change = std::move(change)] {
      const auto self = weak.lock();
      if (self && !self->closed) {
        const auto now = self->on_change; // which may destroy the watch
        now(change);
      }
    });
  }

  AsioLoop* loop;
  boost::asio::posix::stream_descriptor events;
  std::function<void(const DirectoryChange&)> on_change;
  std::array<char, 16 * 1024> bytes{};
  bool ended = false;
  bool closed = false;
};

DirectoryWatch::DirectoryWatch(std::shared_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<DirectoryWatch>>
DirectoryWatch::open(AsioLoop& loop, const std::string& directory,
                     std::function<void(const DirectoryChange&)> on_change) {
  const int descriptor = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (descriptor < 0) {
    return refused(directory, errno);
  }
  if (inotify_add_watch(descriptor, directory.c_str(),
                        IN_ONLYDIR | kAppeared | kGone | IN_DELETE_SELF | IN_MOVE_SELF) < 0) {
    const int number = errno;
    ::close(descriptor);
    return refused(directory, number);
  }
  auto state = std::make_shared<State>(loop, descriptor, std::move(on_change));
  state->read();
  return std::unique_ptr<DirectoryWatch>(new DirectoryWatch(std::move(state)));
}

DirectoryWatch::~DirectoryWatch() {
  state_->closed = true;
  boost::system::error_code ignored;
  state_->events.close(ignored);
}

} // namespace berth::net
