// A container runtime that speaks CRI over a socket and runs nothing: it remembers what it was
// asked for, and fails when told to.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "berth/net/asio_loop.h"
#include "berth/rpc/server.h"
#include "berth/rpc/typed.h"
#include "runtime/cri/cri.pb.h"

namespace berth::test {

namespace cri = ::runtime::v1;

class FakeCri {
 public:
  FakeCri(net::AsioLoop& loop, std::string socket) : loop_(&loop), socket_(std::move(socket)) {
    serve();
  }

  /// The process dies and comes back; what it runs goes on.
  void stop_serving() { server_.reset(); }
  void serve() {
    auto server = rpc::Server::listen(*loop_, socket_, methods());
    if (server) {
      server_ = *std::move(server);
    }
  }
  /// A container ends by itself.
  void end(const std::string& id, int exit_code) {
    cri::ContainerStatus& status = containers.at(id).status;
    status.set_state(cri::CONTAINER_EXITED);
    status.set_exit_code(exit_code);
    status.set_reason(exit_code == 0 ? "Completed" : "Error");
    status.set_finished_at(++clock_);
  }

  struct Sandbox {
    cri::PodSandboxConfig config;
    cri::PodSandboxState state = cri::SANDBOX_READY;
    std::int64_t created_at = 0;
  };
  struct Container {
    std::string sandbox;
    cri::ContainerConfig config;
    cri::PodSandboxConfig sandbox_config;
    cri::ContainerStatus status;
    std::int64_t stop_timeout = -1; ///< as last asked
    std::vector<cri::LinuxContainerResources> updates;
  };

  std::map<std::string, Sandbox> sandboxes;
  std::map<std::string, Container> containers;
  std::map<std::string, std::string> images{{"here:1", "sha256:here"}};
  std::optional<std::int64_t> image_uid; ///< whom all images name
  std::string image_user;
  std::map<std::string, int> failures; ///< of the next calls, by method
  std::vector<std::string> calls;
  std::string version = "0.1.0";
  bool network_ready = true;
  /// If not "": a network is ready as soon as a CNI configuration is there.
  std::string cni_directory;
  std::string pod_address = "10.1.2.3"; ///< of sandboxes with a network of their own
  std::string sandbox_info;             ///< what it says of one, being verbose
  std::string info_config = "{}";
  cri::ListContainerStatsResponse stats;
  std::optional<cri::ListPodSandboxStatsResponse> sandbox_stats; ///< none: it knows no such call

 private:
  template <class Request, class Response, class F>
  void on(rpc::Methods& methods, const std::string& service, const std::string& name, F answer) {
    methods.unary[fmt::format("/runtime.v1.{}/{}", service, name)] =
        rpc::unary<Request, Response>([this, name, answer](const Request& request, auto respond) {
          calls.push_back(name);
          if (failures[name] > 0) {
            --failures[name];
            respond(fail(Code::Internal, name + " fails, as it was told to"));
            return;
          }
          respond(answer(request));
        });
  }

  bool has_network() const {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(cni_directory, none)) {
      if (entry.path().extension() == ".conflist") {
        return true;
      }
    }
    return cni_directory.empty() && network_ready;
  }
  static bool asks_for_network(const Sandbox& sandbox) {
    return sandbox.config.linux().security_context().namespace_options().network() == cri::POD;
  }
  static bool has_own_network(const Sandbox& sandbox) {
    return sandbox.state == cri::SANDBOX_READY && asks_for_network(sandbox);
  }
  /// As containerd, which asks its plugins also about what it has stopped before.
  std::optional<Error> lost_network(const Sandbox& sandbox) const {
    if (has_network() || !asks_for_network(sandbox)) {
      return std::nullopt;
    }
    return Error{.code = Code::Internal,
                 .message = "failed to destroy network for sandbox \"x\": cni plugin not "
                            "initialized"};
  }

