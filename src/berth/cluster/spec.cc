#include "berth/cluster/spec.h"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/json.h"
#include "berth/cluster/node_names.h"
#include "berth/deviceplugin/config/config_file.h"
#include "berth/inventory/simulated_mig.h"
#include "berth/node/simulated_machine.h"

namespace berth::cluster {
namespace {

namespace json = api::json;

constexpr int kMaxNodes = 100'000;
/// A node of an unknown model may have up to as many GPUs as any can.
constexpr std::size_t kMostGpus = 16;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(at + 1);
  }
}

std::optional<int> to_int(std::string_view text) {
  int value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  return ec == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                               : std::nullopt;
}

Result<void> check_platform(std::string_view name, const hardware::Catalogue& catalogue) {
  if (catalogue.find(name) != nullptr) {
    return {};
  }
  return fail(Code::NotFound,
              fmt::format("unknown platform \"{}\": the catalogue has {}; try berth hardware list",
                          name, fmt::join(catalogue.names(), ", ")));
}

struct FaultForm {
  std::string_view name;
  Fault::Kind kind;
  std::size_t min_arguments; ///< after the node
  std::size_t max_arguments;
  std::string_view usage;
};
constexpr FaultForm kFaultForms[] = {
    {"xid", Fault::Kind::Xid, 1, 2, "TIME:xid:NODE:GPU[:CODE]"},
    {"repair", Fault::Kind::Repair, 1, 1, "TIME:repair:NODE:GPU"},
    {"node-down", Fault::Kind::NodeDown, 0, 0, "TIME:node-down:NODE"},
    {"node-up", Fault::Kind::NodeUp, 0, 0, "TIME:node-up:NODE"},
    {"agent-crash", Fault::Kind::AgentCrash, 0, 0, "TIME:agent-crash:NODE"},
    {"plugin-crash", Fault::Kind::PluginCrash, 0, 1, "TIME:plugin-crash:NODE[:PAUSE]"},
    {"cut", Fault::Kind::Cut, 0, 1, "TIME:cut:NODE[:PAUSE]"},
};

const FaultForm* find_form(std::string_view name) {
  const auto it = std::ranges::find(kFaultForms, name, &FaultForm::name);
  return it == std::end(kFaultForms) ? nullptr : it;
}

Result<void> parse_gpu_arguments(std::span<const std::string_view> arguments, Fault& fault) {
  const auto gpu = to_int(arguments[0]);
  if (!gpu || *gpu < 0 || *gpu > 15) {
    return fail(Code::Invalid, fmt::format("not a GPU index from 0 to 15: \"{}\"", arguments[0]));
  }
  fault.gpu = *gpu;
  if (arguments.size() > 1) {
    const auto code = to_int(arguments[1]);
    if (!code || *code < 1) {
      return fail(Code::Invalid, fmt::format("not an Xid code: \"{}\"", arguments[1]));
    }
    fault.code = *code;
  }
  return {};
}

/// The agents' settings, which must suit the machine.
Result<topology::Settings> read_kubelet(const json::value& entry, const NodeGroup& group,
                                        const hardware::Catalogue& catalogue) {
  const json::value* kubelet = api::find(entry, "kubelet");
  if (kubelet == nullptr) {
    return topology::Settings();
  }
  auto settings = topology::read_settings(*kubelet);
  if (!settings) {
    const std::string field = settings.error().where ? "." + settings.error().where->field : "";
    return fail(Code::Invalid, fmt::format("kubelet{}: {}", field, settings.error().message));
  }
  if (auto rules = node::numa_rules(
          {.name = group.platform, .platform = catalogue.find(group.platform), .numa = *settings});
      !rules) {
    return fail(Code::Invalid, fmt::format("kubelet: {}", rules.error().message));
  }
  return settings;
}

