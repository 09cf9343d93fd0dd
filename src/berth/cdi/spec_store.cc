#include "berth/cdi/spec_store.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/yaml.h"
#include "berth/base/replace_file.h"

namespace berth::cdi {
namespace {

tl::unexpected<Error> system_error(std::string_view what, const std::string& path) {
  return fail(Code::Unavailable,
              fmt::format("cannot {} {}: {}", what, path, std::generic_category().message(errno)));
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
  constexpr std::uint32_t kMode = 0644; // runtimes of other users read it
  return replace_file(fmt::format("{}/{}", directory_, file), bytes, kMode);
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
