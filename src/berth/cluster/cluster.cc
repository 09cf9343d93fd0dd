#include "berth/cluster/cluster.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "berth/base/assert.h"
#include "berth/base/log.h"
#include "berth/client/local_client.h"
#include "berth/cluster/fleet.h"
#include "berth/controllers/controllers.h"
#include "berth/scheduler/scheduler.h"
#include "berth/store/memory_store.h"
#include "berth/store/registry.h"

namespace berth::cluster {
namespace {

/// Position of a kind in the order in which a cluster wants objects: known kinds as listed, then
/// everything else.
std::size_t apply_rank(const api::Object& object) {
  const auto kinds = api::known_kinds();
  const auto it = std::ranges::find_if(kinds, [&](const api::KindInfo& info) {
    return info.group == object.gvk().group && info.kind == object.gvk().kind;
  });
  return static_cast<std::size_t>(it - kinds.begin());
}

bool is_node(const api::Object& object) {
  return object.gvk().group.empty() && object.gvk().kind == "Node";
}

scheduler::SchedulerOptions scheduler_options(const ClusterOptions& options,
                                              const hardware::Catalogue& catalogue) {
  scheduler::SchedulerOptions out =
      options.scheduler != nullptr
          ? *options.scheduler
          : scheduler::SchedulerOptions{
                .profiles = {scheduler::berth_profile(to_string(options.gpu_policy))}, .queue = {}};
  out.catalogue = catalogue;
  for (const std::string& text : options.explain) {
    auto wanted = explain::Wanted::parse(text);
    BERTH_ASSERT(wanted.has_value(), to_string(wanted.error()));
    out.explain.push_back(*std::move(wanted));
  }
  return out;
}

/// Where objects are, when the cluster has them itself.
struct OwnApi {
  OwnApi(Loop& loop, Rng& rng, const ClusterOptions& options)
      : store(options.store != nullptr ? options.store : &own_store),
        registry(*store, rng.fork(1), options.registry), client(registry, loop) {
    if (const auto made = store::bootstrap(registry, loop.now()); !made) {
      log(LogLevel::Error, "cluster", to_string(made.error())); // a store that does not answer
    }
  }

  store::MemoryStore own_store;
  store::Store* store;
  store::Registry registry;
  client::LocalClient client;
};

} // namespace

struct Cluster::State {
  State(Loop& on_loop, ClusterSpec given, const ClusterOptions& options)
      : loop(on_loop), spec(std::move(given)), rng(options.seed),
        own(options.api == nullptr ? std::make_unique<OwnApi>(loop, rng, options) : nullptr),
        api(own ? own->client : *options.api),
        control_line(api, loop, rng.fork(5), options.line_faults),
        scheduler_line(api, loop, rng.fork(6), options.line_faults),
        fleet(loop, api, rng.fork(2), options, spec.catalogue) {
    controllers::Controllers::Options control;
    control.root_ca = options.root_ca;
    controllers =
        std::make_unique<controllers::Controllers>(control_line, loop, rng.fork(3), control);
    auto started = scheduler::Scheduler::start(scheduler_line, loop, rng.fork(4),
                                               scheduler_options(options, spec.catalogue));
    BERTH_ASSERT(started.has_value(), to_string(started.error()));
    scheduler = *std::move(started);
    for (const NodeGroup& group : spec.groups) {
      fleet.add(group, spec.node_labels);
    }
    for (const api::Manifest& node : spec.nodes) {
      fleet.add(node.object);
    }
    for (const Fault& fault : spec.faults) {
      due_faults.insert(loop.after(fault.at, [this, fault] {
        fleet.inject(fault);
        ++faults_done;
      }));
    }
  }

  ~State() {
    for (const TimerId id : due_faults) {
      loop.cancel(id);
    }
  }

