#include "berth/node/agent.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "berth/base/log.h"
#include "berth/base/rng.h"
#include "berth/client/events.h"
#include "berth/client/informer.h"
#include "berth/model/pod.h"
#include "berth/node/admissions.h"
#include "berth/node/adopt_found.h"
#include "berth/node/contents/contents.h"
#include "berth/node/device_manager.h"
#include "berth/node/gpu_devices.h"
#include "berth/node/gpu_health.h"
#include "berth/node/node_reporter.h"
#include "berth/node/node_status.h"
#include "berth/node/node_supply.h"
#include "berth/node/orphan.h"
#include "berth/node/plugin_endpoints.h"
#include "berth/node/shared_cpus.h"

namespace berth::node {
namespace {

using client::EventType;

constexpr std::string_view kLog = "agent";
constexpr Duration kListenAgain = Duration::seconds(10);

std::string address_of(const api::json::value& node, std::string_view type) {
  const api::json::value* addresses = api::find_path(node, "status.addresses");
  if (addresses && addresses->is_array()) {
    for (const api::json::value& address : addresses->get_array()) {
      if (api::string_at(address, "type") == type) {
        return std::string(api::string_at(address, "address"));
      }
    }
  }
  return "";
}

} // namespace

struct Agent::State : std::enable_shared_from_this<State> {
  AgentPlace place;
  AgentOptions options;
  api::json::value base;
  std::string name;
  std::string host_ip;
  std::shared_ptr<const NodeAmounts> amounts; ///< of a real machine
  client::EventRecorder events;
  GpuDevices gpus;
  DeviceManager devices;
  std::shared_ptr<SharedCpus> shared_cpus; ///< where CPUs are given away
  GpuHealth gpu_health;
  NodeSupply supply;
  DiscoveredLabels labels;
  std::unique_ptr<inventory::Subscription> cuts; ///< of GPUs
  std::unique_ptr<client::StandingLease> lease;
  std::unique_ptr<runtime::EventStream> stream;
  std::unique_ptr<deviceplugin::KubeletSocket::Handle> listening;
  std::unique_ptr<NodeReporter> reporter;
  std::unique_ptr<client::Informer> pods;
  std::map<std::string, PodRecord>
      found; ///< in the runtime, by pod uid, not yet matched with the API
  PodWorkers workers;
  Admissions admissions;
  std::set<std::string> orphans; ///< uids that are being ended
  bool sources_ready = false;    ///< every pod of this node has been seen
  bool consider_posted = false;
  Timer status_wait;
  Timer list_again;
  Timer listen_again;

  State(AgentPlace at, AgentOptions with)
      : place(at), options(std::move(with)),
        base(make_base_node(options.node_document, options.labels, options.taints,
                            options.plugin_resources)),
        name(api::string_at(base, "metadata.name")), host_ip(address_of(base, "InternalIP")),
        events(*at.client, *at.loop, Rng(options.seed), "kubelet", name), gpus(at.inventory),
        devices(*at.loop, *at.checkpoint, device_options()),
        gpu_health(at.inventory, devices, gpus, events),
        supply(
            {.inventory = at.inventory, .devices = &devices, .gpus = &gpus, .health = &gpu_health},
            base,
            {.plugin_resources = options.plugin_resources,
             .hami = options.hami,
             .replica_limit = options.replica_limit,
             .startup_taint = options.startup_taint}),
        labels(options.discover, options.given_labels),
        admissions({.loop = at.loop,
                    .devices = &devices,
                    .supply = &supply,
                    .workers = &workers,
                    .node = [this]() -> const api::Object& { return node(); },
                    .on_turn = [this] { consider_later(); },
                    .on_answer = [this](bool granted) { on_answer(granted); }},
                   {.node_name = name,
                    .patience = options.patience,
                    .scope = options.numa.alignment.scope,
                    .real_machine = at.contents != nullptr,
                    .unsafe_sysctls = options.unsafe_sysctls}),
        status_wait(*at.loop), list_again(*at.loop), listen_again(*at.loop) {
    if (place.contents) {
      amounts = std::make_shared<NodeAmounts>(
          NodeAmounts{node_resources(base, "allocatable"), node_resources(base, "capacity")});
    }
  }

  ~State() {
    // Workers and what calls them go before what they stand on.
    cuts.reset();
    pods.reset();
    reporter.reset();
    stream.reset();
    listening.reset();
    shared_cpus.reset();
    workers.clear();
  }

