#include "berth/runtime/cri/cri_usages.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "berth/rpc/channel.h"
#include "berth/rpc/typed.h"
#include "berth/runtime/cri/cri_runtime.h"
#include "runtime/cri/cri.pb.h"

namespace berth::runtime::cri {
namespace {

namespace pb = ::runtime::v1;

/// Somebody waits for it.
constexpr rpc::CallOptions kNow{.timeout = Duration::seconds(10)};

std::int64_t number(const pb::UInt64Value& value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min<std::uint64_t>(value.value(), kMost));
}

/// None: the message has no such field.
template <class Message, class Has, class Get>
std::optional<std::int64_t> told(const Message& message, Has has, Get get) {
  return (message.*has)() ? std::optional(number((message.*get)())) : std::nullopt;
}

Usage usage_of(const pb::CpuUsage& cpu, const pb::MemoryUsage& memory) {
  using Cpu = pb::CpuUsage;
  using Memory = pb::MemoryUsage;
  return {.at = TimePoint::from_unix_nanos(std::max(cpu.timestamp(), memory.timestamp())),
          .cpu_nanos = told(cpu, &Cpu::has_usage_core_nano_seconds, &Cpu::usage_core_nano_seconds),
          .memory_bytes = told(memory, &Memory::has_working_set_bytes, &Memory::working_set_bytes),
          .memory_usage_bytes = told(memory, &Memory::has_usage_bytes, &Memory::usage_bytes),
          .memory_rss_bytes = told(memory, &Memory::has_rss_bytes, &Memory::rss_bytes),
          .page_faults = told(memory, &Memory::has_page_faults, &Memory::page_faults),
          .major_page_faults =
              told(memory, &Memory::has_major_page_faults, &Memory::major_page_faults)};
}

template <class Labels> std::string label(const Labels& labels, std::string_view key) {
  const auto found = labels.find(std::string(key));
  return found == labels.end() ? "" : found->second;
}

ContainerUsage container_usage(const pb::ContainerStats& stats) {
  using Layer = pb::FilesystemUsage;
  const auto& labels = stats.attributes().labels();
  return {.id = stats.attributes().id(),
          .name = stats.attributes().metadata().name(),
          .pod_uid = label(labels, kPodUidLabel),
          .pod_ns = label(labels, kPodNamespaceLabel),
          .pod_name = label(labels, kPodNameLabel),
          .usage = usage_of(stats.cpu(), stats.memory()),
          .written_bytes = told(stats.writable_layer(), &Layer::has_used_bytes, &Layer::used_bytes),
          .written_inodes =
              told(stats.writable_layer(), &Layer::has_inodes_used, &Layer::inodes_used)};
}

SandboxUsage::Interface interface_of(const pb::NetworkInterfaceUsage& one) {
  return {.name = one.name(),
          .received_bytes = number(one.rx_bytes()),
          .receive_errors = number(one.rx_errors()),
          .sent_bytes = number(one.tx_bytes()),
          .send_errors = number(one.tx_errors())};
}

SandboxUsage sandbox_usage(const pb::PodSandboxStats& stats) {
  using Process = pb::ProcessUsage;
  const pb::LinuxPodSandboxStats& linux_stats = stats.linux();
  SandboxUsage usage{.id = stats.attributes().id(),
                     .pod_uid = stats.attributes().metadata().uid(),
                     .usage = usage_of(linux_stats.cpu(), linux_stats.memory()),
                     .interfaces = {},
                     .processes = told(linux_stats.process(), &Process::has_process_count,
                                       &Process::process_count)};
  const pb::NetworkUsage& network = linux_stats.network();
  if (network.has_default_interface()) {
    usage.interfaces.push_back(interface_of(network.default_interface()));
  }
  for (const pb::NetworkInterfaceUsage& each : network.interfaces()) {
    usage.interfaces.push_back(interface_of(each));
  }
  return usage;
}

template <class Stats> bool is_of(const Stats& stats, const std::string& owner) {
  return label(stats.attributes().labels(), kOwnerLabel) == owner;
}

void ask_sandboxes(rpc::Channel& channel, const std::string& owner, Usages usages,
                   Done<Usages> done) {
  pb::ListPodSandboxStatsRequest request;
  (*request.mutable_filter()->mutable_label_selector())[std::string(kOwnerLabel)] = owner;
  rpc::call<pb::ListPodSandboxStatsResponse>(
      channel, "/runtime.v1.RuntimeService/ListPodSandboxStats", request, kNow,
      [owner, usages = std::move(usages),
       done = std::move(done)](const Result<pb::ListPodSandboxStatsResponse>& response) mutable {
        if (response) {
          for (const pb::PodSandboxStats& each : response->stats()) {
            if (is_of(each, owner)) {
              usages.sandboxes.push_back(sandbox_usage(each));
            }
          }
        }
        done(std::move(usages));
      });
}

} // namespace

void ask_usages(rpc::Channel& channel, const std::string& owner, Done<Usages> done) {
  pb::ListContainerStatsRequest request;
  (*request.mutable_filter()->mutable_label_selector())[std::string(kOwnerLabel)] = owner;
  rpc::call<pb::ListContainerStatsResponse>(
      channel, "/runtime.v1.RuntimeService/ListContainerStats", request, kNow,
      [&channel, owner,
       done = std::move(done)](const Result<pb::ListContainerStatsResponse>& response) mutable {
        if (!response) {
          done(tl::unexpected(response.error()));
          return;
        }
        Usages usages;
        for (const pb::ContainerStats& each : response->stats()) {
          if (is_of(each, owner)) {
            usages.containers.push_back(container_usage(each));
          }
        }
        ask_sandboxes(channel, owner, std::move(usages), std::move(done));
      });
}

} // namespace berth::runtime::cri
