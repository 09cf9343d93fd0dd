#include "berth/deviceplugin/config/settings.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "berth/deviceplugin/config/choices.h"
#include "berth/deviceplugin/config/config_file.h"
#include "berth/deviceplugin/config/health_checks.h"

namespace berth::deviceplugin {
namespace {

using Texts = std::vector<std::string>;

struct Setting {
  SettingName name;
  std::function<Result<void>(Config&, const Texts&)> apply;
};

// ---- kinds of values ----------------------------------------------------------------------------

std::vector<std::string> split(const Texts& texts) {
  std::vector<std::string> parts;
  for (const std::string& text : texts) {
    std::string_view rest = text;
    while (true) {
      const std::size_t comma = rest.find(',');
      std::string_view part = rest.substr(0, comma);
      while (!part.empty() && part.front() == ' ') {
        part.remove_prefix(1);
      }
      while (!part.empty() && part.back() == ' ') {
        part.remove_suffix(1);
      }
      if (!part.empty()) {
        parts.emplace_back(part);
      }
      if (comma == std::string_view::npos) {
        break;
      }
      rest.remove_prefix(comma + 1);
    }
  }
  return parts;
}

template <class Select> auto text_into(Select select) {
  return [select](Config& config, const Texts& texts) -> Result<void> {
    select(config) = texts.back();
    return {};
  };
}

template <class Select, class T>
auto choice_into(Select select, Result<T> (*parse)(std::string_view)) {
  return [select, parse](Config& config, const Texts& texts) -> Result<void> {
    BERTH_TRY(select(config), parse(texts.back()));
    return {};
  };
}

template <class Select> auto truth_into(Select select) {
  return choice_into(select, &parse_truth);
}

Result<void> set_list_strategies(Config& config, const Texts& texts) {
  BERTH_TRY(config.flags.plugin.device_list_strategies, parse_device_list_strategies(split(texts)));
  return {};
}

Result<void> set_channels(Config& config, const Texts& texts) {
  config.imex.channel_ids.clear();
  for (const std::string& text : split(texts)) {
    std::int64_t id = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), id);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) {
      return fail(Code::Invalid, fmt::format("not a channel's number: {}", text));
    }
    config.imex.channel_ids.push_back(id);
  }
  return {};
}

// ---- the settings -------------------------------------------------------------------------------

std::vector<Setting> node_settings() {
  return {
      {{"--mig-strategy",
        {"MIG_STRATEGY"},
        "STRATEGY",
        "what MIG devices are advertised as: none, single or mixed"},
       choice_into(
           [](Config & c) -> auto& { return c.flags.mig_strategy; }, &parse_mig_strategy)},
      {{"--fail-on-init-error",
        {"FAIL_ON_INIT_ERROR"},
        "BOOL",
        "end when there is no driver, instead of waiting for ever"},
       truth_into([](Config & c) -> auto& { return c.flags.fail_on_init_error; })},
      {{"--mps-root",
        {"MPS_ROOT"},
        "DIRECTORY",
        "where on the host MPS has its pipes, logs and shared memory"},
       text_into([](Config & c) -> auto& { return c.flags.mps_root; })},
      {{"--nvidia-driver-root",
        {"NVIDIA_DRIVER_ROOT"},
        "DIRECTORY",
        "where on the host the driver is installed"},
       text_into([](Config & c) -> auto& { return c.flags.nvidia_driver_root; })},
      {{"--nvidia-dev-root",
        {"NVIDIA_DEV_ROOT"},
        "DIRECTORY",
        "where on the host the device nodes are, if not at the driver's root"},
       text_into([](Config & c) -> auto& { return c.flags.nvidia_dev_root; })},
      {{"--gdrcopy-enabled", {"GDRCOPY_ENABLED"}, "BOOL", "give containers GPUDirect RDMA copies"},
       truth_into([](Config & c) -> auto& { return c.flags.gdrcopy_enabled; })},
      {{"--gds-enabled", {"GDS_ENABLED"}, "BOOL", "give containers GPUDirect Storage"},
       truth_into([](Config & c) -> auto& { return c.flags.gds_enabled; })},
      {{"--mofed-enabled", {"MOFED_ENABLED"}, "BOOL", "give containers the InfiniBand devices"},
       truth_into([](Config & c) -> auto& { return c.flags.mofed_enabled; })},
      {{"--device-discovery-strategy",
        {"DEVICE_DISCOVERY_STRATEGY"},
        "STRATEGY",
        "how devices are found: auto, nvml or tegra"},
       choice_into(
           [](Config & c) -> auto& { return c.flags.device_discovery_strategy; },
           &parse_discovery_strategy)},
      {{"--imex-channel-ids", {"IMEX_CHANNEL_IDS"}, "LIST", "the IMEX channels of every container"},
       &set_channels},
      {{"--imex-required", {"IMEX_REQUIRED"}, "BOOL", "fail where a channel does not exist"},
       truth_into([](Config & c) -> auto& { return c.imex.required; })}};
}

