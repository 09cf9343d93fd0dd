#include "berth/deviceplugin/config/config_file.h"

#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/manifest.h"
#include "berth/api/strict.h"
#include "berth/api/yaml.h"
#include "berth/deviceplugin/config/choices.h"
#include "berth/deviceplugin/config/sharing_section.h"

namespace berth::deviceplugin {
namespace {

using api::Field;

/// Reads a member that is a word for a choice.
template <class T>
void read_choice(const Field& in, std::string_view name, Result<T> (*parse)(std::string_view),
                 T& out) {
  in.within(name, [&](const Field& field) {
    std::string text;
    decode(field, text);
    if (field.failed()) {
      return;
    }
    if (auto parsed = parse(text)) {
      out = *parsed;
    } else {
      field.fail(parsed.error().message);
    }
  });
}

/// "cdi-cri", or a list of such.
void read_list_strategies(const Field& in, DeviceListStrategies& out) {
  std::vector<std::string> texts;
  if (in.value().is_array()) {
    decode(in, texts);
  } else if (in.value().is_string()) {
    decode(in, texts.emplace_back());
  } else {
    in.fail(fmt::format("invalid deviceListStrategy: {}", api::to_json(in.value())));
  }
  if (in.failed()) {
    return;
  }
  if (const auto parsed = parse_device_list_strategies(texts)) {
    out = *parsed;
  } else {
    in.fail(parsed.error().message);
  }
}

void read_plugin(const Field& in, PluginFlags& out) {
  api::refuse_unknown(in, {"passDeviceSpecs", "deviceListStrategy", "deviceIDStrategy",
                           "cdiAnnotationPrefix", "nvidiaCTKPath", "containerDriverRoot",
                           "sharedDevicesAllocationPolicy"});
  in.read("passDeviceSpecs", out.pass_device_specs);
  in.within("deviceListStrategy",
            [&](const Field& field) { read_list_strategies(field, out.device_list_strategies); });
  read_choice(in, "deviceIDStrategy", &parse_device_id_strategy, out.device_id_strategy);
  in.read("cdiAnnotationPrefix", out.cdi_annotation_prefix);
  in.read("nvidiaCTKPath", out.nvidia_ctk_path);
  in.read("containerDriverRoot", out.container_driver_root);
  read_choice(in, "sharedDevicesAllocationPolicy", &parse_allocation_policy,
              out.shared_devices_allocation_policy);
}

void read_discovery(const Field& in, DiscoveryFlags& out) {
  api::refuse_unknown(in,
                      {"oneshot", "noTimestamp", "sleepInterval", "outputFile", "machineTypeFile"});
  in.read("oneshot", out.oneshot);
  in.read("noTimestamp", out.no_timestamp);
  in.within("sleepInterval", [&](const Field& f) { api::decode_duration(f, out.sleep_interval); });
  in.read("outputFile", out.output_file);
  in.read("machineTypeFile", out.machine_type_file);
}

void read_flags(const Field& in, Flags& out) {
  api::refuse_unknown(in, {"migStrategy", "failOnInitError", "mpsRoot", "nvidiaDriverRoot",
                           "nvidiaDevRoot", "gdrcopyEnabled", "gdsEnabled", "mofedEnabled",
                           "useNodeFeatureAPI", "deviceDiscoveryStrategy", "plugin", "gfd"});
  read_choice(in, "migStrategy", &parse_mig_strategy, out.mig_strategy);
  in.read("failOnInitError", out.fail_on_init_error);
  in.read("mpsRoot", out.mps_root);
  in.read("nvidiaDriverRoot", out.nvidia_driver_root);
  in.read("nvidiaDevRoot", out.nvidia_dev_root);
  in.read("gdrcopyEnabled", out.gdrcopy_enabled);
  in.read("gdsEnabled", out.gds_enabled);
  in.read("mofedEnabled", out.mofed_enabled);
  in.read("useNodeFeatureAPI", out.use_node_feature_api);
  read_choice(in, "deviceDiscoveryStrategy", &parse_discovery_strategy,
              out.device_discovery_strategy);
  in.within("plugin", [&](const Field& field) { read_plugin(field, out.plugin); });
  in.within("gfd", [&](const Field& field) { read_discovery(field, out.gfd); });
}

/// resources.gpus and resources.mig: checked, and without effect, as upstream.
void read_patterns(const Field& in, std::vector<std::string>& remarks) {
  api::refuse_unknown(in, {"gpus", "mig"});
  bool any = false;
  for (const std::string_view kind : {"gpus", "mig"}) {
    in.within(kind, [&](const Field& list) {
      list.each([&](const Field& entry) {
        any = true;
        api::refuse_unknown(entry, {"pattern", "name"});
        for (const std::string_view field : {"pattern", "name"}) {
          std::string text;
          entry.read(field, text);
          if (text.empty()) {
            entry.fail_member(field, fmt::format("resources must have a '{}' field set", field));
          }
        }
      });
    });
  }
  if (any) {
    remarks.emplace_back("Customizing the 'resources' field is not yet supported in the config. "
                         "Ignoring...");
  }
}

void read_imex(const Field& in, Imex& out) {
  api::refuse_unknown(in, {"channelIDs", "required"});
  in.read("channelIDs", out.channel_ids);
  in.read("required", out.required);
}

void read_config(const Field& in, Config& out) {
  api::refuse_unknown(in, {"version", "flags", "resources", "sharing", "imex"});
  in.within("version", [](const Field& field) {
    std::string version;
    decode(field, version);
    if (!field.failed() && version != "v1" && !version.empty()) {
      field.fail(fmt::format("unknown version: {}", version));
    }
  });
  in.within("flags", [&](const Field& field) { read_flags(field, out.flags); });
  in.within("resources", [&](const Field& field) { read_patterns(field, out.remarks); });
  in.within("sharing", [&](const Field& field) { read_sharing(field, out.sharing, out.remarks); });
  in.within("imex", [&](const Field& field) { read_imex(field, out.imex); });
}

Where place_of(const std::string& field, const api::YamlDocument& document, std::string_view file) {
  const api::Position at = document.positions.find(api::pointer_of(field));
  return {.file = std::string(file), .line = at.line, .column = at.column, .field = field};
}

} // namespace

std::optional<Where> place_in_config_file(const std::string& field, std::string_view text,
                                          std::string_view file) {
  const auto documents = api::parse_yaml(text, file);
  return documents && documents->size() == 1 &&
                 api::find_path(documents->front().value, field) != nullptr
             ? std::optional(place_of(field, documents->front(), file))
             : std::nullopt;
}

Result<Config> read_config_file(std::string_view text, std::string_view file) {
  BERTH_TRY(const std::vector<api::YamlDocument> documents, api::parse_yaml(text, file));
  Config config;
  if (documents.empty()) {
    return config;
  }
  if (documents.size() > 1) {
    return fail_at({.file = std::string(file), .line = 1, .column = 1, .field = {}},
                   fmt::format("want one configuration, this file has {}", documents.size()));
  }
  const api::YamlDocument& document = documents.front();
  std::optional<Error> failure;
  read_config(Field(document.value, failure), config);
  if (failure) {
    const std::string field = failure->where ? failure->where->field : std::string();
    failure->where = place_of(field, document, file);
    return tl::unexpected(*std::move(failure));
  }
  return config;
}

} // namespace berth::deviceplugin
