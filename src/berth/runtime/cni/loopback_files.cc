#include "berth/runtime/cni/loopback_files.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/replace_file.h"

namespace berth::runtime::cni {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::string_view kPrefix = "zz-berth-loopback-";
constexpr std::string_view kSuffix = ".conflist";
/// Which version of the specification the configuration is written in: one that old runtimes know.
constexpr std::string_view kVersion = "0.4.0";
/// The plugins that agents make, and how their scripts begin, by which they are known again.
constexpr std::array<std::string_view, 2> kPlugins{kLoopbackNetwork, "loopback"};
constexpr std::string_view kScriptHead =
    "#!/bin/sh\n"
    "# Of `berth agent --network-without-cni loopback`, which also removes it.\n";
constexpr std::uint32_t kFileMode = 0644;
constexpr std::uint32_t kScriptMode = 0755;

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool exists(const std::string& path) {
  std::error_code unknown;
  return fs::symlink_status(path, unknown).type() != fs::file_type::not_found;
}

std::string configuration_text() {
  return api::to_pretty_json(
             json::object{{"cniVersion", kVersion},
                          {"name", kLoopbackNetwork},
                          {"plugins", json::array{json::object{{"type", kLoopbackNetwork}}}}}) +
         "\n";
}

bool is_agents(const std::string& configuration) {
  const std::string name = fs::path(configuration).filename();
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) {
    return false;
  }
  const auto document = api::parse_json(text_of(configuration));
  return document && api::string_at(*document, "name") == kLoopbackNetwork;
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return out + "'";
}

std::string script(std::string_view program) {
  return fmt::format("{}exec {} cni-plugin\n", kScriptHead, quoted(program));
}

bool is_script(const std::string& path) {
  return text_of(path).starts_with(kScriptHead);
}

/// Another agent's script is as good as ours, as long as its program is there.
bool works(const std::string& path) {
  const std::string text = text_of(path);
  const std::size_t begin = text.find('\'');
  const std::size_t end = text.rfind('\'');
  return text.starts_with(kScriptHead) && begin < end && end != std::string::npos &&
         ::access(text.substr(begin + 1, end - begin - 1).c_str(), X_OK) == 0;
}

Result<void> make_folder(const std::string& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  return failure ? fail(Code::Forbidden,
                        fmt::format("cannot make folder {}: {}", folder, failure.message()))
                 : Result<void>();
}

Result<void> remove_file(const std::string& path) {
  std::error_code failure;
  fs::remove(path, failure);
  return failure
             ? fail(Code::Forbidden, fmt::format("cannot remove {}: {}", path, failure.message()))
             : Result<void>();
}

Error with_advice(Error error) {
  error.message +=
      "; pods without CNI are to have a loopback of their own, for which the container runtime "
      "needs it: make the folder writable, name the runtime's folders with --cni-conf-dir and "
      "--cni-bin-dir, or try --network-without-cni host";
  return error;
}

} // namespace

std::string LoopbackFiles::configuration(const Directories& where) const {
  return fmt::format("{}/{}{}{}", where.conf, kPrefix, owner_, kSuffix);
}

bool LoopbackFiles::installed(const Directories& where) const {
  return is_agents(configuration(where));
}

Result<void> LoopbackFiles::put_plugin(const std::string& path) const {
  if (works(path) || (exists(path) && !is_script(path))) {
    return {};
  }
  return replace_file(path, script(program_), kScriptMode);
}

Result<void> LoopbackFiles::install(const Directories& where) const {
  const auto put = [&]() -> Result<void> {
    BERTH_CHECK(make_folder(where.bin));
    for (const std::string_view plugin : kPlugins) {
      BERTH_CHECK(put_plugin(fmt::format("{}/{}", where.bin, plugin)));
    }
    BERTH_CHECK(make_folder(where.conf));
    const std::string path = configuration(where);
    if (text_of(path) == configuration_text()) {
      return {};
    }
    if (exists(path) && !is_agents(path)) {
      return fail(Code::AlreadyExists, fmt::format("{} is there, and is not an agent's", path));
    }
    return replace_file(path, configuration_text(), kFileMode);
  };
  return put().map_error(with_advice);
}

Result<void> LoopbackFiles::remove(const Directories& where) const {
  if (installed(where)) {
    BERTH_CHECK(remove_file(configuration(where)));
  }
  if (std::ranges::any_of(configurations(where), is_agents)) {
    return {};
  }
  for (const std::string_view plugin : kPlugins) {
    const std::string path = fmt::format("{}/{}", where.bin, plugin);
    if (is_script(path)) {
      BERTH_CHECK(remove_file(path));
    }
  }
  return {};
}

std::vector<std::string> configurations(const Directories& where) {
  std::vector<std::string> found;
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(where.conf, failure)) {
    const std::string extension = entry.path().extension();
    if (extension == ".conf" || extension == ".conflist" || extension == ".json") {
      found.push_back(entry.path());
    }
  }
  std::ranges::sort(found);
  return found;
}

bool loopback_in_force(const Directories& where) {
  const std::vector<std::string> found = configurations(where);
  return !found.empty() && is_agents(found.front());
}

} // namespace berth::runtime::cni