/// The configuration of NVIDIA's device plugin; how simulated containers are told of devices is not
/// the file's to say.
Result<deviceplugin::Config> read_device_plugin(const json::value& entry) {
  const json::value* given = api::find(entry, "devicePlugin");
  if (given == nullptr) {
    return node::usual_plugin_config();
  }
  auto config = deviceplugin::read_config_file(api::to_json(*given), "devicePlugin");
  if (!config) {
    Error error = std::move(config).error();
    error.message =
        fmt::format("devicePlugin.{}: {}", error.where ? error.where->field : "", error.message);
    error.where.reset();
    return tl::unexpected(std::move(error));
  }
  BERTH_CHECK(deviceplugin::validate(*config));
  const deviceplugin::Config usual = node::usual_plugin_config();
  config->flags.nvidia_dev_root = usual.flags.nvidia_dev_root;
  config->flags.plugin.pass_device_specs = usual.flags.plugin.pass_device_specs;
  config->flags.plugin.device_list_strategies.cdi_cri =
      usual.flags.plugin.device_list_strategies.cdi_cri;
  return config;
}

Result<void> read_hami(const json::value& entry, NodeGroup& group) {
  const json::value* given = api::find(entry, "hami");
  if (given == nullptr) {
    return {};
  }
  auto settings = node::read_hami_settings(*given);
  if (!settings) {
    return fail(Code::Invalid, fmt::format("hami: {}", settings.error().message));
  }
  group.hami = *settings;
  if (group.device_plugin.sharing.resources() != nullptr) {
    return fail(Code::Invalid, "GPUs are given as HAMi's vGPUs or as replicas, not both; leave out "
                               "hami or devicePlugin.sharing");
  }
  return {};
}

/// Every GPU of the platform can be cut so.
Result<void> check_mig(const NodeGroup& group, const hardware::Catalogue& catalogue) {
  if (group.mig.empty()) {
    return {};
  }
  const hardware::Platform* platform = catalogue.find(group.platform);
  for (const inventory::GpuFacts& gpu :
       inventory::simulated_facts(*platform, group.platform).gpus) {
    BERTH_CHECK(inventory::cut_gpu(gpu, group.mig, 0));
  }
  return {};
}

/// Reads one entry of a Cluster document's spec.nodes.
Result<NodeGroup> read_group(const json::value& entry, const hardware::Catalogue& catalogue) {
  NodeGroup group{.platform = std::string(api::string_at(entry, "platform")),
                  .count = 1,
                  .prefix = std::string(api::string_at(entry, "name")),
                  .labels = {},
                  .taints = {}};
  if (group.platform.empty()) {
    return fail(Code::Invalid, "platform is required");
  }
  BERTH_CHECK(check_platform(group.platform, catalogue));
  if (const json::value* count = api::find(entry, "count")) {
    if (!count->is_int64() || count->as_int64() < 0 || count->as_int64() > kMaxNodes) {
      return fail(Code::Invalid, fmt::format("count must be a number from 0 to {}: got {}",
                                             kMaxNodes, api::to_json(*count)));
    }
    group.count = static_cast<int>(count->as_int64());
  }
  if (const json::value* labels = api::find(entry, "labels")) {
    if (!labels->is_object()) {
      return fail(Code::Invalid, "labels must be a mapping of strings");
    }
    for (const auto& [key, value] : labels->as_object()) {
      if (!value.is_string()) {
        return fail(Code::Invalid, fmt::format("label {} must be a string: got {}",
                                               std::string_view(key), api::to_json(value)));
      }
      group.labels.emplace(key, value.as_string());
    }
  }
  if (const json::value* taints = api::find(entry, "taints")) {
    if (!taints->is_array()) {
      return fail(Code::Invalid, "taints must be a list");
    }
    for (const json::value& taint : taints->as_array()) {
      model::Taint read{.key = std::string(api::string_at(taint, "key")),
                        .value = std::string(api::string_at(taint, "value")),
                        .effect = std::string(api::string_at(taint, "effect")),
                        .time_added = {}};
      if (read.key.empty() || (read.effect != "NoSchedule" && read.effect != "PreferNoSchedule" &&
                               read.effect != "NoExecute")) {
        return fail(
            Code::Invalid,
            fmt::format(
                "a taint needs key and effect NoSchedule, PreferNoSchedule or NoExecute: got {}",
                api::to_json(taint)));
      }
      group.taints.push_back(std::move(read));
    }
  }
  BERTH_TRY(group.numa, read_kubelet(entry, group, catalogue));
  BERTH_TRY(group.device_plugin, read_device_plugin(entry));
  BERTH_CHECK(read_hami(entry, group));
  group.mig = api::string_at(entry, "mig");
  BERTH_CHECK(check_mig(group, catalogue));
  return group;
}