  void serve_sandboxes(rpc::Methods& methods) {
    const std::string service = "RuntimeService";
    on<cri::RunPodSandboxRequest, cri::RunPodSandboxResponse>(
        methods, service, "RunPodSandbox",
        [this](const cri::RunPodSandboxRequest& request) -> Result<cri::RunPodSandboxResponse> {
          const auto& wanted = request.config().metadata();
          for (const auto& [id, sandbox] : sandboxes) {
            const auto& has = sandbox.config.metadata();
            if (has.uid() == wanted.uid() && has.attempt() == wanted.attempt()) {
              return fail(Code::Internal,
                          fmt::format("failed to reserve sandbox name \"x\": name \"x\" is "
                                      "reserved for \"{}\"",
                                      id));
            }
          }
          if (has_own_network({.config = request.config()}) && !has_network()) { // as containerd
            return fail(Code::Internal, "failed to setup network for sandbox \"x\": cni plugin not "
                                        "initialized");
          }
          cri::RunPodSandboxResponse response;
          response.set_pod_sandbox_id(fmt::format("sandbox-{}", ++clock_));
          sandboxes[response.pod_sandbox_id()] = {.config = request.config(), .created_at = clock_};
          return response;
        });
    on<cri::PodSandboxStatusRequest, cri::PodSandboxStatusResponse>(
        methods, service, "PodSandboxStatus",
        [this](
            const cri::PodSandboxStatusRequest& request) -> Result<cri::PodSandboxStatusResponse> {
          const auto found = sandboxes.find(request.pod_sandbox_id());
          if (found == sandboxes.end()) {
            return fail(Code::NotFound, "no such sandbox");
          }
          cri::PodSandboxStatusResponse response;
          cri::PodSandboxStatus& status = *response.mutable_status();
          status.set_id(found->first);
          *status.mutable_metadata() = found->second.config.metadata();
          *status.mutable_labels() = found->second.config.labels();
          *status.mutable_annotations() = found->second.config.annotations();
          status.set_state(found->second.state);
          status.set_created_at(found->second.created_at);
          status.mutable_network()->set_ip(has_own_network(found->second) ? pod_address : "");
          if (request.verbose()) {
            (*response.mutable_info())["info"] = sandbox_info;
          }
          return response;
        });
    on<cri::ListPodSandboxRequest, cri::ListPodSandboxResponse>(
        methods, service, "ListPodSandbox",
        [this](const cri::ListPodSandboxRequest&) -> Result<cri::ListPodSandboxResponse> {
          cri::ListPodSandboxResponse response;
          for (const auto& [id, sandbox] : sandboxes) {
            cri::PodSandbox& item = *response.add_items();
            item.set_id(id);
            *item.mutable_labels() = sandbox.config.labels();
          }
          return response;
        });
    on<cri::StopPodSandboxRequest, cri::Empty>(
        methods, service, "StopPodSandbox",
        [this](const cri::StopPodSandboxRequest& request) -> Result<cri::Empty> {
          const auto found = sandboxes.find(request.pod_sandbox_id());
          if (found == sandboxes.end()) {
            return cri::Empty();
          }
          if (auto lost = lost_network(found->second)) {
            return tl::unexpected(*std::move(lost));
          }
          found->second.state = cri::SANDBOX_NOTREADY;
          return cri::Empty();
        });
    on<cri::RemovePodSandboxRequest, cri::Empty>(
        methods, service, "RemovePodSandbox",
        [this](const cri::RemovePodSandboxRequest& request) -> Result<cri::Empty> {
          const auto found = sandboxes.find(request.pod_sandbox_id());
          if (auto lost = found == sandboxes.end() ? std::nullopt : lost_network(found->second)) {
            return tl::unexpected(*std::move(lost));
          }
          sandboxes.erase(request.pod_sandbox_id());
          std::erase_if(containers, [&](const auto& each) {
            return each.second.sandbox == request.pod_sandbox_id();
          });
          return cri::Empty();
        });
  }

