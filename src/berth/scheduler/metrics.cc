#include "berth/scheduler/metrics.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace berth::scheduler {
namespace {

using prometheus::Histogram;
using Buckets = Histogram::BucketBoundaries;
template <class T> using Family = prometheus::Family<T>;

Buckets exponential(double first, double factor, int count) {
  Buckets buckets;
  for (double bound = first; count > 0; --count, bound *= factor) {
    buckets.push_back(bound);
  }
  return buckets;
}

double seconds(Duration d) {
  return static_cast<double>(d.count_nanos()) / 1e9;
}

template <class Builder>
auto& family(prometheus::Registry& registry, Builder builder, const char* name, const char* help) {
  return builder.Name(name).Help(help).Register(registry);
}
auto& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return family(registry, prometheus::BuildCounter(), name, help);
}
auto& gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return family(registry, prometheus::BuildGauge(), name, help);
}
auto& histogram(prometheus::Registry& registry, const char* name, const char* help) {
  return family(registry, prometheus::BuildHistogram(), name, help);
}

void raise_to(prometheus::Counter& counter, std::uint64_t value) {
  counter.Increment(static_cast<double>(value) - counter.Value());
}

constexpr std::size_t kAttemptLabels = 16; // "1" to "15", then "15+"

std::string attempts_label(std::size_t i) {
  return i + 1 < kAttemptLabels ? std::to_string(i + 1) : "15+";
}

constexpr std::array<const char*, 3> kResults = {"scheduled", "unschedulable", "error"};

/// Counts of one profile, with its series looked up once.
struct ProfileSeries {
  std::string name;
  std::vector<std::string> filters;
  std::vector<std::string> scorers;
  std::uint64_t decisions = 0;
  std::uint64_t comparisons = 0; ///< decisions that scored
  std::array<prometheus::Counter*, 3> attempts{};
  std::array<Histogram*, 3> durations{};
  std::array<std::array<Histogram*, 2>, 2> points{}; ///< PreBind, Bind; Success, Error
};

} // namespace

struct Metrics::State {
  prometheus::Registry registry;
  Family<prometheus::Counter>& attempts =
      counter(registry, "scheduler_schedule_attempts_total",
              "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod "
              "could not be scheduled, while 'error' means an internal scheduler problem.");
  Family<Histogram>& attempt_duration =
      histogram(registry, "scheduler_scheduling_attempt_duration_seconds",
                "Scheduling attempt latency in seconds (scheduling algorithm + binding)");
  Family<Histogram>& algorithm_duration =
      histogram(registry, "scheduler_scheduling_algorithm_duration_seconds",
                "Scheduling algorithm latency in seconds");
  Family<Histogram>& point_duration = histogram(
      registry, "scheduler_framework_extension_point_duration_seconds",
      "Latency for running all plugins of a specific extension point. Here: PreBind and Bind");
  Family<prometheus::Counter>& evaluations =
      counter(registry, "scheduler_plugin_evaluation_total",
              "Number of attempts to schedule pods by each plugin and the extension point "
              "(available only in PreFilter, Filter, PreScore, and Score).");
  Family<Histogram>& sli_duration =
      histogram(registry, "scheduler_pod_scheduling_sli_duration_seconds",
                "E2e latency for a pod being scheduled, from the time the pod enters the "
                "scheduling queue and might involve multiple scheduling attempts.");
  Family<Histogram>& pod_attempts = histogram(registry, "scheduler_pod_scheduling_attempts",
                                              "Number of attempts to successfully schedule a pod.");
  Family<prometheus::Gauge>& pending =
      gauge(registry, "scheduler_pending_pods",
            "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; "
            "'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in "
            "unschedulablePods that the scheduler attempted to schedule and failed; 'gated' is the "
            "number of unschedulable pods that the scheduler never attempted to schedule because "
            "they are gated.");
  Family<prometheus::Counter>& incoming =
      counter(registry, "scheduler_queue_incoming_pods_total",
              "Number of pods added to scheduling queues by event and queue type.");
  Family<prometheus::Gauge>& unschedulable =
      gauge(registry, "scheduler_unschedulable_pods",
            "The number of unschedulable pods broken down by plugin name. A pod will increment the "
            "gauge for all plugins that caused it to not schedule and so this metric have meaning "
            "only when broken down by plugin.");
  Family<prometheus::Counter>& preemption_attempts =
      counter(registry, "scheduler_preemption_attempts_total",
              "Total preemption attempts in the cluster till now");
  Family<Histogram>& preemption_victims =
      histogram(registry, "scheduler_preemption_victims", "Number of selected preemption victims");
  Family<Histogram>& permit_duration = histogram(registry, "scheduler_permit_wait_duration_seconds",
                                                 "Duration of waiting on permit.");
  Family<prometheus::Gauge>& goroutines =
      gauge(registry, "scheduler_goroutines",
            "Number of running goroutines split by the work they do such as binding. Here: "
            "bindings whose answer is not in.");
  Family<prometheus::Gauge>& cache =
      gauge(registry, "scheduler_cache_size",
            "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.");

