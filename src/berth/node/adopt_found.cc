#include "berth/node/adopt_found.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "berth/node/container_config.h"
#include "berth/node/gpu_part.h"
#include "berth/node/numa_entries.h"

namespace berth::node {
namespace {

// The CPUs and memory a container was made with.
FoundNuma found_numa(const std::string& uid, const std::string& container,
                     const api::Labels& annotations) {
  FoundNuma found;
  if (const auto text = annotations.find(std::string(kCpusAnnotation)); text != annotations.end()) {
    if (auto cpus = topology::CpuSet::parse(text->second)) {
      found.cpus =
          topology::CpuAssignment{.pod_uid = uid, .container = container, .cpus = *std::move(cpus)};
    }
  }
  if (const auto text = annotations.find(std::string(kMemoryAnnotation));
      text != annotations.end()) {
    found.memory = parse_memory(text->second);
    if (found.memory) {
      found.memory->pod_uid = uid;
      found.memory->container = container;
    }
  }
  return found;
}

void adopt(const std::map<std::string, PodRecord>& found, Found found_as, DeviceManager& devices) {
  for (const auto& [uid, record] : found) {
    const bool alive = std::ranges::any_of(record.sandboxes, [](const auto& each) {
      return each.second.state == runtime::SandboxState::Ready;
    });
    if (!alive) {
      continue;
    }
    // The last attempt speaks for those before it.
    std::map<std::string, const runtime::ContainerStatus*> latest;
    for (const auto& [id, container] : record.containers) {
      const auto [it, first] = latest.emplace(container.name, &container);
      if (!first && it->second->attempt < container.attempt) {
        it->second = &container;
      }
    }
    for (const auto& [container, status] : latest) {
      const bool ended = status->state == runtime::ContainerState::Exited;
      const auto text = status->annotations.find(kDevicesAnnotation);
      if (ended != (found_as == Found::Ended)) {
        continue;
      }
      if (text != status->annotations.end()) {
        const auto part = status->annotations.find(kGpuPartAnnotation);
        devices.adopt(uid, container, parse_devices(text->second), found_as,
                      part == status->annotations.end() ? std::nullopt : parse_parts(part->second));
      }
      devices.adopt_numa(found_numa(uid, container, status->annotations), found_as);
    }
  }
}

} // namespace

void adopt_found(const std::map<std::string, PodRecord>& found, DeviceManager& devices) {
  adopt(found, Found::MayRun, devices);
  adopt(found, Found::Ended, devices);
}

} // namespace berth::node