Error at_manifest(Error error, const api::Manifest& manifest, std::string field) {
  Where where = manifest.where;
  where.field = std::move(field);
  error.where = std::move(where);
  return error;
}

/// Adds a `kind: Cluster` document to `spec`.
Result<void> read_cluster_document(const api::Manifest& manifest, ClusterSpec& spec) {
  const json::value& document = manifest.object.json();
  for (const std::string_view list : {"spec.nodes", "spec.faults"}) {
    const json::value* value = api::find_path(document, list);
    if (value != nullptr && !value->is_array()) {
      return tl::unexpected(at_manifest(
          Error{.code = Code::Invalid, .message = "expected a list", .where = {}, .causes = {}},
          manifest, std::string(list)));
    }
  }
  if (const json::value* nodes = api::find_path(document, "spec.nodes")) {
    for (std::size_t i = 0; i < nodes->as_array().size(); ++i) {
      auto group = read_group(nodes->as_array()[i], spec.catalogue);
      if (!group) {
        return tl::unexpected(
            at_manifest(std::move(group).error(), manifest, fmt::format("spec.nodes[{}]", i)));
      }
      spec.groups.push_back(*std::move(group));
    }
  }
  if (const json::value* faults = api::find_path(document, "spec.faults")) {
    for (std::size_t i = 0; i < faults->as_array().size(); ++i) {
      const json::value& text = faults->as_array()[i];
      auto fault =
          parse_fault(text.is_string() ? std::string_view(text.as_string()) : std::string_view());
      if (!fault) {
        return tl::unexpected(
            at_manifest(std::move(fault).error(), manifest, fmt::format("spec.faults[{}]", i)));
      }
      spec.faults.push_back(*std::move(fault));
    }
  }
  return {};
}

} // namespace

int ClusterSpec::node_count() const {
  int count = static_cast<int>(nodes.size());
  for (const NodeGroup& group : groups) {
    count += group.count;
  }
  return count;
}

Result<NodeGroup> parse_node_group(std::string_view text, const hardware::Catalogue& catalogue) {
  NodeGroup group;
  std::string_view count_text;
  const std::size_t colon = text.rfind(':');
  const std::size_t times = text.find('x');
  if (colon != std::string_view::npos) {
    group.platform = text.substr(0, colon);
    count_text = text.substr(colon + 1);
  } else if (times != std::string_view::npos && times > 0 && to_int(text.substr(0, times))) {
    group.platform = text.substr(times + 1);
    count_text = text.substr(0, times);
  } else {
    group.platform = text;
    count_text = "1";
  }
  BERTH_CHECK(check_platform(group.platform, catalogue));
  const auto count = to_int(count_text);
  if (!count || *count < 1 || *count > kMaxNodes) {
    return fail(Code::Invalid,
                fmt::format("not a node count from 1 to {}: \"{}\"; write --nodes {}:4", kMaxNodes,
                            count_text, group.platform));
  }
  group.count = *count;
  return group;
}

Result<Fault> parse_fault(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() < 3) {
    return fail(
        Code::Invalid,
        fmt::format(
            "not a fault: \"{}\"; write TIME:xid:NODE:GPU:CODE, e.g. 5m:xid:dgx-h100-1:3:79",
            text));
  }
  Fault fault;
  BERTH_TRY(fault.at, parse_duration(parts[0]));
  const FaultForm* form = find_form(parts[1]);
  if (form == nullptr) {
    std::vector<std::string_view> names;
    std::ranges::transform(kFaultForms, std::back_inserter(names), &FaultForm::name);
    return fail(Code::Invalid, fmt::format("unknown fault \"{}\": one of {} is expected", parts[1],
                                           fmt::join(names, ", ")));
  }
  fault.kind = form->kind;
  fault.node = parts[2];
  const auto arguments = std::span(parts).subspan(3);
  if (fault.node.empty() || arguments.size() < form->min_arguments ||
      arguments.size() > form->max_arguments) {
    return fail(Code::Invalid,
                fmt::format("not a {} fault: \"{}\"; write {}", form->name, text, form->usage));
  }
  if (fault.kind == Fault::Kind::Xid || fault.kind == Fault::Kind::Repair) {
    BERTH_CHECK(parse_gpu_arguments(arguments, fault));
  } else if (!arguments.empty()) {
    BERTH_TRY(fault.pause, parse_duration(arguments[0]));
  }
  return fault;
}