  void serve_containers(rpc::Methods& methods) {
    const std::string service = "RuntimeService";
    on<cri::CreateContainerRequest, cri::CreateContainerResponse>(
        methods, service, "CreateContainer",
        [this](const cri::CreateContainerRequest& request) -> Result<cri::CreateContainerResponse> {
          cri::CreateContainerResponse response;
          response.set_container_id(fmt::format("container-{}", ++clock_));
          Container& made = containers[response.container_id()];
          made.sandbox = request.pod_sandbox_id();
          made.config = request.config();
          made.sandbox_config = request.sandbox_config();
          cri::ContainerStatus& status = made.status;
          status.set_id(response.container_id());
          *status.mutable_metadata() = request.config().metadata();
          *status.mutable_labels() = request.config().labels();
          *status.mutable_annotations() = request.config().annotations();
          status.set_created_at(clock_);
          status.set_log_path(request.sandbox_config().log_directory() + "/" +
                              request.config().log_path());
          return response;
        });
    on<cri::StartContainerRequest, cri::Empty>(
        methods, service, "StartContainer",
        [this](const cri::StartContainerRequest& request) -> Result<cri::Empty> {
          cri::ContainerStatus& status = containers.at(request.container_id()).status;
          status.set_state(cri::CONTAINER_RUNNING);
          status.set_started_at(++clock_);
          return cri::Empty();
        });
    on<cri::UpdateContainerResourcesRequest, cri::Empty>(
        methods, service, "UpdateContainerResources",
        [this](const cri::UpdateContainerResourcesRequest& request) -> Result<cri::Empty> {
          const auto found = containers.find(request.container_id());
          if (found == containers.end()) {
            return fail(Code::NotFound, "no such container");
          }
          found->second.updates.push_back(request.linux());
          return cri::Empty();
        });
    on<cri::StopContainerRequest, cri::Empty>(
        methods, service, "StopContainer",
        [this](const cri::StopContainerRequest& request) -> Result<cri::Empty> {
          const auto found = containers.find(request.container_id());
          if (found == containers.end()) {
            return fail(Code::NotFound, "no such container");
          }
          found->second.stop_timeout = request.timeout();
          end(found->first, 143);
          return cri::Empty();
        });
    on<cri::RemoveContainerRequest, cri::Empty>(
        methods, service, "RemoveContainer",
        [this](const cri::RemoveContainerRequest& request) -> Result<cri::Empty> {
          containers.erase(request.container_id());
          return cri::Empty();
        });
    on<cri::ContainerStatusRequest, cri::ContainerStatusResponse>(
        methods, service, "ContainerStatus",
        [this](const cri::ContainerStatusRequest& request) -> Result<cri::ContainerStatusResponse> {
          const auto found = containers.find(request.container_id());
          if (found == containers.end()) {
            return fail(Code::NotFound, "no such container");
          }
          cri::ContainerStatusResponse response;
          *response.mutable_status() = found->second.status;
          return response;
        });
    on<cri::ListContainersRequest, cri::ListContainersResponse>(
        methods, service, "ListContainers",
        [this](const cri::ListContainersRequest&) -> Result<cri::ListContainersResponse> {
          cri::ListContainersResponse response;
          for (const auto& [id, container] : containers) {
            cri::Container& item = *response.add_containers();
            item.set_id(id);
            item.set_pod_sandbox_id(container.sandbox);
            item.set_state(container.status.state());
            *item.mutable_labels() = container.config.labels();
          }
          return response;
        });
    on<cri::ListContainerStatsRequest, cri::ListContainerStatsResponse>(
        methods, service, "ListContainerStats",
        [this](const cri::ListContainerStatsRequest&) -> Result<cri::ListContainerStatsResponse> {
          return stats;
        });
    on<cri::ListPodSandboxStatsRequest, cri::ListPodSandboxStatsResponse>(
        methods, service, "ListPodSandboxStats",
        [this](const cri::ListPodSandboxStatsRequest&) -> Result<cri::ListPodSandboxStatsResponse> {
          if (!sandbox_stats) {
            return fail(Code::BadRequest, "method ListPodSandboxStats not implemented");
          }
          return *sandbox_stats;
        });
    on<cri::ExecSyncRequest, cri::ExecSyncResponse>(
        methods, service, "ExecSync",
        [](const cri::ExecSyncRequest& request) -> Result<cri::ExecSyncResponse> {
          cri::ExecSyncResponse response;
          for (const std::string& word : request.cmd()) {
            *response.mutable_stdout() += word + "\n";
          }
          response.set_exit_code(3);
          return response;
        });
    on<cri::ExecRequest, cri::StreamingResponse>(
        methods, service, "Exec",
        [](const cri::ExecRequest& request) -> Result<cri::StreamingResponse> {
          cri::StreamingResponse response;
          response.set_url("http://127.0.0.1:1/exec/" + request.container_id());
          return response;
        });
  }

  void serve_images(rpc::Methods& methods) {
    on<cri::ImageStatusRequest, cri::ImageStatusResponse>(
        methods, "ImageService", "ImageStatus",
        [this](const cri::ImageStatusRequest& request) -> Result<cri::ImageStatusResponse> {
          cri::ImageStatusResponse response;
          if (const auto found = images.find(request.image().image()); found != images.end()) {
            response.mutable_image()->set_id(found->second);
            response.mutable_image()->set_username(image_user);
            if (image_uid) {
              response.mutable_image()->mutable_uid()->set_value(*image_uid);
            }
          }
          return response;
        });
    on<cri::PullImageRequest, cri::PullImageResponse>(
        methods, "ImageService", "PullImage",
        [this](const cri::PullImageRequest& request) -> Result<cri::PullImageResponse> {
          cri::PullImageResponse response;
          response.set_image_ref(
              fmt::format("sha256:{} by {}", request.image().image(), request.auth().username()));
          images[request.image().image()] = response.image_ref();
          return response;
        });
  }

  rpc::Methods methods() {
    rpc::Methods methods;
    on<cri::VersionRequest, cri::VersionResponse>(
        methods, "RuntimeService", "Version",
        [this](const cri::VersionRequest&) -> Result<cri::VersionResponse> {
          cri::VersionResponse response;
          response.set_version(version);
          response.set_runtime_name("containerd");
          response.set_runtime_version("1.6.20");
          return response;
        });
    on<cri::StatusRequest, cri::StatusResponse>(
        methods, "RuntimeService", "Status",
        [this](const cri::StatusRequest&) -> Result<cri::StatusResponse> {
          cri::StatusResponse response;
          auto& ready = *response.mutable_status()->add_conditions();
          ready.set_type("RuntimeReady");
          ready.set_status(true);
          auto& network = *response.mutable_status()->add_conditions();
          network.set_type("NetworkReady");
          network.set_status(has_network());
          (*response.mutable_info())["config"] = info_config;
          return response;
        });
    serve_sandboxes(methods);
    serve_containers(methods);
    serve_images(methods);
    return methods;
  }

  net::AsioLoop* loop_;
  std::string socket_;
  std::unique_ptr<rpc::Server> server_;
  std::int64_t clock_ = 0;
};

} // namespace berth::test