  Histogram& algorithm = algorithm_duration.Add({}, exponential(0.001, 2, 15));
  Histogram& attempts_needed = pod_attempts.Add({}, exponential(1, 2, 5));
  std::array<Histogram*, kAttemptLabels> sli{}; ///< by attempts - 1
  prometheus::Counter& preemptions = preemption_attempts.Add({});
  Histogram& victims = preemption_victims.Add({}, exponential(1, 2, 7));
  std::vector<ProfileSeries> profiles;
};

Metrics::Metrics(const std::vector<const sched::Framework*>& profiles)
    : state_(std::make_unique<State>()) {
  for (const sched::Framework* framework : profiles) {
    ProfileSeries& series = state_->profiles.emplace_back();
    series.name = framework->scheduler_name();
    for (const auto& entry : framework->entries()) {
      if (entry.has(sched::Point::Filter)) {
        series.filters.emplace_back(entry.plugin->name());
      }
      if (entry.has(sched::Point::Score)) {
        series.scorers.emplace_back(entry.plugin->name());
      }
    }
  }
}

Metrics::~Metrics() = default;

void Metrics::decided(Duration took) {
  state_->algorithm.Observe(seconds(took));
}

void Metrics::evaluated(std::size_t profile, std::int64_t feasible_nodes) {
  ProfileSeries& series = state_->profiles[profile];
  ++series.decisions;
  series.comparisons += feasible_nodes > 1 ? 1 : 0;
}

void Metrics::attempt(std::size_t profile, AttemptResult result, Duration took) {
  ProfileSeries& series = state_->profiles[profile];
  const auto i = static_cast<std::size_t>(result);
  if (series.attempts[i] == nullptr) {
    const prometheus::Labels labels{{"result", kResults[i]}, {"profile", series.name}};
    series.attempts[i] = &state_->attempts.Add(labels);
    series.durations[i] = &state_->attempt_duration.Add(labels, exponential(0.001, 2, 15));
  }
  series.attempts[i]->Increment();
  series.durations[i]->Observe(seconds(took));
}

void Metrics::bound(const sched::QueuedPod& pod, TimePoint now) {
  state_->attempts_needed.Observe(pod.attempts);
  const auto i = std::min(static_cast<std::size_t>(std::max(1, pod.attempts)), kAttemptLabels) - 1;
  if (state_->sli[i] == nullptr) {
    state_->sli[i] =
        &state_->sli_duration.Add({{"attempts", attempts_label(i)}}, exponential(0.01, 2, 20));
  }
  state_->sli[i]->Observe(seconds(now - pod.initial_attempt));
}

void Metrics::preemption_tried(std::size_t victims) {
  state_->preemptions.Increment();
  if (victims > 0) {
    state_->victims.Observe(static_cast<double>(victims));
  }
}

void Metrics::permit_wait(Permit result, Duration took) {
  state_->permit_duration
      .Add({{"result", result == Permit::Allowed ? "Success" : "Unschedulable"}},
           exponential(0.001, 2, 15))
      .Observe(seconds(took));
}

