#include "berth/node/container_start.h"

#include <utility>

#include "berth/node/numa_entries.h"

namespace berth::node {
namespace {

// The steps in order; kept alive by the callbacks it hands out, dead once its owner is.
class Start : public std::enable_shared_from_this<Start> {
 private:
  // Wraps a step so that it is taken only while the owner lives.
  template <class F> auto step(F next) {
    return [self = shared_from_this(), next = std::move(next)](auto&& answer) {
      if (!self->alive_.expired()) {
        next(*self, std::forward<decltype(answer)>(answer));
      }
    };
  }

 public:
  Start(DeviceManager& devices, runtime::Runtime& runtime, std::weak_ptr<void> alive,
        StartOrder order, std::function<void(StartResult)> done)
      : devices_(&devices), runtime_(&runtime), alive_(std::move(alive)), order_(std::move(order)),
        done_(std::move(done)) {}

  void prepare() {
    devices_->prepare_container(
        order_.pod, order_.container->name,
        step([](Start& self, const AllocationVerdict& verdict) { self.prepared(verdict); }));
  }

 private:
  void prepared(const AllocationVerdict& verdict) {
    switch (verdict.kind) {
    case AllocationVerdict::Kind::Granted:
      create();
      return;
    case AllocationVerdict::Kind::Rejected:
      finish(
          {.kind = StartResult::Kind::DevicesRejected, .why = {verdict.reason, verdict.message}});
      return;
    case AllocationVerdict::Kind::Wait:
      if (allocated_again_) {
        finish({.kind = StartResult::Kind::DevicesWait, .why = {"", verdict.message}});
        return;
      }
      allocate_again();
      return;
    }
  }

  // What was allocated is not there (any more): ask for it as at the beginning.
  void allocate_again() {
    allocated_again_ = true;
    devices_->allocate(order_.pod, order_.scope,
                       step([](Start& self, const AllocationVerdict& verdict) {
                         if (verdict.kind == AllocationVerdict::Kind::Granted) {
                           self.prepare();
                         } else {
                           self.prepared(verdict);
                         }
                       }));
  }

  void create() {
    if (!order_.created_id.empty()) {
      start(order_.created_id);
      return;
    }
    const std::string& uid = order_.pod->meta.uid;
    ContainerPlan plan{.container = order_.container,
                       .role = order_.role,
                       .attempt = order_.attempt,
                       .restart_delay = order_.restart_delay,
                       .edits = devices_->edits_of(uid, order_.container->name),
                       .pod_ip = order_.pod_ip.empty() ? order_.host_ip : order_.pod_ip,
                       .host_ip = order_.host_ip,
                       .gpu_machine = order_.gpu_machine,
                       .contents = order_.contents ? &*order_.contents : nullptr};
    for (const Holding* holding : devices_->ledger().of_container(uid, order_.container->name)) {
      plan.devices[holding->resource] = holding->ids();
      plan.part = holding->part ? holding->part : plan.part;
    }
    add_numa(plan);
    runtime_->create_container(order_.sandbox_id,
                               make_container_config(order_.object, *order_.pod, plan),
                               step([](Start& self, Result<std::string> id) {
                                 if (id) {
                                   self.start(*id);
                                 } else {
                                   self.fail_with("CreateContainerError", id.error());
                                 }
                               }));
  }

  void add_numa(ContainerPlan& plan) const {
    const std::string& uid = order_.pod->meta.uid;
    const std::string& name = order_.container->name;
    const topology::NumaBook& numa = devices_->numa();
    plan.cpuset_cpus = numa.cpuset_cpus(uid, name);
    plan.cpuset_mems = numa.cpuset_mems(uid, name);
    plan.cpus_annotation = numa.cpus().find(uid, name).value_or(topology::CpuSet()).to_string();
    if (const auto* memory = numa.memory().find(uid, name)) {
      plan.memory_annotation = format_memory(*memory);
    }
  }

  void start(const std::string& id) {
    // A failed start may have been one that a dead agent had asked for already: what counts is what
    // is there.
    runtime_->start_container(id, step([id](Start& self, const Result<void>& result) {
                                self.look(id, result ? Error() : result.error());
                              }));
  }

  // The event of the start may still be under way: what is reported is read.
  void look(const std::string& id, const Error& trouble) {
    runtime_->container_status(
        id, step([trouble](Start& self, Result<runtime::ContainerStatus> status) {
          if (status && status->state != runtime::ContainerState::Created) {
            self.finish({.status = *std::move(status)});
          } else {
            self.fail_with("RunContainerError", status ? trouble : status.error());
          }
        }));
  }

  void fail_with(std::string reason, const Error& error) {
    const auto kind =
        error.code == Code::AlreadyExists ? StartResult::Kind::UnderWay : StartResult::Kind::Failed;
    finish({.kind = kind, .why = {std::move(reason), error.message}});
  }

  void finish(StartResult result) { done_(std::move(result)); }

  DeviceManager* devices_;
  runtime::Runtime* runtime_;
  std::weak_ptr<void> alive_;
  StartOrder order_;
  std::function<void(StartResult)> done_;
  bool allocated_again_ = false;
};

} // namespace

StartOrder make_start_order(const api::Object& object, std::shared_ptr<const model::Pod> pod,
                            const PodView& view, std::size_t container, Duration restart_delay) {
  const ContainerView& each = view.containers[container];
  const bool created = each.current && each.current->state == runtime::ContainerState::Created;
  return {.object = object,
          .pod = std::move(pod),
          .container = each.spec,
          .role = each.role,
          .attempt = each.next_attempt,
          .restart_delay = restart_delay,
          .sandbox_id = view.sandbox->id,
          .created_id = created ? each.current->id : "",
          .pod_ip = view.sandbox->ip,
          .scope = view.init_phase_over() ? AllocationScope::Running : AllocationScope::Whole};
}

void start_container(DeviceManager& devices, runtime::Runtime& runtime,
                     const std::weak_ptr<void>& alive, StartOrder order,
                     std::function<void(StartResult)> done) {
  std::make_shared<Start>(devices, runtime, alive, std::move(order), std::move(done))->prepare();
}

} // namespace berth::node
