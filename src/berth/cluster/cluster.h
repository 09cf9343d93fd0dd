// A whole cluster: store, admission, controllers, scheduler, and a machine with agent and device
// plugin for each node. The same code in virtual and in real time. On one Loop it is a function of
// (spec, seed, what is applied).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/manifest.h"
#include "berth/base/loop.h"
#include "berth/base/result.h"
#include "berth/client/client.h"
#include "berth/client/faulty_client.h"
#include "berth/cluster/spec.h"
#include "berth/hardware/choose.h"
#include "berth/runtime/facts.h"
#include "berth/store/registry.h"

namespace berth::scheduler {
class Scheduler;
struct SchedulerOptions;
} // namespace berth::scheduler
namespace berth::cluster {

class Fleet;

struct ClusterOptions {
  std::uint64_t seed = 1;
  /// How long containers run that say nothing (annotation berth.dev/run-for); max() means until
  /// deleted.
  Duration default_run_for = Duration::minutes(10);
  hardware::ChoicePolicy gpu_policy = hardware::ChoicePolicy::Topology;
  /// The scheduler's profiles, which must be valid; null: Berth's own, with gpu_policy.
  std::shared_ptr<const scheduler::SchedulerOptions> scheduler = nullptr;
  /// Pods whose scheduling decisions are kept whole (explain/book.h); each must parse.
  std::vector<std::string> explain = {};
  /// Where objects are kept; must outlive the cluster. null: in memory, for as long as the cluster
  /// lives.
  store::Store* store = nullptr;
  store::Registry::Options registry = {};
  /// controllers::Controllers::Options::root_ca
  std::string root_ca = {};
  /// The API of a registry that is not the cluster's own; must outlive the cluster. null: it has
  /// one, as told above.
  client::Client* api = nullptr;
  /// How bad the lines between the API and every component are; none by default.
  client::Faults line_faults = {};
};

/// Outcome of applying one manifest.
struct Applied {
  api::Manifest manifest;
  Result<api::Object> result; ///< Invalid, Forbidden, AlreadyExists ... as the API answered
};

class Cluster {
 public:
  /// Builds and starts everything; nodes register as the loop runs. The spec must be valid (see
  /// validate).
  Cluster(Loop& loop, ClusterSpec spec, ClusterOptions options);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// The administrator's client. Precondition of this and of apply(): the registry is its own.
  client::Client& client();

  /// Creates the objects in a cluster's order (namespaces, classes and groups before workloads); an
  /// object that fails does not stop the others. `done` runs when every answer is in, results in
  /// manifest order.
  void apply(std::vector<api::Manifest> manifests, std::function<void(std::vector<Applied>)> done);

  /// Makes a fault happen now.
  void inject(const Fault& fault);

  /// Nothing is in motion and nothing will come of waiting: no pod is between states, no container
  /// has an end in sight, no scripted fault is due, and every pending pod has been tried since the
  /// last change that could help it.
  bool settled() const;
  /// Who keeps settled() false, one line each.
  std::vector<std::string> unsettled() const;

  /// What the containers of a pod see; empty if the pod has none on any machine.
  std::vector<runtime::ContainerFacts> container_facts(const api::Key& pod) const;

  /// The platform of a node; nullptr if unknown.
  const hardware::Platform* platform_of(std::string_view node) const;

  /// Whether a controller or agent here acts on objects of this kind; others are only stored.
  static bool acts_on(const api::GroupVersionKind& gvk);

  // ---- for tests and fault harnesses
  // --------------------------------------------------------------
  Fleet& fleet();
  /// Precondition: it is the cluster's own.
  store::Registry& registry();
  /// Grows with every write to the API and with every start and end of a container.
  std::uint64_t changes() const;
  void set_line_faults(const client::Faults& faults);
  const scheduler::Scheduler& scheduler() const;
  scheduler::Scheduler& scheduler();

 private:
  Result<api::Object> add_node(const api::Object& object);

  struct State;
  std::unique_ptr<State> state_;
};

} // namespace berth::cluster