  DeviceManagerOptions device_options();
  void begin();
  void on_listing(Result<runtime::Listing> listing);
  void listen_for_plugins();
  void follow_cuts();
  void on_pod(const api::Object& old, const api::Object& now);
  void add_worker(const api::Object& pod);
  void on_all_pods_seen();
  void end_unknown(const std::string& uid, const PodRecord& record);
  void on_node(const api::Object& stored);
  void on_devices();
  void reconsider();
  void follow_cpus();
  void consider_later();
  void consider();
  void on_answer(bool granted);
  HolderState holder_state(std::string_view uid) const;
  bool is_over(std::string_view ns, std::string_view pod_name) const;
  /// The Node as the API has it; empty before it is known.
  const api::Object& node() const {
    static const api::Object kNone;
    return reporter ? reporter->node() : kNone;
  }
};

DeviceManagerOptions Agent::State::device_options() {
  return {.boot_id = place.runtime->boot_id(),
          .startup_wait = options.device_wait,
          .patience = options.patience,
          .numa = options.numa,
          .needs_plugin =
              [this](std::string_view resource) { return supply.needs_plugin(resource, node()); },
          .gpu_of_index = [this](int index) { return gpus.uuid_of(index); },
          .index_of_gpu = [this](const std::string& id) { return gpus.gpu_of(id); },
          .shareable = [this] { return supply.shareable(node()); },
          .vgpus = [this] { return supply.vgpus(); },
          .holder_state = [this](std::string_view uid) { return holder_state(uid); },
          .on_change = [this] { on_devices(); }};
}

void Agent::State::begin() {
  if (devices.numa().cpus().active() && !shared_cpus) {
    shared_cpus =
        std::make_shared<SharedCpus>(*place.loop, *place.runtime, [this] { follow_cpus(); });
  }
  stream = place.runtime->events([this](const runtime::ContainerEvent& event) {
    if (const auto worker = workers.find(event.status.pod_uid); worker != workers.end()) {
      worker->second->on_event(event);
      if (event.type == runtime::ContainerEvent::Type::Started) {
        follow_cpus();
      }
    } else if (const auto record = found.find(event.status.pod_uid); record != found.end()) {
      apply_event(record->second, event);
    }
  });
  place.runtime->list([weak = weak_from_this()](Result<runtime::Listing> listing) {
    if (const auto state = weak.lock()) {
      state->on_listing(std::move(listing));
    }
  });
}

// What runs here is known; now the plugins, the node's own object and its pods can be.
void Agent::State::on_listing(Result<runtime::Listing> listing) {
  if (!listing) {
    log(LogLevel::Warn, kLog,
        fmt::format("{}: cannot list containers: {}", name, listing.error().message));
    list_again.set(Duration::seconds(1), [this] { begin(); });
    return;
  }
  for (runtime::SandboxStatus& sandbox : listing->sandboxes) {
    std::string id = sandbox.id;
    found[sandbox.uid].sandboxes.emplace(std::move(id), std::move(sandbox));
  }
  for (runtime::ContainerStatus& container : listing->containers) {
    std::string id = container.id;
    found[container.pod_uid].containers.emplace(std::move(id), std::move(container));
  }
  adopt_found(found, devices);
  listen_for_plugins();
  lease = place.client->hold_lease({.name = name, .holder = name});
  reporter = std::make_unique<NodeReporter>(
      *place.loop, *place.client, base,
      [this] {
        NodeFacts facts = supply.facts(node(), place.loop->now(), [this](auto ns, auto pod_name) {
          return is_over(ns, pod_name);
        });
        facts.labels = labels.changes(node() ? node().meta().labels : api::Labels());
        return facts;
      },
      [this](const api::Object& node) { on_node(node); });
  follow_cuts();
  // Plugins that come back at once come back before the node says what it has.
  const bool expects_plugin =
      !devices.accounting().empty() || (place.inventory && !place.inventory->gpus().empty());
  status_wait.set(expects_plugin ? options.status_wait : Duration(), [this] { reporter->open(); });
  pods = std::make_unique<client::Informer>(
      *place.client, *place.loop, client::ListOptions{.kind = client::kPods, .node = name},
      [this](const api::Object& old, const api::Object& now) { on_pod(old, now); });
  pods->on_sync([this] { on_all_pods_seen(); });
}

// What was found before is in the Node, or in the one that is registered now.
void Agent::State::follow_cuts() {
  if (!place.inventory || !options.discover) {
    return;
  }
  labels.look_again();
  cuts = place.inventory->subscribe([this](const inventory::HealthEvent& event) {
    if (event.kind == inventory::HealthEvent::Kind::Mig) {
      labels.look_again();
      reporter->poke();
    }
  });
}

// Pods without devices run on a node whose plugins cannot register.
void Agent::State::listen_for_plugins() {
  auto handle = place.socket->listen(devices);
  if (handle) {
    listening = *std::move(handle);
    return;
  }
  log(LogLevel::Error, kLog,
      fmt::format("{}: device plugins cannot register: {}", name, to_string(handle.error())));
  listen_again.set(kListenAgain, [this] { listen_for_plugins(); });
}

void Agent::State::on_pod(const api::Object& old, const api::Object& now) {
  if (!now) {
    if (const auto worker = workers.find(old.meta().uid); worker != workers.end()) {
      worker->second->gone();
    }
    return;
  }
  if (const auto worker = workers.find(now.meta().uid); worker != workers.end()) {
    worker->second->update(now);
    return;
  }
  add_worker(now);
}

void Agent::State::add_worker(const api::Object& pod) {
  if (const auto view = model::pod_view(pod); !view) {
    log(LogLevel::Error, kLog,
        fmt::format("pod {}: {}", pod.key().to_string(), to_string(view.error())));
    events.record(pod, EventType::Warning, "FailedValidation",
                  fmt::format("Error validating pod: {}", to_string(view.error())));
    return;
  }
  const std::string& uid = pod.meta().uid;
  const bool has_gpus = place.inventory && !place.inventory->gpus().empty();
  auto worker = PodWorker::make(WorkerPlace{.loop = place.loop,
                                            .client = place.client,
                                            .runtime = place.runtime,
                                            .devices = &devices,
                                            .events = &events,
                                            .host_ip = host_ip,
                                            .device_wait = options.device_wait,
                                            .has_gpus = has_gpus,
                                            .tells_hami = options.hami.has_value(),
                                            .contents = place.contents,
                                            .amounts = amounts,
                                            .on_release = [this] { reconsider(); }},
                                pod);
  if (const auto record = found.find(uid); record != found.end()) {
    worker->restore(std::move(record->second));
    found.erase(record);
  }
  workers.emplace(uid, std::move(worker));
  consider_later();
}

// Pods that run here and that the API does not have were deleted meanwhile.
void Agent::State::on_all_pods_seen() {
  sources_ready = true;
  for (const auto& [uid, record] : found) {
    end_unknown(uid, record);
  }
  found.clear();
  if (place.contents) {
    std::set<std::string> known = orphans;
    for (const auto& [uid, worker] : workers) {
      known.insert(uid);
    }
    place.contents->remove_unknown(std::move(known));
  }
  devices.forget_gone();
  follow_cpus();
  consider_later();
}

void Agent::State::end_unknown(const std::string& uid, const PodRecord& record) {
  orphans.insert(uid);
  end_orphan(*place.runtime, record, weak_from_this(), [this, uid] {
    orphans.erase(uid);
    devices.release(uid);
    if (place.contents) {
      place.contents->remove_pod(uid, [](const Result<void>&) {});
    }
    reconsider();
  });
}

// Of a resource that an agent before this one had from a plugin nothing is there until the plugin
// is back, also where no checkpoint tells of it; and what the Node names no more is over.
void Agent::State::on_node(const api::Object& stored) {
  for (const std::string& resource : supply.given_by_plugins(stored)) {
    devices.expect(resource);
  }
  for (const std::string& resource : devices.departed()) {
    if (!node_resources(stored.json(), "capacity").contains(resource) &&
        !node_resources(stored.json(), "allocatable").contains(resource)) {
      devices.forget_departed(resource);
    }
  }
  gpu_health.tell(stored);
}

void Agent::State::on_devices() {
  for (const auto& [uid, worker] : workers) {
    worker->devices_changed();
  }
  if (reporter) {
    if (devices.complete() && !devices.accounting().empty()) {
      status_wait.cancel();
      reporter->open();
    }
    reporter->poke();
    gpu_health.tell(reporter->node());
  }
  follow_cpus();
  reconsider();
}

// Who gets CPUs of its own takes them from what all others run on, and gives them back to it.
void Agent::State::follow_cpus() {
  if (!shared_cpus || !sources_ready) {
    return;
  }
  std::map<std::string, std::string> running;
  for (const auto& [uid, worker] : workers) {
    for (const auto& [id, container] : worker->record().containers) {
      if (container.state == runtime::ContainerState::Running) {
        running.emplace(id, devices.numa().cpuset_cpus(uid, container.name));
      }
    }
  }
  shared_cpus->follow(running);
}

// Something has changed for pods that wait.
void Agent::State::reconsider() {
  admissions.look_at_all();
  consider_later();
}

void Agent::State::consider_later() {
  if (consider_posted) {
    return;
  }
  consider_posted = true;
  place.loop->post([weak = weak_from_this()] {
    if (const auto state = weak.lock()) {
      state->consider_posted = false;
      state->consider();
    }
  });
}

// Forgets what is over, and admits what waits.
void Agent::State::consider() {
  std::erase_if(workers, [](const auto& each) { return each.second->removed(); });
  if (sources_ready) {
    admissions.consider();
  }
}

void Agent::State::on_answer(bool granted) {
  if (options.hami) { // the node may be locked for this pod
    place.loop->post([weak = weak_from_this()] {
      if (const auto state = weak.lock()) {
        state->reporter->poke();
      }
    });
  }
  if (granted) {
    follow_cpus();
  }
}

HolderState Agent::State::holder_state(std::string_view uid) const {
  const std::string key(uid);
  if (const auto worker = workers.find(key); worker != workers.end()) {
    return worker->second->finished() ? HolderState::Gone
           : worker->second->dying()  ? HolderState::Dying
                                      : HolderState::Live;
  }
  if (orphans.contains(key)) {
    return HolderState::Dying;
  }
  return sources_ready ? HolderState::Gone : HolderState::Live;
}

// HAMi's scheduler binds the next pod of the node once this one has its vGPUs, or will have none.
bool Agent::State::is_over(std::string_view ns, std::string_view pod_name) const {
  return std::ranges::any_of(workers, [&](const auto& each) {
    const PodWorker& worker = *each.second;
    return worker.pod()->meta.ns == ns && worker.pod()->meta.name == pod_name &&
           !worker.wants_admission();
  });
}

Agent::Agent(AgentPlace place, AgentOptions options)
    : state_(std::make_shared<State>(place, std::move(options))) {
  state_->begin();
}

Agent::~Agent() {
  state_->status_wait.cancel();
  state_->list_again.cancel();
  state_->listen_again.cancel();
}

bool Agent::settled() const {
  const State& state = *state_;
  const bool started = state.sources_ready && state.reporter && state.reporter->clean();
  const bool still = !state.shared_cpus || !state.shared_cpus->busy();
  return started && still && !state.consider_posted && !state.admissions.under_way() &&
         state.orphans.empty() && std::ranges::all_of(state.workers, [](const auto& each) {
           return each.second->settled();
         });
}

std::vector<std::string> Agent::in_motion() const {
  std::vector<std::string> lines;
  if (!state_->sources_ready) {
    lines.emplace_back("agent: its pods are not listed yet");
  }
  if (!state_->reporter || !state_->reporter->clean()) {
    lines.emplace_back("agent: the node's status is not written");
  }
  if (state_->consider_posted || state_->admissions.under_way() || !state_->orphans.empty()) {
    lines.push_back(fmt::format("agent: {} pods nobody knows are being ended, admission {}",
                                state_->orphans.size(),
                                state_->admissions.under_way() ? "goes on" : "waits"));
  }
  if (state_->shared_cpus && state_->shared_cpus->busy()) {
    lines.emplace_back("agent: containers are being moved to other CPUs");
  }
  for (const auto& [uid, worker] : state_->workers) {
    if (!worker->settled()) {
      lines.push_back(worker->describe());
    }
  }
  return lines;
}

bool Agent::repeats(std::string_view pod_uid) const {
  const auto it = state_->workers.find(std::string(pod_uid));
  return it != state_->workers.end() && it->second->repeating();
}

deviceplugin::Registration& Agent::plugin_registration() {
  return state_->devices;
}

PodResourcesReport Agent::pod_resources() const {
  PodResourcesReport report{.pods = {},
                            .devices = allocatable_devices(state_->devices.plugins()),
                            .cpu_ids = allocatable_cpus(numa()),
                            .memory = allocatable_memory(numa())};
  for (const auto& [uid, worker] : state_->workers) {
    if (!worker->finished()) {
      report.pods.push_back(node::pod_resources(*worker->pod(), state_->devices.ledger(), numa()));
    }
  }
  std::ranges::sort(report.pods, {},
                    [](const PodResources& pod) { return std::tie(pod.ns, pod.name); });
  return report;
}

const api::Object* Agent::find_pod(const api::Key& key) const {
  return state_->pods == nullptr ? nullptr : state_->pods->find(key);
}

const DeviceLedger& Agent::devices() const {
  return state_->devices.ledger();
}

std::optional<Agent::ContainerOwner> Agent::owner_of(std::string_view container_id) const {
  const std::string id(container_id);
  for (const auto& [uid, worker] : state_->workers) {
    const auto& containers = worker->record().containers;
    if (const auto found = containers.find(id); found != containers.end()) {
      return ContainerOwner{.pod_uid = uid, .container = found->second.name};
    }
  }
  return std::nullopt;
}

const AgentCounts& Agent::counts() const {
  return std::as_const(state_->devices).counts();
}

const topology::NumaBook& Agent::numa() const {
  return state_->devices.numa();
}

} // namespace berth::node