std::vector<Setting> plugin_settings() {
  return {{{"--pass-device-specs",
            {"PASS_DEVICE_SPECS"},
            "BOOL",
            "name device nodes to the kubelet too"},
           truth_into([](Config & c) -> auto& { return c.flags.plugin.pass_device_specs; })},
          {{"--device-list-strategy",
            {"DEVICE_LIST_STRATEGY"},
            "LIST",
            "how a container is told its devices: envvar, volume-mounts, cdi-annotations, cdi-cri"},
           &set_list_strategies},
          {{"--device-id-strategy",
            {"DEVICE_ID_STRATEGY"},
            "STRATEGY",
            "what names a device to the runtime: uuid or index"},
           choice_into(
               [](Config & c) -> auto& { return c.flags.plugin.device_id_strategy; },
               &parse_device_id_strategy)},
          {{"--cdi-annotation-prefix",
            {"CDI_ANNOTATION_PREFIX"},
            "PREFIX",
            "of the annotations with CDI names"},
           text_into([](Config & c) -> auto& { return c.flags.plugin.cdi_annotation_prefix; })},
          {{"--nvidia-cdi-hook-path",
            {"NVIDIA_CDI_HOOK_PATH", "NVIDIA_CTK_PATH"},
            "FILE",
            "the program of the hooks in CDI specs"},
           text_into([](Config & c) -> auto& { return c.flags.plugin.nvidia_ctk_path; })},
          {{"--driver-root-ctr-path",
            {"DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT"},
            "DIRECTORY",
            "where this process sees the driver's root"},
           text_into([](Config & c) -> auto& { return c.flags.plugin.container_driver_root; })},
          {{"--shared-devices-allocation-policy",
            {"SHARED_DEVICES_ALLOCATION_POLICY"},
            "POLICY",
            "which GPU's replicas are preferred: distributed, packed or spread"},
           choice_into(
               [](Config & c) -> auto& { return c.flags.plugin.shared_devices_allocation_policy; },
               &parse_allocation_policy)}};
}

const std::vector<Setting>& settings() {
  static const std::vector<Setting> kSettings = [] {
    std::vector<Setting> all = node_settings();
    for (Setting& setting : plugin_settings()) {
      all.push_back(std::move(setting));
    }
    return all;
  }();
  return kSettings;
}

/// Names that older versions had for a flag.
std::string_view old_name(std::string_view flag) {
  return flag == "--nvidia-cdi-hook-path"   ? "--nvidia-ctk-path"
         : flag == "--driver-root-ctr-path" ? "--container-driver-root"
                                            : std::string_view();
}

// ---- the sources --------------------------------------------------------------------------------

std::optional<std::string> variable(const ConfigSources& sources, std::string_view name) {
  auto value = sources.environment ? sources.environment(name) : std::nullopt;
  return value && value->empty() ? std::nullopt : value;
}

Result<void> apply(const Setting& setting, std::string_view said_as, const Texts& texts,
                   Config& config) {
  if (texts.empty()) {
    return {};
  }
  if (auto applied = setting.apply(config, texts); !applied) {
    Error error = std::move(applied).error();
    error.message = fmt::format("{}: {}", said_as, error.message);
    return tl::unexpected(std::move(error));
  }
  return {};
}

Result<void> apply_environment(const ConfigSources& sources, Config& config) {
  for (const Setting& setting : settings()) {
    for (const std::string_view name : setting.name.variables) {
      if (const auto value = variable(sources, name)) {
        BERTH_CHECK(apply(setting, name, {*value}, config));
        break;
      }
    }
  }
  return {};
}

Result<void> apply_flags(const ConfigSources& sources, Config& config) {
  for (const Setting& setting : settings()) {
    for (const std::string_view name : {old_name(setting.name.flag), setting.name.flag}) {
      if (const auto said = sources.flags.find(name); said != sources.flags.end()) {
        BERTH_CHECK(apply(setting, name, said->second, config));
      }
    }
  }
  return {};
}

/// An error of the whole configuration, at its place in the file if it is the file's: what flags or
/// environment said instead has none.
Error placed(Error error, const Imex& in_file, const Config& config, const ConfigSources& sources) {
  const std::string field = error.where ? error.where->field : std::string();
  const bool overridden = field.starts_with("imex") && config.imex != in_file;
  error.where = field.empty() || overridden || !sources.file_text
                    ? std::nullopt
                    : place_in_config_file(field, *sources.file_text, sources.file_name);
  return error;
}

} // namespace

std::string config_file_name(const ConfigSources& sources) {
  const auto said = sources.flags.find("--config-file");
  return said != sources.flags.end() && !said->second.empty()
             ? said->second.back()
             : variable(sources, "CONFIG_FILE").value_or("");
}

Result<Config> make_config(const ConfigSources& sources) {
  Config config;
  if (sources.file_text) {
    BERTH_TRY(config, read_config_file(*sources.file_text, sources.file_name));
  }
  const Imex in_file = config.imex;
  BERTH_CHECK(apply_environment(sources, config));
  BERTH_CHECK(apply_flags(sources, config));
  if (config.flags.nvidia_dev_root.empty()) {
    config.flags.nvidia_dev_root = config.flags.nvidia_driver_root;
  }
  config.health =
      read_health_checks(variable(sources, "DP_DISABLE_HEALTHCHECKS").value_or(""),
                         variable(sources, "DP_ENABLE_HEALTHCHECKS").value_or(""), config.remarks);
  if (auto valid = validate(config); !valid) {
    return tl::unexpected(placed(std::move(valid).error(), in_file, config, sources));
  }
  return config;
}

std::vector<SettingName> setting_names() {
  std::vector<SettingName> names;
  for (const Setting& setting : settings()) {
    names.push_back(setting.name);
  }
  return names;
}

} // namespace berth::deviceplugin
