#include "berth/node/container_config.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/node/container_env.h"
#include "berth/node/numa_entries.h"
#include "berth/node/pod_actions.h"
#include "berth/node/volume_path.h"

namespace berth::node {
namespace {

namespace json = boost::json;

constexpr std::string_view kVisibleDevices = "NVIDIA_VISIBLE_DEVICES";
constexpr std::int64_t kDefaultGraceSeconds = 30;

const json::value* named(const json::value& pod, std::string_view list, std::string_view name) {
  const json::value* items = api::find_path(pod, list);
  if (!items || !items->is_array()) {
    return nullptr;
  }
  const auto& array = items->get_array();
  const auto it = std::ranges::find_if(
      array, [&](const json::value& item) { return api::string_at(item, "name") == name; });
  return it == array.end() ? nullptr : it;
}

std::vector<runtime::Mount> volume_mounts(const json::value& pod, const json::value& container,
                                          std::string_view pod_uid) {
  std::vector<runtime::Mount> mounts;
  const json::value* entries = api::find(container, "volumeMounts");
  if (!entries || !entries->is_array()) {
    return mounts;
  }
  for (const json::value& entry : entries->get_array()) {
    const json::value* volume = named(pod, "spec.volumes", api::string_at(entry, "name"));
    std::string source = volume ? volume_path(*volume, pod_uid) : "";
    if (source.empty()) {
      continue;
    }
    if (const std::string_view below = api::string_at(entry, "subPath"); !below.empty()) {
      source += fmt::format("/{}", below);
    }
    const json::value* read_only = api::find(entry, "readOnly");
    mounts.push_back({.container_path = std::string(api::string_at(entry, "mountPath")),
                      .host_path = std::move(source),
                      .read_only = read_only && read_only->is_bool() && read_only->get_bool()});
  }
  return mounts;
}

api::Labels pod_labels(const model::Pod& pod) {
  api::Labels labels = pod.meta.labels;
  labels[std::string(runtime::kPodNameLabel)] = pod.meta.name;
  labels[std::string(runtime::kPodNamespaceLabel)] = pod.meta.ns;
  labels[std::string(runtime::kPodUidLabel)] = pod.meta.uid;
  return labels;
}

/// FNV-1a, as far as the kubelet's: tools look whether it is another, not at what it is.
std::string hash_of(const json::value& container) {
  std::uint32_t hash = 0x811C9DC5U;
  for (const char c : api::to_json(container)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193U;
  }
  return fmt::format("{:x}", hash);
}

/// What a kubelet writes on a container of what its document says, for tools that look at the
/// runtime alone. Source: kubelet pkg/kubelet/kuberuntime/labels.go.
void annotate(const json::value& container, api::Labels& annotations) {
  constexpr std::string_view kPrefix = "io.kubernetes.container.";
  const auto put = [&](std::string_view name, std::string value) {
    annotations[fmt::format("{}{}", kPrefix, name)] = std::move(value);
  };
  const auto text = [&](std::string_view field, std::string_view otherwise) {
    const std::string_view said = api::string_at(container, field);
    return std::string(said.empty() ? otherwise : said);
  };
  put("hash", hash_of(container));
  put("terminationMessagePath", text("terminationMessagePath", "/dev/termination-log"));
  put("terminationMessagePolicy", text("terminationMessagePolicy", "File"));
  if (const json::value* hook = api::find_path(container, "lifecycle.preStop")) {
    put("preStopHandler", api::to_json(*hook));
  }
  if (const json::value* ports = api::find(container, "ports");
      ports && ports->is_array() && !ports->get_array().empty()) {
    put("ports", api::to_json(*ports));
  }
}

std::string grace_text(const model::Pod& pod) {
  return fmt::to_string(pod.spec.termination_grace_period_seconds.value_or(kDefaultGraceSeconds));
}

} // namespace

runtime::SandboxConfig make_sandbox_config(const model::Pod& pod, std::uint32_t attempt) {
  runtime::SandboxConfig config{.name = pod.meta.name,
                                .ns = pod.meta.ns,
                                .uid = pod.meta.uid,
                                .attempt = attempt,
                                .host_network = pod.spec.host_network,
                                .labels = pod_labels(pod),
                                .annotations = pod.meta.annotations};
  config.annotations[std::string(kGraceAnnotation)] = grace_text(pod);
  return config;
}

runtime::ContainerConfig make_container_config(const api::Object& pod, const model::Pod& view,
                                               const ContainerPlan& plan) {
  runtime::ContainerConfig config{.name = plan.container->name,
                                  .attempt = plan.attempt,
                                  .image = plan.container->image,
                                  .command = plan.container->command,
                                  .args = plan.container->args};
  config.envs.assign(plan.edits.envs.begin(), plan.edits.envs.end());
  if (plan.gpu_machine == ContainerPlan::GpuMachine::Yes &&
      !plan.edits.envs.contains(std::string(kVisibleDevices))) {
    config.envs.emplace_back(kVisibleDevices, "void");
  }
  const bool decided = plan.gpu_machine == ContainerPlan::GpuMachine::Yes ||
                       plan.edits.envs.contains(std::string(kVisibleDevices));
  const std::string_view list = plan.role == Role::App ? "spec.containers" : "spec.initContainers";
  if (const json::value* spec = named(pod.json(), list, plan.container->name)) {
    for (auto& [name, value] :
         plan.contents ? Environment(plan.contents->env)
                       : container_env(pod.json(), *spec, {plan.pod_ip, plan.host_ip})) {
      if (!decided || name != kVisibleDevices) {
        config.envs.emplace_back(std::move(name), std::move(value));
      }
    }
    config.mounts =
        plan.contents ? plan.contents->mounts : volume_mounts(pod.json(), *spec, view.meta.uid);
    if (plan.contents) {
      apply_contents(*plan.contents, *spec, config);
      annotate(*spec, config.annotations);
    }
  }
  for (std::vector<std::string>* words : {&config.command, &config.args}) {
    for (std::string& word : *words) {
      word = expand_references(word, config.envs);
    }
  }
  for (const deviceplugin::Mount& mount : plan.edits.mounts) {
    config.mounts.push_back({mount.container_path, mount.host_path, mount.read_only});
  }
  for (const deviceplugin::DeviceSpec& device : plan.edits.devices) {
    config.devices.push_back({device.container_path, device.host_path, device.permissions});
  }
  config.cdi_devices = plan.edits.cdi_devices;
  config.cpuset_cpus = plan.cpuset_cpus;
  config.cpuset_mems = plan.cpuset_mems;
  config.labels = pod_labels(view);
  config.labels[std::string(runtime::kContainerNameLabel)] = plan.container->name;
  config.annotations.insert(plan.edits.annotations.begin(), plan.edits.annotations.end());
  config.annotations[std::string(runtime::kRestartCountAnnotation)] = fmt::to_string(plan.attempt);
  config.annotations[std::string(runtime::kContainerRoleAnnotation)] = to_string(plan.role);
  config.annotations[std::string(kGraceAnnotation)] = grace_text(view);
  config.annotations[std::string(kRestartDelayAnnotation)] =
      fmt::to_string(plan.restart_delay.count_seconds());
  if (!plan.devices.empty()) {
    config.annotations[std::string(kDevicesAnnotation)] = format_devices(plan.devices);
  }
  if (plan.part) {
    config.annotations[std::string(kGpuPartAnnotation)] = format_parts(*plan.part);
  }
  if (!plan.cpus_annotation.empty()) {
    // Who has CPUs of its own is not throttled on them.
    config.resources.cpu_quota_us = config.resources.cpu_quota_us > 0 ? -1 : 0;
    config.annotations[std::string(kCpusAnnotation)] = plan.cpus_annotation;
  }
  if (!plan.memory_annotation.empty()) {
    config.annotations[std::string(kMemoryAnnotation)] = plan.memory_annotation;
  }
  return config;
}

std::string format_devices(const std::map<std::string, std::vector<std::string>>& devices) {
  std::string text;
  for (const auto& [resource, ids] : devices) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", resource, fmt::join(ids, ","));
  }
  return text;
}

std::map<std::string, std::vector<std::string>> parse_devices(std::string_view text) {
  std::map<std::string, std::vector<std::string>> devices;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) {
      continue;
    }
    std::vector<std::string>& ids = devices[std::string(entry.substr(0, equals))];
    std::string_view rest = entry.substr(equals + 1);
    while (!rest.empty()) {
      const std::string_view id = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), id.size() + 1));
      ids.emplace_back(id);
    }
  }
  return devices;
}

} // namespace berth::node
