#include "berth/cli/platform_files.h"

#include <filesystem>

#include <fmt/format.h>

#include "berth/base/suggest.h"
#include "berth/cli/run/manifest_files.h"
#include "berth/hardware/formats/platform_yaml.h"

namespace berth::cli {
namespace {

struct Parts {
  std::string_view file; ///< empty: the text names no file
  std::string_view rest; ///< ":4", or nothing
};

Parts parts_of(std::string_view text) {
  if (is_platform_file(text)) {
    return {.file = text, .rest = {}};
  }
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && is_platform_file(text.substr(0, colon))) {
    return {.file = text.substr(0, colon), .rest = text.substr(colon)};
  }
  return {};
}

/// A file of another kind, told from a name that is no platform's.
Result<void> check_is_no_other_file(const std::string& name) {
  std::error_code failed;
  if (!std::filesystem::exists(name, failed)) {
    return {};
  }
  return fail(Code::NotFound,
              fmt::format("{} is no platform file: these are YAML and end in .yaml or .yml; berth "
                          "hardware import makes one of what nvidia-smi topo -m prints",
                          name));
}

} // namespace

bool is_platform_file(std::string_view text) {
  return text.ends_with(".yaml") || text.ends_with(".yml");
}

Result<hardware::Platform> read_platform_file(const std::string& path) {
  BERTH_TRY(const std::string text, read_text(path));
  return hardware::Catalogue::parse_platform(text, path);
}

Result<std::shared_ptr<const hardware::Platform>> find_platform(const std::string& name_or_file) {
  if (is_platform_file(name_or_file)) {
    BERTH_TRY(hardware::Platform platform, read_platform_file(name_or_file));
    return std::make_shared<const hardware::Platform>(std::move(platform));
  }
  const auto& catalogue = hardware::Catalogue::builtin();
  if (const hardware::Platform* platform = catalogue.find(name_or_file)) {
    return std::shared_ptr<const hardware::Platform>(std::shared_ptr<void>(),
                                                     platform); // not owned
  }
  BERTH_CHECK(check_is_no_other_file(name_or_file));
  const std::vector<std::string> names = catalogue.names();
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view near = nearest(name_or_file, views);
  return fail(Code::NotFound,
              fmt::format("unknown platform \"{}\"{}", name_or_file,
                          near.empty() ? "" : fmt::format(", did you mean {}?", near)));
}

Result<cluster::NodeGroup> read_node_group(std::string_view text, hardware::Catalogue& catalogue) {
  const Parts parts = parts_of(text);
  if (parts.file.empty()) {
    auto group = cluster::parse_node_group(text, catalogue);
    if (!group) {
      BERTH_CHECK(check_is_no_other_file(std::string(text.substr(0, text.rfind(':')))));
    }
    return group;
  }
  BERTH_TRY(hardware::Platform platform, read_platform_file(std::string(parts.file)));
  const std::string name = platform.name;
  const hardware::Platform* known = catalogue.find(name);
  if (known == nullptr || platform_yaml(*known) != platform_yaml(platform)) {
    BERTH_TRY(catalogue, catalogue.with(std::move(platform)));
  }
  return cluster::parse_node_group(fmt::format("{}{}", name, parts.rest), catalogue);
}

std::string with_absolute_path(std::string_view text) {
  const Parts parts = parts_of(text);
  if (parts.file.empty()) {
    return std::string(text);
  }
  std::error_code failed;
  const auto path = std::filesystem::absolute(std::filesystem::path(parts.file), failed);
  return failed ? std::string(text) : path.string() + std::string(parts.rest);
}

} // namespace berth::cli
