#include "berth/kubelet/logs/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "berth/kubelet/logs/cri_log.h"
#include "berth/net/file_watch.h"

namespace berth::kubelet {
namespace {

constexpr std::size_t kBlock = std::size_t{64} * 1024;
/// Read in one call, so that a log of which nothing is told does not hold up the loop.
constexpr std::size_t kTurn = std::size_t{4} * 1024 * 1024;
/// From the end of a container to the end of its log: the runtime may still be writing.
constexpr Duration kLastWords = Duration::millis(200);

/// A file that is open for reading.
class File {
 public:
  explicit File(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), error_(errno) {}
  ~File() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  /// Precondition: it is not open.
  const char* why_not() const { return std::strerror(error_); }
  std::uint64_t size() const {
    struct stat facts {};
    return ::fstat(descriptor_, &facts) == 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
  }
  /// Fewer bytes than asked for only at the end.
  std::string read_at(std::uint64_t at, std::size_t bytes) const {
    std::string out(bytes, '\0');
    std::size_t got = 0;
    while (got < bytes) {
      const auto n =
          ::pread(descriptor_, out.data() + got, bytes - got, static_cast<off_t>(at + got));
      if (n <= 0) {
        break;
      }
      got += static_cast<std::size_t>(n);
    }
    out.resize(got);
    return out;
  }

 private:
  int descriptor_;
  int error_;
};

class FileReading final : public server::LogReading {
 public:
  FileReading(net::AsioLoop& loop, const std::string& path, const server::LogOptions& options,
              std::function<void()> on_more)
      : loop_(&loop), file_(path), teller_(options), follows_(options.follow),
        on_more_(std::make_shared<std::function<void()>>(std::move(on_more))), last_words_(loop) {
    if (file_.is_open() && options.tail_lines) {
      at_ = tail_begin(
          file_.size(), *options.tail_lines,
          [this](std::uint64_t at, std::size_t bytes) { return file_.read_at(at, bytes); });
    }
  }

  const File& file() const { return file_; }

  /// The log grows until `container` has ended.
  Result<void> follow(runtime::Runtime& runtime, const std::string& path,
                      const std::string& container) {
    BERTH_TRY(watch_, net::watch_file(*loop_, path, [this] { (*on_more_)(); }));
    events_ = runtime.events([this, container](const runtime::ContainerEvent& event) {
      if (event.status.id == container && (event.type == runtime::ContainerEvent::Type::Stopped ||
                                           event.type == runtime::ContainerEvent::Type::Deleted)) {
        last_words_.set(kLastWords, [this] {
          follows_ = false;
          (*on_more_)();
        });
      }
    });
    return {};
  }

  std::string more() override {
    std::size_t read = 0;
    while (!teller_.full()) {
      if (read >= kTurn) { // goes on in a later turn
        loop_->post([weak = std::weak_ptr(on_more_)] {
          if (const auto on_more = weak.lock()) {
            (*on_more)();
          }
        });
        return {};
      }
      const std::string bytes = file_.read_at(at_, kBlock);
      at_ += bytes.size();
      read += bytes.size();
      at_end_ = bytes.empty();
      if (at_end_) {
        return {};
      }
      if (std::string text = teller_.tell(bytes); !text.empty()) {
        return text;
      }
    }
    return {};
  }

  bool over() const override { return teller_.full() || (at_end_ && !follows_); }

 private:
  net::AsioLoop* loop_;
  File file_;
  CriLogTeller teller_;
  bool follows_;
  std::shared_ptr<std::function<void()>> on_more_;
  Timer last_words_;
  std::unique_ptr<net::FileWatch> watch_;
  std::unique_ptr<runtime::EventStream> events_;
  std::uint64_t at_ = 0;
  bool at_end_ = false;
};

} // namespace

Result<std::unique_ptr<server::LogReading>> read_log_file(net::AsioLoop& loop,
                                                          runtime::Runtime& runtime,
                                                          const runtime::ContainerStatus& container,
                                                          const server::LogOptions& options,
                                                          std::function<void()> on_more) {
  server::LogOptions used = options;
  used.follow = options.follow && (container.state == runtime::ContainerState::Running ||
                                   container.state == runtime::ContainerState::Created);
  auto reading = std::make_unique<FileReading>(loop, container.log_path, used, std::move(on_more));
  if (!reading->file().is_open()) {
    return fail(Code::NotFound,
                container.log_path.empty()
                    ? fmt::format("the output of container {} is not kept", container.id)
                    : fmt::format("failed to open log file \"{}\": {}", container.log_path,
                                  reading->file().why_not()));
  }
  if (used.follow) {
    BERTH_CHECK(reading->follow(runtime, container.log_path, container.id));
  }
  return std::unique_ptr<server::LogReading>(std::move(reading));
}

} // namespace berth::kubelet
