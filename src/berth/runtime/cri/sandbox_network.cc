#include "berth/runtime/cri/sandbox_network.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "berth/base/log.h"
#include "berth/runtime/cri/cri_calls.h"
#include "berth/runtime/cri/cri_messages.h"

namespace berth::runtime::cri {
namespace {

using Without = CriOptions::WithoutNetwork;
using Has = RuntimeInfo::Network;

constexpr std::string_view kLog = "cri";
constexpr int kTries = 7;

/// containerd asks the plugins of its configuration as long as there is a sandbox with a network of
/// its own, also to remove one that it has stopped.
bool needs_network(const SandboxStatus& sandbox) {
  return !config_of(sandbox).host_network;
}

std::string first_of(const std::string& one, std::string_view other) {
  return one.empty() ? std::string(other) : one;
}

} // namespace

std::optional<PodNetwork> pod_network(Without without, Has has) {
  if (has == Has::Configured) {
    return PodNetwork::Configured;
  }
  switch (without) {
  case Without::Share:
    return PodNetwork::Machine;
  case Without::Refuse:
    return PodNetwork::Nothing;
  case Without::Loopback:
    break;
  }
  return has == Has::Loopback ? std::optional(PodNetwork::Loopback) : std::nullopt;
}

SandboxNetwork::SandboxNetwork(Loop& loop, const CriOptions& options,
                               std::function<void(Done<RuntimeInfo>)> ask)
    : loop_(&loop), without_(options.without_network), given_(options.cni),
      first_wait_(options.network_wait), files_(options.owner, options.program),
      ask_(std::move(ask)) {}

void SandboxNetwork::complete(RuntimeInfo& info) const {
  info.cni.conf = first_of(given_.conf, first_of(info.cni.conf, cni::kConfDirectory));
  info.cni.bin = first_of(given_.bin, first_of(info.cni.bin, cni::kBinDirectory));
  at_ = info.cni;
  if (info.network == Has::Configured && cni::loopback_in_force(info.cni)) {
    info.network = Has::Loopback;
  }
}

void SandboxNetwork::settle(Done<PodNetwork> done) {
  settle_within(kTries, std::move(done));
}

void SandboxNetwork::settle_within(int tries, Done<PodNetwork> done) {
  ask_([this, tries, done = std::move(done)](const Result<RuntimeInfo>& info) mutable {
    if (!info) {
      done(tl::unexpected(info.error()));
      return;
    }
    if (const auto network = pod_network(without_, info->network)) {
      done(*network);
      return;
    }
    if (tries == 0) {
      done(tl::unexpected(no_network_yet()));
      return;
    }
    if (const auto installed = files_.install(at_); !installed) {
      done(fail(installed.error().code,
                fmt::format("network is not ready: {}", installed.error().message)));
      return;
    }
    loop_->after(first_wait_ * (std::int64_t{1} << (kTries - tries)),
                 [weak = weak_from_this(), tries, done = std::move(done)]() mutable {
                   if (const auto self = weak.lock()) {
                     self->settle_within(tries - 1, std::move(done));
                   }
                 });
  });
}

Error SandboxNetwork::no_network_yet() const {
  const std::vector<std::string> found = cni::configurations(at_);
  const std::string ours = files_.configuration(at_);
  std::string message = fmt::format(
      "network is not ready: the container runtime has none although {} is there; ", ours);
  message += found.empty() || found.front() == ours
                 ? std::string("see its log, or name the folder that it reads with --cni-conf-dir")
                 : fmt::format("repair or remove what comes before it: {}", found.front());
  return {.code = Code::Unavailable, .message = std::move(message)};
}

void SandboxNetwork::stopping_failed(const Error& why) const {
  if (without_ != Without::Loopback || at_.conf.empty() || !without_network(why)) {
    return;
  }
  if (const auto installed = files_.install(at_); !installed) {
    log(LogLevel::Warn, kLog, installed.error().message);
  }
}

void SandboxNetwork::retire(const std::function<void(Done<Listing>)>& list) {
  if (without_ == Without::Loopback || at_.conf.empty() || !files_.installed(at_)) {
    return;
  }
  list([this](const Result<Listing>& listing) {
    if (!listing ||
        (cni::loopback_in_force(at_) && std::ranges::any_of(listing->sandboxes, needs_network))) {
      return; // the next sandbox that goes asks again
    }
    if (const auto removed = files_.remove(at_); !removed) {
      log(LogLevel::Warn, kLog,
          fmt::format("a CNI configuration that is not wanted any more stays: {}",
                      removed.error().message));
    }
  });
}

} // namespace berth::runtime::cri
