#include "berth/sim/chaos.h"

#include <fmt/format.h>

#include "berth/base/virtual_loop.h"
#include "berth/cluster/cluster.h"
#include "berth/cluster/fleet.h"
#include "berth/cluster/flight_record.h"
#include "berth/scheduler/scheduler.h"
#include "berth/sim/invariants.h"
#include "berth/sim/scenario.h"
#include "berth/store/registry.h"

namespace berth::sim {
namespace {

constexpr std::uint64_t kMaxEvents = 3'000'000;
constexpr Duration kPatience = Duration::hours(48);
constexpr std::size_t kMaxBroken = 5;

std::uint64_t fold(std::uint64_t digest, std::string_view text) {
  for (const char c : text) {
    digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  }
  return digest;
}

class Chaos {
 public:
  Chaos(std::uint64_t seed, const std::function<void(const std::string&)>& trace)
      : trace_(trace), scenario_(random_scenario(seed)),
        loop_(TimePoint::from_unix_seconds(1'767'225'600)), start_(loop_.now()),
        cluster_(loop_, scenario_.cluster,
                 {.seed = seed,
                  .scheduler = std::make_shared<const scheduler::SchedulerOptions>(
                      scheduler::SchedulerOptions{.profiles = scenario_.profiles}),
                  .line_faults = scenario_.line_faults}),
        invariants_(cluster_, scenario_.profiles),
        record_(cluster_.client(), loop_, [this](const cluster::Mark& mark) { on_mark(mark); }) {
    report_.seed = seed;
    report_.digest = 0xCBF29CE484222325ULL;
  }

  ChaosReport run() {
    for (const TimedAction& action : scenario_.actions) {
      loop_.after(action.at, [this, &action] { perform(action); });
    }
    run_for(scenario_.length);
    calm_down();
    if (run_until_settled("after the faults")) {
      check(invariants_.broken_when_quiet());
    }
    if (report_.ok()) {
      delete_everything();
      run_for(Duration::minutes(1));
      if (run_until_settled("after deleting everything")) {
        check(invariants_.broken_when_empty());
      }
    }
    report_.virtual_time = loop_.now() - start_;
    report_.pods = record_.pods().size();
    report_.bound = cluster_.scheduler().stats().bound;
    return report_;
  }

 private:
  void say(const std::string& text) {
    if (trace_) {
      trace_(fmt::format("{:>12} {}", to_string(loop_.now() - start_), text));
    }
  }

  void on_mark(const cluster::Mark& mark) {
    const std::string text = fmt::format("{} {} {}", mark.object, mark.what, mark.detail);
    report_.digest =
        fold(report_.digest, fmt::format("{} {}", (mark.at - start_).count_nanos(), text));
    say(text);
  }

  void check(const std::vector<std::string>& found) {
    for (const std::string& text : found) {
      if (report_.broken.size() < kMaxBroken) {
        report_.broken.push_back(fmt::format("at {}: {}", to_string(loop_.now() - start_), text));
        say("BROKEN " + text);
      }
    }
  }

  /// One event, then the invariants; false at the end of events or of patience.
  bool step() {
    if (!report_.ok() || report_.events >= kMaxEvents || !loop_.step()) {
      return false;
    }
    ++report_.events;
    check(invariants_.broken());
    return true;
  }

  void run_for(Duration length) {
    const TimePoint end = loop_.now() + length;
    while (loop_.next() <= end && step()) {
    }
    if (report_.ok()) {
      loop_.run_until(end);
    }
  }

  bool run_until_settled(std::string_view when) {
    const TimePoint end = loop_.now() + kPatience;
    // Between two events of one instant a component may not have heard of another's write yet.
    while (loop_.next() <= loop_.now() || !cluster_.settled()) {
      if (!step() || loop_.now() > end) {
        if (report_.ok()) {
          check({fmt::format("not quiet {} events and {} {}", report_.events,
                             to_string(loop_.now() - start_), when)});
          check(cluster_.unsettled());
        }
        return false;
      }
    }
    return report_.ok();
  }

  void perform(const TimedAction& action) {
    say(to_string(action));
    std::visit([this](const auto& what) { perform_one(what); }, action.action);
  }

  void perform_one(const Create& create) {
    for (const api::Object& object : create.objects) {
      cluster_.client().create(object, [](const Result<api::Object>&) {});
    }
  }
  void perform_one(const Delete& gone) {
    cluster_.client().remove({.group = gone.what.group, .kind = gone.what.kind}, gone.what.key, {},
                             [](const Result<api::Object>&) {});
  }
  void perform_one(const cluster::Fault& fault) { cluster_.inject(fault); }
  void perform_one(const Stall& stall) { loop_.stall(stall.length); }

  /// Good lines, machines up; broken GPUs stay broken.
  void calm_down() {
    say("calm");
    cluster_.set_line_faults({});
    for (const std::string& node : cluster_.fleet().names()) {
      cluster::Fault up;
      up.kind = cluster::Fault::Kind::NodeUp;
      up.node = node;
      cluster_.inject(up);
      cluster_.fleet().find(node)->start_plugin();
      cluster_.fleet().find(node)->start_agent();
    }
    run_for(Duration::minutes(2)); // cut lines are joined again by their own timers
  }

  void delete_everything() {
    say("delete everything");
    for (const client::GroupKind& kind : {client::kJobs, client::kPodGroups, client::kPods}) {
      for (const api::Object& object : cluster_.registry().list({.kind = kind}).items) {
        perform_one(Delete{{.group = kind.group, .kind = kind.kind, .key = object.key()}});
      }
    }
  }

  std::function<void(const std::string&)> trace_;
  Scenario scenario_;
  VirtualLoop loop_;
  TimePoint start_;
  ChaosReport report_;
  cluster::Cluster cluster_;
  Invariants invariants_;
  cluster::FlightRecord record_;
};

} // namespace

ChaosReport run_chaos(std::uint64_t seed, const std::function<void(const std::string&)>& trace) {
  return Chaos(seed, trace).run();
}

std::string to_string(const ChaosReport& report) {
  if (report.ok()) {
    return fmt::format("seed {}: {} pods, {} bound, {} events, {} of virtual time", report.seed,
                       report.pods, report.bound, report.events, to_string(report.virtual_time));
  }
  std::string text = fmt::format("seed {}:", report.seed);
  for (const std::string& broken : report.broken) {
    text += "\n  " + broken;
  }
  return text +
         fmt::format("\n  replay: ./dev fuzz-cluster --first {} --seeds 1 --trace", report.seed);
}

} // namespace berth::sim
