#include "berth/cli/up/simulated_nodes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "berth/model/pod.h"
#include "berth/runtime/load_model.h"
#include "berth/server/log_options.h"
#include "berth/server/streams/stream_options.h"

namespace berth::cli {
namespace {

/// What a container that is simulated has printed so far.
class Reading final : public server::LogReading {
 public:
  Reading(const runtime::SimulatedRuntime& runtime, std::string container,
          const server::LogOptions& options)
      : runtime_(&runtime), container_(std::move(container)), writer_(options),
        follows_(options.follow) {}

  std::string more() override {
    const auto printed = runtime_->log(container_);
    std::vector<server::LogLine> lines;
    for (const runtime::LogLine& line : printed.value_or(std::vector<runtime::LogLine>())) {
      lines.push_back({.at = line.at, .text = line.text});
    }
    return writer_.more(lines);
  }
  bool over() const override { return !follows_ || writer_.full() || !runtime_->runs(container_); }
  void follow(std::unique_ptr<runtime::EventStream> stream) { stream_ = std::move(stream); }

 private:
  const runtime::SimulatedRuntime* runtime_;
  std::string container_;
  server::LogWriter writer_;
  bool follows_;
  std::unique_ptr<runtime::EventStream> stream_;
};

std::string without_scheme(std::string_view id) {
  const std::size_t at = id.find("://");
  return std::string(at == std::string_view::npos ? id : id.substr(at + 3));
}

std::string label_of(const api::Labels& labels, std::string_view name) {
  const auto found = labels.find(name);
  return found == labels.end() ? "" : found->second;
}

/// What the container asks for; nothing if its pod is gone.
model::ResourceRequirements resources_of(const store::Registry& registry,
                                         const runtime::ContainerStatus& container) {
  const auto pod =
      registry.get(store::kPods, {label_of(container.labels, runtime::kPodNamespaceLabel),
                                  label_of(container.labels, runtime::kPodNameLabel)});
  const auto view = pod ? model::pod_view(*pod) : tl::unexpected(pod.error());
  if (!view || pod->meta().uid != container.pod_uid) {
    return {};
  }
  for (const auto* list : {&(*view)->spec.containers, &(*view)->spec.init_containers}) {
    const auto found = std::ranges::find(*list, container.name, &model::Container::name);
    if (found != list->end()) {
      return found->resources;
    }
  }
  return {};
}

/// How many GPUs the container has something of.
int gpus_of(const std::vector<GpuClaim>& claims, const runtime::ContainerStatus& container) {
  std::set<int> gpus;
  for (const GpuClaim& claim : claims) {
    if (claim.container == ContainerKey(container.pod_uid, container.name)) {
      gpus.insert(claim.gpu);
    }
  }
  return static_cast<int>(gpus.size());
}

} // namespace

bool SimulatedNodes::reachable(std::string_view node) const {
  const node::SimulatedMachine* machine = fleet_.find(node);
  return machine != nullptr && machine->agent_runs();
}

void SimulatedNodes::open_log(
    std::string_view node, server::LogRequest what, std::function<void()> on_more,
    std::function<void(server::Answer<std::unique_ptr<server::LogReading>>)> done) {
  node::SimulatedMachine* machine = fleet_.find(node);
  const std::string container = without_scheme(what.container_id);
  if (machine == nullptr || !machine->runtime().log(container)) {
    done(server::bad_request(
        fmt::format("unable to retrieve container logs for {}", what.container_id)));
    return;
  }
  auto reading = std::make_unique<Reading>(machine->runtime(), container, what.options);
  if (what.options.follow) {
    reading->follow(machine->runtime().follow(container, std::move(on_more)));
  }
  done(std::move(reading));
}

void SimulatedNodes::find_streams(std::string_view /*node*/, server::StreamRequest what,
                                  std::function<void(server::Answer<server::StreamPlace>)> done) {
  const bool of_pod = what.kind == server::StreamRequest::Kind::PortForward;
  done(tl::unexpected(server::Status{
      .code = 501,
      .reason = "NotImplemented",
      .message = fmt::format(
          "{} is not possible: the containers of this cluster are simulated, no process runs in "
          "them; try kubectl logs {} for what {} was given, or kubectl describe pod {}",
          server::name_of(what.kind), what.pod, of_pod ? "they" : "it", what.pod),
      .details = nullptr}));
}

std::optional<server::NodeUsage> SimulatedNodes::usage(std::string_view node) const {
  node::SimulatedMachine* machine = fleet_.find(node);
  if (machine == nullptr || !machine->agent_runs()) {
    return std::nullopt;
  }
  const TimePoint now = loop_.now();
  const runtime::Load system = runtime::system_load(node, now);
  server::NodeUsage usage{.at = runtime::measured_at(now),
                          .window = runtime::kLoadWindow,
                          .cpu_nanocores = system.cpu_nanocores,
                          .memory_bytes = system.memory_bytes,
                          .pods = {},
                          .gpus = {}};
  const std::vector<runtime::ContainerStatus> running = machine->runtime().running();
  const std::vector<GpuClaim> claims = gpu_claims(*machine, running);
  std::map<ContainerKey, runtime::Load> loads;
  for (const runtime::ContainerStatus& container : running) {
    const model::ResourceRequirements resources = resources_of(registry_, container);
    const runtime::Load load = runtime::load_of({.pod_uid = container.pod_uid,
                                                 .container = container.name,
                                                 .resources = resources,
                                                 .gpus = gpus_of(claims, container),
                                                 .started_at = container.started_at},
                                                now);
    usage.cpu_nanocores += load.cpu_nanocores;
    usage.memory_bytes += load.memory_bytes;
    loads.emplace(ContainerKey(container.pod_uid, container.name), load);
    auto pod = std::ranges::find(usage.pods, container.pod_uid, &server::PodUsage::uid);
    if (pod == usage.pods.end()) {
      pod = usage.pods.insert(usage.pods.end(),
                              server::PodUsage{.uid = container.pod_uid, .containers = {}});
    }
    pod->containers.push_back({.name = container.name,
                               .cpu_nanocores = load.cpu_nanocores,
                               .memory_bytes = load.memory_bytes});
  }
  usage.gpus = gpus_.usage(*machine, running, claims, loads, now);
  return usage;
}

} // namespace berth::cli
