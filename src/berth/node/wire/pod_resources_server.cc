#include "berth/node/wire/pod_resources_server.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "berth/deviceplugin/wire/socket_file.h"
#include "berth/node/wire/rate_limit.h"
#include "berth/rpc/typed.h"
#include "node/wire/pod_resources.pb.h"

namespace berth::node {
namespace {

constexpr std::int64_t kPerSecond = 100;
constexpr std::int64_t kBurst = 10;

void fill(v1::ContainerDevices& message, const ContainerDevices& devices) {
  message.set_resource_name(devices.resource);
  message.mutable_device_ids()->Assign(devices.ids.begin(), devices.ids.end());
  if (devices.numa) {
    message.mutable_topology()->add_nodes()->set_id(*devices.numa);
  }
}

void fill(v1::ContainerMemory& message, const ContainerMemory& memory) {
  message.set_memory_type(memory.type);
  message.set_size(static_cast<std::uint64_t>(std::max<std::int64_t>(memory.bytes, 0)));
  for (const std::int64_t node : memory.numa) {
    message.mutable_topology()->add_nodes()->set_id(node);
  }
}

void fill(v1::PodResources& message, const PodResources& pod) {
  message.set_name(pod.name);
  message.set_namespace_(pod.ns);
  for (const ContainerResources& container : pod.containers) {
    v1::ContainerResources& to = *message.add_containers();
    to.set_name(container.name);
    for (const ContainerDevices& devices : container.devices) {
      fill(*to.add_devices(), devices);
    }
    to.mutable_cpu_ids()->Assign(container.cpu_ids.begin(), container.cpu_ids.end());
    for (const ContainerMemory& memory : container.memory) {
      fill(*to.add_memory(), memory);
    }
  }
}

v1::ListPodResourcesResponse list(const PodResourcesReport& report,
                                  const v1::ListPodResourcesRequest&) {
  v1::ListPodResourcesResponse response;
  for (const PodResources& pod : report.pods) {
    fill(*response.add_pod_resources(), pod);
  }
  return response;
}

Result<v1::GetPodResourcesResponse> get(const PodResourcesReport& report,
                                        const v1::GetPodResourcesRequest& request) {
  const auto pod = std::ranges::find_if(report.pods, [&](const PodResources& each) {
    return each.name == request.pod_name() && each.ns == request.pod_namespace();
  });
  if (pod == report.pods.end()) {
    // A plain error of the kubelet's, without a code: UNKNOWN in gRPC.
    return fail(Code::Internal, fmt::format("pod {} in namespace {} not found", request.pod_name(),
                                            request.pod_namespace()));
  }
  v1::GetPodResourcesResponse response;
  fill(*response.mutable_pod_resources(), *pod);
  return response;
}

v1::AllocatableResourcesResponse allocatable(const PodResourcesReport& report,
                                             const v1::AllocatableResourcesRequest&) {
  v1::AllocatableResourcesResponse response;
  for (const ContainerDevices& devices : report.devices) {
    fill(*response.add_devices(), devices);
  }
  response.mutable_cpu_ids()->Assign(report.cpu_ids.begin(), report.cpu_ids.end());
  for (const ContainerMemory& memory : report.memory) {
    fill(*response.add_memory(), memory);
  }
  return response;
}

} // namespace

struct PodResourcesServer::State {
  net::AsioLoop* loop = nullptr;
  std::function<PodResourcesReport()> report;
  PodResourcesCounts counts;
  RateLimit limit{kPerSecond, kBurst};
};

namespace {

/// Counted, and refused when asked too often.
template <class Request, class Response, class State>
rpc::UnaryHandler
method(const std::shared_ptr<State>& state, PodResourcesCounts::Method PodResourcesCounts::*counted,
       std::function<Result<Response>(const PodResourcesReport&, const Request&)> answer) {
  return rpc::unary<Request, Response>(
      [state, counted, answer = std::move(answer)](
          const Request& request, const std::function<void(Result<Response>)>& respond) {
        if (!state->limit.take(state->loop->now())) {
          respond(fail(Code::TooManyRequests, "rejected by rate limit"));
          return;
        }
        ++state->counts.total;
        ++(state->counts.*counted).requests;
        auto response = answer(state->report(), request);
        (state->counts.*counted).errors += response ? 0 : 1;
        respond(std::move(response));
      });
}

} // namespace

PodResourcesServer::PodResourcesServer(std::shared_ptr<State> state,
                                       std::unique_ptr<rpc::Server> server)
    : state_(std::move(state)), server_(std::move(server)) {}

PodResourcesServer::~PodResourcesServer() = default;

Result<std::unique_ptr<PodResourcesServer>>
PodResourcesServer::listen(net::AsioLoop& loop, const std::string& socket,
                           std::function<PodResourcesReport()> report) {
  BERTH_CHECK(deviceplugin::make_directory(std::filesystem::path(socket).parent_path().string()));
  auto state = std::make_shared<State>();
  state->loop = &loop;
  state->report = std::move(report);
  rpc::Methods methods;
  methods.unary["/v1.PodResourcesLister/List"] =
      method<v1::ListPodResourcesRequest, v1::ListPodResourcesResponse>(
          state, &PodResourcesCounts::list, &list);
  methods.unary["/v1.PodResourcesLister/Get"] =
      method<v1::GetPodResourcesRequest, v1::GetPodResourcesResponse>(
          state, &PodResourcesCounts::get, &get);
  methods.unary["/v1.PodResourcesLister/GetAllocatableResources"] =
      method<v1::AllocatableResourcesRequest, v1::AllocatableResourcesResponse>(
          state, &PodResourcesCounts::get_allocatable, &allocatable);
  BERTH_TRY(auto server, rpc::Server::listen(loop, socket, std::move(methods)));
  return std::unique_ptr<PodResourcesServer>(
      new PodResourcesServer(std::move(state), std::move(server)));
}

const PodResourcesCounts& PodResourcesServer::counts() const {
  return state_->counts;
}

} // namespace berth::node
