#include "berth/cluster/fault_injector.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/inventory/xid.h"

namespace berth::cluster {
namespace {

using Type = InjectedFault::Type;

/// How long a machine is off in a reboot, and a plugin after a crash.
constexpr Duration kReboot = Duration::seconds(30);
constexpr Duration kPluginPause = Duration::seconds(10);
constexpr std::size_t kNamed = 10;

Duration lasts(Type type) {
  return type == Type::NodeReboot ? kReboot : type == Type::PluginCrash ? kPluginPause : Duration();
}

Fault fault_of(Fault::Kind kind, const std::string& node) {
  return {.at = {}, .kind = kind, .node = node, .pause = kPluginPause};
}

} // namespace

Result<void> define_faults(store::Registry& registry, TimePoint now) {
  BERTH_TRY(const api::Object wanted, api::Object::from_json(fault_definition()));
  const auto found = registry.get(store::group_kind(wanted), wanted.key());
  if (!found) {
    BERTH_CHECK(registry.create(wanted, now));
    return {};
  }
  BERTH_CHECK(registry.update(found->edit([&](api::json::object& document) {
    document["spec"] = *api::find(wanted.json(), "spec");
  }),
                              client::Subresource::None, now));
  return {};
}

FaultInjector::FaultInjector(Loop& loop, client::Client& client, Rng rng, Fleet& fleet)
    : loop_(loop), client_(client), fleet_(fleet),
      events_(client, loop, std::move(rng), "berth-chaos") {
  informer_ = std::make_unique<client::Informer>(
      client, loop, client::ListOptions{.kind = kFaults, .ns = "", .labels = {}},
      [this](const api::Object& old, const api::Object& now) { on_change(old, now); });
}

FaultInjector::~FaultInjector() = default;

void FaultInjector::on_change(const api::Object& old, const api::Object& now) {
  if (!now) {
    end(old.meta().name);
    return;
  }
  const auto same = [&] {
    const api::json::value* before = old ? api::find(old.json(), "spec") : nullptr;
    const api::json::value* after = api::find(now.json(), "spec");
    return before != nullptr && after != nullptr && *before == *after;
  };
  if (old && same()) {
    return;
  }
  end(now.meta().name);
  begin(now);
}

/// What is wrong with it here; else what it is of.
Result<std::string> FaultInjector::check(const InjectedFault& fault) const {
  node::SimulatedMachine* machine = fleet_.find(fault.node);
  if (machine == nullptr) {
    std::vector<std::string> names = fleet_.names();
    const std::size_t all = names.size();
    names.resize(std::min(all, kNamed));
    return fail(Code::NotFound,
                fmt::format("there is no simulated node {}; there are: {}{}", fault.node,
                            fmt::join(names, ", "), all > kNamed ? ", ..." : ""));
  }
  const auto& gpus = machine->inventory().gpus();
  const auto gpu = std::ranges::find(gpus, fault.gpu, &inventory::GpuInfo::index);
  if (fault.of_gpu() && gpu == gpus.end()) {
    return fail(Code::NotFound,
                gpus.empty() ? fmt::format("node {} has no GPUs", fault.node)
                             : fmt::format("node {} has no GPU {}; it has {} to {}", fault.node,
                                           fault.gpu, gpus.front().index, gpus.back().index));
  }
  return fault.of_gpu() ? fmt::format("GPU {} ({})", fault.gpu, gpu->uuid)
                        : fmt::format("node {}", fault.node);
}

void FaultInjector::begin(const api::Object& object) {
  const std::string& name = object.meta().name;
  const auto fault = read_injected_fault(object.json());
  if (!fault) {
    say(name, "Refused", berth::to_string(fault.error()));
    return;
  }
  const auto what = check(*fault);
  if (!what) {
    say(name, "Refused", what.error().message);
    return;
  }
  active_.insert_or_assign(name, *fault);
  const std::string message = fmt::format("{} {}", *what, break_it(name, *fault));
  tell_node(fault->node, client::EventType::Warning, "FaultInjected",
            fmt::format("Simulated fault {}: {}", name, message));
  if (!fault->passes()) {
    say(name, "Active", message);
    return;
  }
  auto& timer = passing_[name];
  timer = std::make_unique<Timer>(loop_);
  timer->set(lasts(fault->type), [this, name] { forget(name); });
}

/// Breaks it, and says how.
std::string FaultInjector::break_it(const std::string& name, const InjectedFault& fault) {
  node::SimulatedMachine& machine = *fleet_.find(fault.node);
  switch (fault.type) {
  case Type::GpuXid:
    (void)machine.inventory().xid(fault.gpu, fault.xid);
    return machine.inventory().probe(fault.gpu).usable()
               ? fmt::format("stays healthy: {} needs no reset", inventory::describe_xid(fault.xid))
               : fmt::format("is unhealthy: {}", inventory::describe_xid(fault.xid));
  case Type::GpuLost:
    (void)machine.inventory().lose(fault.gpu);
    return "is unhealthy: it has fallen off the bus";
  case Type::NodeDown:
    down(fault.node);
    return "is without power";
  case Type::NodeReboot:
    down(fault.node);
    return fmt::format("reboots and is back in {}", berth::to_string(kReboot));
  case Type::AgentCrash:
    fleet_.inject(fault_of(Fault::Kind::AgentCrash, fault.node));
    return "has a new agent: the one before crashed";
  case Type::PluginCrash:
    fleet_.inject(fault_of(Fault::Kind::PluginCrash, fault.node));
    return fmt::format("is without its device plugin for {}", berth::to_string(kPluginPause));
  }
  return name;
}

/// A machine that starts again has reset its GPUs: faults that this heals are over.
void FaultInjector::down(const std::string& node) {
  fleet_.inject(fault_of(Fault::Kind::NodeDown, node));
  node::SimulatedMachine& machine = *fleet_.find(node);
  for (const auto& [name, fault] : active_) {
    if (fault.node == node && fault.of_gpu() && machine.inventory().probe(fault.gpu).usable()) {
      forget(name);
    }
  }
}

void FaultInjector::up(const std::string& node) {
  fleet_.inject(fault_of(Fault::Kind::NodeUp, node));
}

/// Another object that says the same of the same thing, so that it stays broken.
bool FaultInjector::another(const std::string& name, const InjectedFault& fault) const {
  return std::ranges::any_of(active_, [&](const auto& entry) {
    const InjectedFault& other = entry.second;
    const bool of_machine = [](const InjectedFault& one) {
      return one.type == Type::NodeDown || one.type == Type::NodeReboot;
    }(other);
    return entry.first != name && other.node == fault.node &&
           (fault.of_gpu() ? other.of_gpu() && other.gpu == fault.gpu : of_machine);
  });
}

void FaultInjector::end(const std::string& name) {
  passing_.erase(name);
  const auto found = active_.find(name);
  if (found == active_.end()) {
    return;
  }
  const InjectedFault fault = found->second;
  const bool stays = another(name, fault);
  active_.erase(found);
  node::SimulatedMachine* machine = fleet_.find(fault.node);
  if (stays || machine == nullptr) {
    return;
  }
  if (fault.of_gpu() && !machine->inventory().probe(fault.gpu).usable()) {
    (void)machine->inventory().repair(fault.gpu);
  } else if (fault.type == Type::NodeDown || fault.type == Type::NodeReboot) {
    up(fault.node);
  }
  tell_node(fault.node, client::EventType::Normal, "FaultHealed",
            fmt::format("Simulated fault {} is over", name));
}

void FaultInjector::say(const std::string& name, std::string_view phase,
                        const std::string& message) {
  client_.patch(
      kFaults, {"", name},
      api::json::object{{"status", api::json::object{{"phase", phase}, {"message", message}}}},
      client::Subresource::Status, [](const Result<api::Object>&) {});
}

void FaultInjector::tell_node(const std::string& node, client::EventType type,
                              std::string_view reason, const std::string& message) {
  client_.get(client::kNodes, {"", node},
              [this, alive = std::weak_ptr(alive_), type, reason = std::string(reason),
               message](const Result<api::Object>& found) {
                if (found && !alive.expired()) {
                  events_.record(*found, type, reason, message);
                }
              });
}

/// Its object goes; what it broke is healed when that is seen.
void FaultInjector::forget(const std::string& name) {
  client_.remove(kFaults, {"", name}, {}, [](const Result<api::Object>&) {});
}

} // namespace berth::cluster
