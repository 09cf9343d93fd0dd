#include "berth/cli/up/home.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "berth/base/read_file.h"
#include "berth/base/replace_file.h"

namespace berth::cli {
namespace {

constexpr std::uint32_t kOwnerOnly = 0600;

tl::unexpected<Error> failed(const std::filesystem::path& path, std::string_view doing) {
  return fail(Code::Unavailable,
              fmt::format("{}: {}: {}", path.string(), doing, std::strerror(errno)));
}

} // namespace

Result<Home> home_of(const Environment& env) {
  if (const auto own = env("BERTH_HOME"); own && !own->empty()) {
    return Home{.folder = *own};
  }
  if (const auto user = env("HOME"); user && !user->empty()) {
    return Home{.folder = std::filesystem::path(*user) / ".berth"};
  }
  return fail(Code::BadRequest, "neither BERTH_HOME nor HOME is set, so there is no place for the "
                                "cluster's data");
}

Result<void> make_private_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return fail(Code::Unavailable,
                fmt::format("{}: cannot be made: {}", folder.string(), error.message()));
  }
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  return {};
}

Result<void> make_folders(const Home& home) {
  for (const auto& folder : {home.folder, home.data(), home.pki()}) {
    BERTH_CHECK(make_private_folder(folder));
  }
  return {};
}

Result<void> write_private(const std::filesystem::path& path, const std::string& text) {
  return replace_file(path.string(), text, kOwnerOnly);
}

Result<std::string> read_key_file(const Home& home, const std::string& name) {
  constexpr std::size_t kLargest = std::size_t{1} << 20U;
  auto text = read_file((home.pki() / name).string(), kLargest);
  const bool absent = !text && text.error().code == Code::NotFound;
  return absent ? Result<std::string>("") : text;
}

std::optional<Running> running_at(const Home& home) {
  const int file = ::open(home.lock().c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return std::nullopt;
  }
  const bool free = ::flock(file, LOCK_SH | LOCK_NB) == 0;
  ::close(file);
  if (free) {
    return std::nullopt;
  }
  Running running;
  std::ifstream in(home.lock());
  in >> running.pid >> running.url;
  return running;
}

Result<HomeLock> HomeLock::take(const Home& home) {
  const int file = ::open(home.lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnerOnly);
  if (file < 0) {
    return failed(home.lock(), "cannot be made");
  }
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    ::close(file);
    const auto other = running_at(home);
    return fail(Code::Conflict,
                fmt::format("a cluster is running already: {} (process {}); try berth down",
                            other ? other->url : "", other ? other->pid : 0));
  }
  return HomeLock(file);
}

HomeLock::HomeLock(HomeLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

HomeLock& HomeLock::operator=(HomeLock&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

HomeLock::~HomeLock() {
  if (file_ >= 0) {
    (void)::ftruncate(file_, 0);
    ::close(file_);
  }
}

Result<void> HomeLock::tell(const Running& running) {
  const std::string text = fmt::format("{} {}\n", running.pid, running.url);
  if (::ftruncate(file_, 0) != 0 || ::pwrite(file_, text.data(), text.size(), 0) < 0) {
    return fail(Code::Unavailable,
                fmt::format("the lock cannot be written: {}", std::strerror(errno)));
  }
  return {};
}

} // namespace berth::cli
