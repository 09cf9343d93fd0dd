// The containers of a real machine: a container runtime (containerd, CRI-O) behind the Container
// Runtime Interface v1 over gRPC. Source: node-plane facts of CRI v1; kubelet's kuberuntime.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/runtime/cni/loopback_files.h"
#include "berth/runtime/runtime.h"

namespace berth::net {
class AsioLoop;
}

namespace berth::runtime::cri {

struct CriOptions {
  std::string endpoint;       ///< of RuntimeService, "unix:///run/containerd/containerd.sock"
  std::string image_endpoint; ///< "": the same
  /// Whose sandboxes are ours: those of other agents, and of a kubelet, on the same runtime are
  /// neither seen nor touched.
  std::string owner;
  /// Where CDI specs are, for runtimes that do not look themselves; the last one wins.
  std::vector<std::string> cdi_directories = {"/etc/cdi", "/var/run/cdi"};
  /// What becomes of pods that do not ask for the machine's network while the runtime has none for
  /// them: they share it, are refused until there is one, or get nothing but a loopback of their
  /// own, which the runtime is given a CNI configuration for. Without one the runtime is not asked:
  /// containerd 1.6 keeps a sandbox that it could give no network, and cannot remove it either.
  enum class WithoutNetwork { Share, Refuse, Loopback } without_network = WithoutNetwork::Share;
  /// Where the runtime looks for CNI configurations and plugins; "": where it says, else where
  /// runtimes do.
  cni::Directories cni;
  std::string program = "berth"; ///< this one, whose command cni-plugin the runtime is to start
  /// After which the runtime is asked for the first time whether it has seen a configuration; then
  /// after ever twice as long, seven times in all.
  Duration network_wait = Duration::millis(50);
  /// How often the runtime is asked what it has.
  Duration relist_every = Duration::seconds(1);
};

/// What a runtime says of itself.
struct RuntimeInfo {
  std::string name;    ///< "containerd"
  std::string version; ///< "1.6.20"
  bool ready = false;
  std::string problem; ///< why it is not
  /// What it has for pods: none, that of nothing but loopback which an agent has given it, or one
  /// that others have configured.
  enum class Network { None, Loopback, Configured } network = Network::None;
  cni::Directories cni; ///< where it looks for configurations and plugins; "": it does not say
  /// Puts CDI devices into containers by itself.
  bool knows_cdi = false;
};

/// What a pod gets that does not ask for the machine's network: one that others have configured, a
/// loopback of its own and nothing else, the machine's all the same, or nothing: it waits.
enum class PodNetwork { Configured, Loopback, Machine, Nothing };

/// A runtime that is away is waited for: stopping and removing go on until they are done, other
/// calls for two minutes. The loop must outlive it.
class CriRuntime final : public Runtime {
 public:
  CriRuntime(net::AsioLoop& loop, CriOptions options);
  ~CriRuntime() override;

  /// Asks who is there. Errors: Unavailable (nobody), Invalid (it speaks another version). To be
  /// asked before containers are made.
  void probe(Done<RuntimeInfo> done);
  /// What pods get now; gives the runtime a network for them first, if that is what is wanted.
  /// Error: it has none yet, what was tried, and what to try.
  void settle_network(Done<PodNetwork> done);

  std::string boot_id() const override;
  void run_pod_sandbox(SandboxConfig config, Done<SandboxStatus> done) override;
  void stop_pod_sandbox(const std::string& id, Done<void> done) override;
  void remove_pod_sandbox(const std::string& id, Done<void> done) override;
  void create_container(const std::string& sandbox_id, ContainerConfig config,
                        Done<std::string> done) override;
  void start_container(const std::string& id, Done<void> done) override;
  void stop_container(const std::string& id, Duration grace, Done<void> done) override;
  void remove_container(const std::string& id, Done<void> done) override;
  void set_cpus(const std::string& id, const std::string& cpus, Done<void> done) override;
  void list(Done<Listing> done) override;
  void container_status(const std::string& id, Done<ContainerStatus> done) override;
  std::unique_ptr<EventStream> events(std::function<void(const ContainerEvent&)> on_event) override;
  void usages(Done<Usages> done) override;
  Images* images() override;
  void exec_sync(const std::string& id, const std::vector<std::string>& command, Duration timeout,
                 Done<ExecResult> done) override;
  void exec_url(const std::string& id, const std::vector<std::string>& command,
                const StreamWish& wish, Done<std::string> done) override;
  void attach_url(const std::string& id, const StreamWish& wish, Done<std::string> done) override;
  void port_forward_url(const std::string& sandbox_id, const std::vector<std::int32_t>& ports,
                        Done<std::string> done) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Label of every sandbox and container: the agent that made it.
inline constexpr std::string_view kOwnerLabel = "berth.dev/agent";

} // namespace berth::runtime::cri