std::string to_string(const Fault& fault) {
  const auto form = std::ranges::find(kFaultForms, fault.kind, &FaultForm::kind);
  std::string text = fmt::format("{}:{}", form->name, fault.node);
  switch (fault.kind) {
  case Fault::Kind::Xid:
    return text + fmt::format(":{}:{}", fault.gpu, fault.code);
  case Fault::Kind::Repair:
    return text + fmt::format(":{}", fault.gpu);
  case Fault::Kind::PluginCrash:
  case Fault::Kind::Cut:
    return text + ":" + berth::to_string(fault.pause);
  case Fault::Kind::NodeDown:
  case Fault::Kind::NodeUp:
  case Fault::Kind::AgentCrash:
    return text;
  }
  return text;
}

Result<ClusterSpec> read_cluster_spec(const std::vector<api::Manifest>& manifests,
                                      const hardware::Catalogue& catalogue) {
  ClusterSpec spec{.catalogue = catalogue};
  for (const api::Manifest& manifest : manifests) {
    const auto& gvk = manifest.object.gvk();
    if (gvk.group == "berth.dev" && gvk.kind == "Cluster") {
      BERTH_CHECK(read_cluster_document(manifest, spec));
    } else if (gvk.group.empty() && gvk.kind == "Node") {
      auto node = model::node_view(manifest.object);
      if (!node) {
        std::string field = node.error().where ? node.error().where->field : "";
        return tl::unexpected(at_manifest(std::move(node).error(), manifest, std::move(field)));
      }
      spec.nodes.push_back(manifest);
    }
  }
  if (spec.node_count() == 0) {
    Where where = manifests.empty() ? Where{} : manifests.front().where;
    return fail_at(
        where, "no nodes: expected Node objects or a Cluster (berth.dev/v1alpha1) with spec.nodes");
  }
  BERTH_CHECK(validate(spec));
  return spec;
}

Result<void> validate(const ClusterSpec& spec) {
  std::map<std::string, std::size_t, std::less<>> gpus; // by node name
  const auto add = [&gpus](std::string name, const hardware::Platform* platform) -> Result<void> {
    if (gpus.emplace(name, platform == nullptr ? kMostGpus : platform->gpus.size()).second) {
      return {};
    }
    return fail(Code::Invalid,
                fmt::format("two nodes have the name \"{}\"; give one group another name", name));
  };
  for (const NodeGroup& group : spec.groups) {
    const hardware::Platform* platform = spec.catalogue.find(group.platform);
    for (std::string& name : node_names(group)) {
      BERTH_CHECK(add(std::move(name), platform));
    }
  }
  for (const api::Manifest& node : spec.nodes) {
    BERTH_TRY(const auto view, model::node_view(node.object));
    BERTH_CHECK(add(view->meta.name, spec.catalogue.of_node(*view)));
  }
  for (const Fault& fault : spec.faults) {
    const auto node = gpus.find(fault.node);
    if (node == gpus.end()) {
      return fail(Code::NotFound,
                  fmt::format("a fault names a node that does not exist: \"{}\"; nodes are named "
                              "PLATFORM-1, PLATFORM-2, ...",
                              fault.node));
    }
    const bool on_gpu = fault.kind == Fault::Kind::Xid || fault.kind == Fault::Kind::Repair;
    if (on_gpu && static_cast<std::size_t>(fault.gpu) >= node->second) {
      return fail(Code::NotFound, fmt::format("node \"{}\" has no GPU {}: it has {}", fault.node,
                                              fault.gpu, node->second));
    }
  }
  return {};
}

} // namespace berth::cluster
