// The network of pods on a runtime that nobody has configured one for: which it is, and, where pods
// are to have nothing but a loopback of their own, the CNI configuration that the runtime needs for
// it, written when it is wanted and removed when no sandbox depends on it any more.
#pragma once

#include <functional>
#include <memory>

#include "berth/base/loop.h"
#include "berth/runtime/cni/loopback_files.h"
#include "berth/runtime/cri/cri_runtime.h"

namespace berth::runtime::cri {

/// What a pod gets by what the runtime has; nullopt: what it is to get must be made first.
std::optional<PodNetwork> pod_network(CriOptions::WithoutNetwork without, RuntimeInfo::Network has);

/// To be owned by a shared_ptr: nothing is called back once it is gone. The loop must outlive it.
class SandboxNetwork : public std::enable_shared_from_this<SandboxNetwork> {
 public:
  /// `ask` asks the runtime what it has.
  SandboxNetwork(Loop& loop, const CriOptions& options, std::function<void(Done<RuntimeInfo>)> ask);

  /// Completes what the runtime says of itself: where it looks, and whose network it has.
  void complete(RuntimeInfo& info) const;
  /// As CriRuntime::settle_network().
  void settle(Done<PodNetwork> done);
  /// A sandbox cannot be stopped while the runtime has no configuration; `why` says whether that is
  /// what it failed for. Puts one there if this agent's sandboxes depend on it.
  void stopping_failed(const Error& why) const;
  /// Takes the configuration away where it is not wanted any more and, while the runtime uses it,
  /// no sandbox of `list`'s, which gives this agent's, needs it to be removed.
  void retire(const std::function<void(Done<Listing>)>& list);

 private:
  void settle_within(int tries, Done<PodNetwork> done);
  Error no_network_yet() const;

  Loop* loop_;
  CriOptions::WithoutNetwork without_;
  cni::Directories given_;
  Duration first_wait_;
  cni::LoopbackFiles files_;
  std::function<void(Done<RuntimeInfo>)> ask_;
  mutable cni::Directories at_; ///< as last known
};

} // namespace berth::runtime::cri