void Metrics::extension_point(std::size_t profile, Point point, Status status, Duration took) {
  constexpr std::array<const char*, 2> kPoints = {"PreBind", "Bind"};
  constexpr std::array<const char*, 2> kStatuses = {"Success", "Error"};
  const auto p = static_cast<std::size_t>(point);
  const auto s = static_cast<std::size_t>(status);
  Histogram*& series = state_->profiles[profile].points[p][s];
  if (series == nullptr) {
    series = &state_->point_duration.Add({{"extension_point", kPoints[p]},
                                          {"status", kStatuses[s]},
                                          {"profile", state_->profiles[profile].name}},
                                         exponential(0.0001, 2, 12));
  }
  series->Observe(seconds(took));
}

namespace {

void set_queue(Family<prometheus::Gauge>& pending, const sched::Queue::Depth& depth) {
  const auto set = [&](const char* queue, std::size_t n) {
    pending.Add({{"queue", queue}}).Set(static_cast<double>(n));
  };
  set("active", depth.active);
  set("backoff", depth.backoff);
  set("unschedulable", depth.unschedulable);
  set("gated", depth.gated);
}

/// Series that were set before and have no pods now stay, at zero.
void set_unschedulable(Family<prometheus::Gauge>& family, const MetricGauges& gauges) {
  for (const prometheus::MetricFamily& known : family.Collect()) {
    for (const prometheus::ClientMetric& metric : known.metric) {
      prometheus::Labels labels;
      for (const auto& label : metric.label) {
        labels.emplace(label.name, label.value);
      }
      family.Add(labels).Set(0);
    }
  }
  for (const auto& [key, pods] : gauges.unschedulable) {
    family.Add({{"plugin", key.first}, {"profile", key.second}}).Set(static_cast<double>(pods));
  }
}

void set_evaluations(Family<prometheus::Counter>& family, const ProfileSeries& profile) {
  const auto set = [&](const std::vector<std::string>& plugins, const char* point,
                       std::uint64_t times) {
    for (const std::string& plugin : plugins) {
      raise_to(
          family.Add({{"plugin", plugin}, {"extension_point", point}, {"profile", profile.name}}),
          times);
    }
  };
  set(profile.filters, "PreFilter", profile.decisions);
  set(profile.filters, "Filter", profile.decisions);
  set(profile.scorers, "PreScore", profile.comparisons);
  set(profile.scorers, "Score", profile.comparisons);
}

} // namespace

std::string Metrics::text(const MetricGauges& gauges) const {
  State& state = *state_;
  set_queue(state.pending, gauges.depth);
  if (gauges.moves != nullptr) {
    for (const auto& [key, pods] : *gauges.moves) {
      raise_to(state.incoming.Add(
                   {{"queue", std::string(key.first)}, {"event", std::string(key.second)}}),
               pods);
    }
  }
  set_unschedulable(state.unschedulable, gauges);
  for (const ProfileSeries& profile : state.profiles) {
    set_evaluations(state.evaluations, profile);
  }
  state.goroutines.Add({{"operation", "binding"}}).Set(static_cast<double>(gauges.binding));
  state.cache.Add({{"type", "nodes"}}).Set(static_cast<double>(gauges.nodes));
  state.cache.Add({{"type", "pods"}}).Set(static_cast<double>(gauges.pods));
  state.cache.Add({{"type", "assumed_pods"}}).Set(static_cast<double>(gauges.assumed));
  std::vector<prometheus::MetricFamily> families = state.registry.Collect();
  std::erase_if(families, [](const auto& f) { return f.metric.empty(); });
  std::ranges::sort(families, {}, &prometheus::MetricFamily::name);
  for (prometheus::MetricFamily& family : families) {
    for (prometheus::ClientMetric& metric : family.metric) {
      std::sort(metric.label.begin(), metric.label.end());
    }
    std::sort(family.metric.begin(), family.metric.end(),
              [](const auto& a, const auto& b) { return a.label < b.label; });
  }
  return prometheus::TextSerializer().Serialize(families);
}

} // namespace berth::scheduler
