#include "berth/cdi/spec_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/yaml.h"

namespace berth::cdi {
namespace {

tl::unexpected<Error> system_error(std::string_view what, const std::string& path) {
  return fail(Code::Unavailable,
              fmt::format("cannot {} {}: {}", what, path, std::generic_category().message(errno)));
}

// Owns an open file.
class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  ~Descriptor() {
    if (file_ >= 0) {
      ::close(file_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return file_; }
  bool ok() const { return file_ >= 0; }

 private:
  int file_;
};

Result<void> write_synced(const std::string& path, std::string_view bytes) {
  constexpr unsigned kMode = 0644; // runtimes of other users read it
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kMode));
  if (!file.ok()) {
    return system_error("create", path);
  }
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file.get(), bytes.data(), bytes.size());
    if (wrote < 0 && errno != EINTR) {
      return system_error("write", path);
    }
    bytes.remove_prefix(wrote < 0 ? 0 : static_cast<std::size_t>(wrote));
  }
  return ::fsync(file.get()) == 0 ? Result<void>() : system_error("sync", path);
}

Result<void> check_name(std::string_view file) {
  const bool spec = file.ends_with(".json") || file.ends_with(".yaml");
  if (!spec || file.starts_with('.') || file.find('/') != std::string_view::npos) {
    return fail(Code::Invalid,
                fmt::format("not a CDI spec's file name, want NAME.json or NAME.yaml: {}", file));
  }
  return {};
}

} // namespace

Result<void> RegistryStore::put(std::string_view file, const Spec& spec) {
  return registry_->put(file, Registry::kDynamic, spec);
}

Result<void> RegistryStore::remove(std::string_view file) {
  registry_->remove(file);
  return {};
}

Result<void> DirectoryStore::put(std::string_view file, const Spec& spec) {
  BERTH_CHECK(check_name(file));
  BERTH_CHECK(validate(spec));
  std::error_code failed;
  std::filesystem::create_directories(directory_, failed);
  if (failed) {
    return fail(Code::Unavailable,
                fmt::format("cannot create {}: {}", directory_, failed.message()));
  }
  const json::value document = to_json(spec);
  const std::string bytes =
      file.ends_with(".json") ? api::to_pretty_json(document) + "\n" : api::to_yaml(document);
  const std::string temporary = fmt::format("{}/spec.{}.tmp", directory_, file);
  const std::string path = fmt::format("{}/{}", directory_, file);
  auto written = write_synced(temporary, bytes);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0) {
    written = system_error("replace", path);
  }
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  const Descriptor parent(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return parent.ok() && ::fsync(parent.get()) == 0 ? Result<void>()
                                                   : system_error("sync", directory_);
}

Result<void> DirectoryStore::remove(std::string_view file) {
  BERTH_CHECK(check_name(file));
  const std::string path = fmt::format("{}/{}", directory_, file);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return system_error("remove", path);
  }
  return {};
}

} // namespace berth::cdi