  Loop& loop;
  ClusterSpec spec;
  Rng rng;
  std::unique_ptr<OwnApi> own; ///< null: another has it
  client::Client& api;
  client::FaultyClient control_line;
  client::FaultyClient scheduler_line;
  Fleet fleet;
  std::unique_ptr<controllers::Controllers> controllers;
  std::unique_ptr<scheduler::Scheduler> scheduler;
  std::set<TimerId> due_faults;
  std::size_t faults_done = 0;
};

Cluster::Cluster(Loop& loop, ClusterSpec spec, ClusterOptions options)
    : state_(std::make_unique<State>(loop, std::move(spec), options)) {}

Cluster::~Cluster() = default;

client::Client& Cluster::client() {
  return state_->own->client;
}

void Cluster::apply(std::vector<api::Manifest> manifests,
                    std::function<void(std::vector<Applied>)> done) {
  struct Batch {
    std::vector<std::optional<Applied>> answers;
    std::size_t open = 0;
    std::function<void(std::vector<Applied>)> done;
  };
  auto batch = std::make_shared<Batch>();
  batch->answers.resize(manifests.size());
  batch->open = manifests.size();
  batch->done = std::move(done);
  const auto answer = [batch](std::size_t i, Applied applied) {
    batch->answers[i] = std::move(applied);
    if (--batch->open == 0) {
      std::vector<Applied> all;
      for (auto& one : batch->answers) {
        all.push_back(*std::move(one));
      }
      batch->done(std::move(all));
    }
  };
  std::vector<std::size_t> order(manifests.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return apply_rank(manifests[i].object); });
  if (manifests.empty()) {
    state_->loop.post([batch] { batch->done({}); });
  }
  for (const std::size_t i : order) {
    const api::Manifest& manifest = manifests[i];
    if (is_node(manifest.object)) {
      state_->loop.post([this, i, manifest, answer] {
        answer(i, Applied{.manifest = manifest, .result = add_node(manifest.object)});
      });
      continue;
    }
    state_->own->client.create(manifest.object, [i, manifest, answer](Result<api::Object> result) {
      answer(i, Applied{.manifest = manifest, .result = std::move(result)});
    });
  }
}

/// A Node object becomes a machine, whose agent registers it.
Result<api::Object> Cluster::add_node(const api::Object& object) {
  if (state_->fleet.has(object.meta().name)) {
    return fail(Code::AlreadyExists,
                fmt::format("nodes \"{}\" already exists", object.meta().name));
  }
  BERTH_CHECK(model::node_view(object));
  state_->fleet.add(object);
  return object;
}

void Cluster::inject(const Fault& fault) {
  state_->fleet.inject(fault);
}

bool Cluster::settled() const {
  return state_->faults_done == state_->spec.faults.size() && state_->scheduler->synced() &&
         state_->scheduler->idle() && state_->controllers->settled() && state_->fleet.settled();
}

std::vector<std::string> Cluster::unsettled() const {
  std::vector<std::string> who = state_->fleet.in_motion();
  if (state_->faults_done < state_->spec.faults.size()) {
    who.push_back(fmt::format("{} scripted faults are due",
                              state_->spec.faults.size() - state_->faults_done));
  }
  if (!state_->scheduler->synced() || !state_->scheduler->idle()) {
    const auto depth = state_->scheduler->depth();
    who.push_back(fmt::format("scheduler: {} pods active, {} in backoff, {} in flight",
                              depth.active, depth.backoff, depth.in_flight));
  }
  if (!state_->controllers->settled()) {
    who.emplace_back("controllers: work is queued or due");
  }
  return who;
}

std::vector<runtime::ContainerFacts> Cluster::container_facts(const api::Key& pod) const {
  const auto object = state_->own->registry.get(client::kPods, pod);
  if (!object) {
    return {};
  }
  const auto view = model::pod_view(*object);
  return view ? state_->fleet.facts((*view)->spec.node_name, object->meta().uid)
              : std::vector<runtime::ContainerFacts>();
}

const hardware::Platform* Cluster::platform_of(std::string_view node) const {
  return state_->fleet.platform_of(node);
}

bool Cluster::acts_on(const api::GroupVersionKind& gvk) {
  return !controllers::acts_on({.group = gvk.group, .kind = gvk.kind}).empty();
}

store::Registry& Cluster::registry() {
  return state_->own->registry;
}

std::uint64_t Cluster::changes() const {
  return state_->own->store->revision() + std::as_const(state_->fleet).changes();
}

void Cluster::set_line_faults(const client::Faults& faults) {
  state_->control_line.set_faults(faults);
  state_->scheduler_line.set_faults(faults);
  state_->fleet.set_line_faults(faults);
}

Fleet& Cluster::fleet() {
  return state_->fleet;
}
scheduler::Scheduler& Cluster::scheduler() {
  return *state_->scheduler;
}

const scheduler::Scheduler& Cluster::scheduler() const {
  return *state_->scheduler;
}

} // namespace berth::cluster
