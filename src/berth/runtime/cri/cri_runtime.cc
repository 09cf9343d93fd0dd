#include "berth/runtime/cri/cri_runtime.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/base/log.h"
#include "berth/cdi/spec_files.h"
#include "berth/net/asio_loop.h"
#include "berth/rpc/channel.h"
#include "berth/rpc/typed.h"
#include "berth/runtime/cri/cdi_fallback.h"
#include "berth/runtime/cri/container_watch.h"
#include "berth/runtime/cri/cri_calls.h"
#include "berth/runtime/cri/cri_images.h"
#include "berth/runtime/cri/cri_messages.h"
#include "berth/runtime/cri/cri_processes.h"
#include "berth/runtime/cri/cri_usages.h"
#include "berth/runtime/cri/gathering.h"
#include "berth/runtime/cri/runtime_info.h"
#include "berth/runtime/cri/sandbox_network.h"

namespace berth::runtime::cri {
namespace {

constexpr std::string_view kLog = "cri";
constexpr Duration kTryAgain = Duration::seconds(1);

std::string read_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

} // namespace

struct CriRuntime::State : std::enable_shared_from_this<State> {
  State(net::AsioLoop& its_loop, CriOptions its_options)
      : loop(&its_loop), options(std::move(its_options)), boot(read_boot_id()),
        channel(its_loop, options.endpoint),
        image_channel(its_loop,
                      options.image_endpoint.empty() ? options.endpoint : options.image_endpoint),
        images(image_channel),
        network(std::make_shared<SandboxNetwork>(
            its_loop, options, [this](Done<RuntimeInfo> done) { probe(std::move(done)); })),
        watch(std::make_shared<ContainerWatch>(its_loop, watch_source(), options.relist_every)) {}
  ~State() { watch->close(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// Asks until it is done: what is not there needs no more stopping or removing.
  template <class Request>
  void insist(std::string_view name, const Request& request, rpc::CallOptions how,
              Done<void> done) {
    rpc::call<pb::Empty>(
        channel, runtime_method(name), request, how,
        [this, name = std::string(name), request, how,
         done = std::move(done)](const Result<pb::Empty>& response) mutable {
          if (response || response.error().code == Code::NotFound) {
            watch->look_soon();
            done({});
            return;
          }
          log(LogLevel::Warn, kLog,
              fmt::format("{} failed and is tried again: {}", name, response.error().message));
          network->stopping_failed(response.error());
          loop->after(kTryAgain, [weak = weak_from_this(), name, request, how,
                                  done = std::move(done)]() mutable {
            if (const auto self = weak.lock()) {
              self->insist(name, request, how, std::move(done));
            }
          });
        });
  }

  void probe(Done<RuntimeInfo> done);
  void make_sandbox(SandboxConfig config, Done<SandboxStatus> done);
  void sandbox_status(const std::string& id, Done<SandboxStatus> done);
  void find_namespace(SandboxStatus status, Done<SandboxStatus> done);
  void retire_network();
  void create_in(const SandboxConfig& sandbox, const std::string& sandbox_id,
                 ContainerConfig config, Done<std::string> done);
  Result<void> put_cdi_devices(ContainerConfig& config) const;
  void container_status(const std::string& id, Done<ContainerStatus> done);
  void list(Done<Listing> done);
  void list_containers(Done<std::vector<pb::Container>> done);

  WatchSource watch_source();

  net::AsioLoop* loop;
  CriOptions options;
  std::string boot;
  rpc::Channel channel;
  rpc::Channel image_channel;
  CriImages images;
  std::shared_ptr<SandboxNetwork> network;
  std::optional<RuntimeInfo> info;
  std::map<std::string, SandboxConfig> sandboxes; ///< of this process's making, by id

  std::shared_ptr<ContainerWatch> watch;
  /// Sandbox of each container: a container's own status does not say.
  std::map<std::string, std::string> sandbox_of;
};

void CriRuntime::State::make_sandbox(SandboxConfig config, Done<SandboxStatus> done) {
  pb::RunPodSandboxRequest request;
  *request.mutable_config() = to_message(config);
  rpc::call<pb::RunPodSandboxResponse>(
      channel, runtime_method("RunPodSandbox"), request, kPatient,
      [this, config = std::move(config),
       done = std::move(done)](const Result<pb::RunPodSandboxResponse>& response) mutable {
        if (!response) {
          if (info && without_network(response.error())) {
            info->network = RuntimeInfo::Network::None; // the next pod asks again
          }
          done(tl::unexpected(sort_out(response.error())));
          return;
        }
        const std::string& id = response->pod_sandbox_id();
        sandboxes[id] = std::move(config);
        sandbox_status(id, std::move(done));
      });
}

void CriRuntime::State::sandbox_status(const std::string& id, Done<SandboxStatus> done) {
  pb::PodSandboxStatusRequest request;
  request.set_pod_sandbox_id(id);
  rpc::call<pb::PodSandboxStatusResponse>(
      channel, runtime_method("PodSandboxStatus"), request, kLook,
      [this, done = std::move(done)](const Result<pb::PodSandboxStatusResponse>& response) mutable {
        if (!response) {
          done(tl::unexpected(response.error()));
          return;
        }
        SandboxStatus status = to_status(response->status());
        if (only_loopback(status) && status.state == SandboxState::Ready) {
          find_namespace(std::move(status), std::move(done));
        } else {
          done(std::move(status));
        }
      });
}

// For who is to reach the pod from inside. What a runtime says when it is verbose is more work for
// it, and may fail where the rest does not.
void CriRuntime::State::find_namespace(SandboxStatus status, Done<SandboxStatus> done) {
  pb::PodSandboxStatusRequest request;
  request.set_pod_sandbox_id(status.id);
  request.set_verbose(true);
  rpc::call<pb::PodSandboxStatusResponse>(
      channel, runtime_method("PodSandboxStatus"), request, kLook,
      [status = std::move(status),
       done = std::move(done)](const Result<pb::PodSandboxStatusResponse>& verbose) mutable {
        if (verbose) {
          status.network_namespace = network_namespace(*verbose);
        }
        done(std::move(status));
      });
}

void CriRuntime::State::retire_network() {
  network->retire([this](Done<Listing> done) { list(std::move(done)); });
}

void CriRuntime::State::create_in(const SandboxConfig& sandbox, const std::string& sandbox_id,
                                  ContainerConfig config, Done<std::string> done) {
  config.labels[std::string(kOwnerLabel)] = options.owner;
  if (const auto put = put_cdi_devices(config); !put) {
    loop->post([done = std::move(done), error = put.error()] { done(tl::unexpected(error)); });
    return;
  }
  pb::CreateContainerRequest request;
  request.set_pod_sandbox_id(sandbox_id);
  *request.mutable_config() = to_message(config, sandbox);
  *request.mutable_sandbox_config() = to_message(sandbox);
  rpc::call<pb::CreateContainerResponse>(channel, runtime_method("CreateContainer"), request,
                                         kPatient,
                                         [this, sandbox_id, done = std::move(done)](
                                             const Result<pb::CreateContainerResponse>& response) {
                                           if (!response) {
                                             done(tl::unexpected(sort_out(response.error())));
                                             return;
                                           }
                                           sandbox_of[response->container_id()] = sandbox_id;
                                           done(response->container_id());
                                         });
}

Result<void> CriRuntime::State::put_cdi_devices(ContainerConfig& config) const {
  if (config.cdi_devices.empty() || (info && info->knows_cdi)) {
    return {};
  }
  const cdi::SpecDirectories files = cdi::read_spec_directories(options.cdi_directories);
  auto applied = apply_cdi_devices(files.registry, config);
  if (!applied) {
    Error error = std::move(applied).error();
    error.causes = files.broken; // perhaps why they are not known
    return tl::unexpected(std::move(error));
  }
  if (!applied->what.empty()) {
    log(LogLevel::Info, kLog,
        fmt::format("container {} goes without what CRI cannot say: {}", config.name,
                    fmt::join(applied->what, ", ")));
  }
  return {};
}

void CriRuntime::State::container_status(const std::string& id, Done<ContainerStatus> done) {
  pb::ContainerStatusRequest request;
  request.set_container_id(id);
  rpc::call<pb::ContainerStatusResponse>(
      channel, runtime_method("ContainerStatus"), request, kLook,
      [this, id, done = std::move(done)](const Result<pb::ContainerStatusResponse>& response) {
        done(response.map([&](const pb::ContainerStatusResponse& answer) {
          const auto sandbox = sandbox_of.find(id);
          return to_status(answer.status(),
                           {.runtime = info ? info->name : "cri",
                            .sandbox_id = sandbox == sandbox_of.end() ? "" : sandbox->second});
        }));
      });
}

void CriRuntime::State::list_containers(Done<std::vector<pb::Container>> done) {
  rpc::call<pb::ListContainersResponse>(
      channel, runtime_method("ListContainers"), pb::ListContainersRequest(), kLook,
      [this, done = std::move(done)](const Result<pb::ListContainersResponse>& response) {
        done(response.map([&](const pb::ListContainersResponse& answer) {
          std::vector<pb::Container> ours;
          for (const pb::Container& each : answer.containers()) {
            const auto owner = each.labels().find(std::string(kOwnerLabel));
            if (owner != each.labels().end() && owner->second == options.owner) {
              ours.push_back(each);
              sandbox_of[each.id()] = each.pod_sandbox_id();
            }
          }
          return ours;
        }));
      });
}

void CriRuntime::State::list(Done<Listing> done) {
  const auto by_creation = [](auto& items) {
    std::ranges::stable_sort(items, {},
                             [](const auto& each) { return std::tuple(each.created_at, each.id); });
  };
  const auto add_containers = [this, by_creation, done](std::vector<SandboxStatus> found) {
    list_containers([this, by_creation, done,
                     found = std::move(found)](Result<std::vector<pb::Container>> ours) {
      if (!ours) {
        done(tl::unexpected(ours.error()));
        return;
      }
      auto gathering = std::make_shared<Gathering<ContainerStatus>>(
          ours->size(),
          [by_creation, done, found](Result<std::vector<ContainerStatus>> containers) mutable {
            if (!containers) {
              done(tl::unexpected(containers.error()));
              return;
            }
            by_creation(found);
            by_creation(*containers);
            done(Listing{std::move(found), *std::move(containers)});
          });
      if (ours->empty()) {
        gathering->finish();
      }
      for (const pb::Container& each : *ours) {
        container_status(each.id(), [gathering](Result<ContainerStatus> one) {
          gathering->put(std::move(one));
        });
      }
    });
  };
  rpc::call<pb::ListPodSandboxResponse>(
      channel, runtime_method("ListPodSandbox"), pb::ListPodSandboxRequest(), kLook,
      [this, done, add_containers](const Result<pb::ListPodSandboxResponse>& response) {
        if (!response) {
          done(tl::unexpected(response.error()));
          return;
        }
        std::vector<std::string> ids;
        for (const pb::PodSandbox& each : response->items()) {
          const auto owner = each.labels().find(std::string(kOwnerLabel));
          if (owner != each.labels().end() && owner->second == options.owner) {
            ids.push_back(each.id());
          }
        }
        auto gathering = std::make_shared<Gathering<SandboxStatus>>(
            ids.size(), [done, add_containers](Result<std::vector<SandboxStatus>> found) {
              if (found) {
                add_containers(*std::move(found));
              } else {
                done(tl::unexpected(found.error()));
              }
            });
        if (ids.empty()) {
          gathering->finish();
        }
        for (const std::string& id : ids) {
          sandbox_status(
              id, [gathering](Result<SandboxStatus> one) { gathering->put(std::move(one)); });
        }
      });
}

WatchSource CriRuntime::State::watch_source() {
  return {.look =
              [this](Done<Seen> done) {
                list_containers(
                    [done = std::move(done)](const Result<std::vector<pb::Container>>& ours) {
                      done(ours.map([](const std::vector<pb::Container>& containers) {
                        Seen seen;
                        for (const pb::Container& each : containers) {
                          seen[each.id()] = to_state(each.state());
                        }
                        return seen;
                      }));
                    });
              },
          .status = [this](const std::string& id,
                           Done<ContainerStatus> done) { container_status(id, std::move(done)); },
          .gone = [this](const std::string& id) { sandbox_of.erase(id); }};
}

// ---- the interface -----------------------------------------------------------------------------

CriRuntime::CriRuntime(net::AsioLoop& loop, CriOptions options)
    : state_(std::make_shared<State>(loop, std::move(options))) {}

CriRuntime::~CriRuntime() = default;

void CriRuntime::State::probe(Done<RuntimeInfo> done) {
  pb::VersionRequest request;
  request.set_version(std::string(kKubeletApiVersion));
  rpc::call<pb::VersionResponse>(
      channel, runtime_method("Version"), request, {.timeout = Duration::seconds(10)},
      [this, done = std::move(done)](Result<pb::VersionResponse> version) {
        if (!version) {
          done(tl::unexpected(std::move(version).error()));
          return;
        }
        pb::StatusRequest verbose;
        verbose.set_verbose(true);
        rpc::call<pb::StatusResponse>(
            channel, runtime_method("Status"), verbose, {.timeout = Duration::seconds(10)},
            [this, done, version = *version](const Result<pb::StatusResponse>& status) {
              if (!status) {
                done(tl::unexpected(status.error()));
                return;
              }
              auto found = runtime_info(version, *status);
              if (found) {
                network->complete(*found);
                info = *found;
              }
              done(std::move(found));
            });
      });
}

void CriRuntime::probe(Done<RuntimeInfo> done) {
  state_->probe(std::move(done));
}

void CriRuntime::settle_network(Done<PodNetwork> done) {
  state_->network->settle([state = state_.get(), done = std::move(done)](Result<PodNetwork> has) {
    state->retire_network();
    done(std::move(has));
  });
}

std::string CriRuntime::boot_id() const {
  return state_->boot;
}

void CriRuntime::run_pod_sandbox(SandboxConfig config, Done<SandboxStatus> done) {
  config.labels[std::string(kOwnerLabel)] = state_->options.owner;
  const bool configured = state_->info && state_->info->network == RuntimeInfo::Network::Configured;
  if (config.host_network || configured) {
    state_->make_sandbox(std::move(config), std::move(done));
    return;
  }
  // Whether pods can have a network of their own may have changed since it was last asked.
  state_->network->settle([state = state_.get(), config = std::move(config),
                           done = std::move(done)](const Result<PodNetwork>& network) mutable {
    if (!network) {
      done(tl::unexpected(network.error()));
      return;
    }
    if (*network == PodNetwork::Nothing) {
      done(fail(Code::Unavailable,
                "network is not ready: container runtime network not ready: NetworkReady=false; "
                "it has no CNI configuration"));
      return;
    }
    config.host_network = *network == PodNetwork::Machine;
    state->make_sandbox(std::move(config), std::move(done));
  });
}

void CriRuntime::stop_pod_sandbox(const std::string& id, Done<void> done) {
  pb::StopPodSandboxRequest request;
  request.set_pod_sandbox_id(id);
  state_->insist("StopPodSandbox", request, kPatient, std::move(done));
}

void CriRuntime::remove_pod_sandbox(const std::string& id, Done<void> done) {
  pb::RemovePodSandboxRequest request;
  request.set_pod_sandbox_id(id);
  state_->sandboxes.erase(id);
  state_->insist("RemovePodSandbox", request, kPatient,
                 [state = state_.get(), done = std::move(done)](const Result<void>& removed) {
                   state->retire_network();
                   done(removed);
                 });
}

void CriRuntime::create_container(const std::string& sandbox_id, ContainerConfig config,
                                  Done<std::string> done) {
  if (const auto known = state_->sandboxes.find(sandbox_id); known != state_->sandboxes.end()) {
    state_->create_in(known->second, sandbox_id, std::move(config), std::move(done));
    return;
  }
  state_->sandbox_status(
      sandbox_id, [state = state_.get(), sandbox_id, config = std::move(config),
                   done = std::move(done)](const Result<SandboxStatus>& status) mutable {
        if (!status) {
          done(tl::unexpected(status.error()));
          return;
        }
        const SandboxConfig sandbox = config_of(*status);
        state->sandboxes[sandbox_id] = sandbox;
        state->create_in(sandbox, sandbox_id, std::move(config), std::move(done));
      });
}

void CriRuntime::start_container(const std::string& id, Done<void> done) {
  pb::StartContainerRequest request;
  request.set_container_id(id);
  rpc::call<pb::Empty>(
      state_->channel, runtime_method("StartContainer"), request, kPatient,
      [state = state_.get(), done = std::move(done)](const Result<pb::Empty>& response) {
        state->watch->look_soon();
        done(response.map([](const pb::Empty&) {}).map_error(sort_out));
      });
}

void CriRuntime::stop_container(const std::string& id, Duration grace, Done<void> done) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  pb::StopContainerRequest request;
  request.set_container_id(id);
  request.set_timeout((std::max<std::int64_t>(grace.count_nanos(), 0) + kSecond - 1) / kSecond);
  rpc::CallOptions how = kPatient;
  how.timeout += Duration::seconds(request.timeout());
  state_->insist("StopContainer", request, how, std::move(done));
}

void CriRuntime::remove_container(const std::string& id, Done<void> done) {
  pb::RemoveContainerRequest request;
  request.set_container_id(id);
  state_->insist("RemoveContainer", request, kPatient, std::move(done));
}

// What is left at 0 stays as it is.
void CriRuntime::set_cpus(const std::string& id, const std::string& cpus, Done<void> done) {
  pb::UpdateContainerResourcesRequest request;
  request.set_container_id(id);
  request.mutable_linux()->set_cpuset_cpus(cpus);
  rpc::call<pb::Empty>(state_->channel, runtime_method("UpdateContainerResources"), request, kLook,
                       [done = std::move(done)](const Result<pb::Empty>& response) {
                         done(response.map([](const pb::Empty&) {}));
                       });
}

void CriRuntime::list(Done<Listing> done) {
  state_->list(std::move(done));
}

void CriRuntime::container_status(const std::string& id, Done<ContainerStatus> done) {
  state_->container_status(id, std::move(done));
}

std::unique_ptr<EventStream>
CriRuntime::events(std::function<void(const ContainerEvent&)> on_event) {
  return state_->watch->listen(std::move(on_event));
}

void CriRuntime::usages(Done<Usages> done) {
  ask_usages(state_->channel, state_->options.owner, std::move(done));
}

Images* CriRuntime::images() {
  return &state_->images;
}

void CriRuntime::exec_sync(const std::string& id, const std::vector<std::string>& command,
                           Duration timeout, Done<ExecResult> done) {
  run_in_container(state_->channel, {.id = id, .command = command}, timeout, std::move(done));
}

void CriRuntime::exec_url(const std::string& id, const std::vector<std::string>& command,
                          const StreamWish& wish, Done<std::string> done) {
  ask_exec_url(state_->channel, {.id = id, .command = command}, wish, std::move(done));
}

void CriRuntime::attach_url(const std::string& id, const StreamWish& wish, Done<std::string> done) {
  ask_attach_url(state_->channel, id, wish, std::move(done));
}

void CriRuntime::port_forward_url(const std::string& sandbox_id,
                                  const std::vector<std::int32_t>& ports, Done<std::string> done) {
  ask_port_forward_url(state_->channel, sandbox_id, ports, std::move(done));
}

} // namespace berth::runtime::cri
