#include "berth/trace/openb_experiments.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <ostream>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "berth/sched/plugins/target_workload.h"

namespace berth::trace {
namespace {

constexpr double kTolerance = 0.01; // percentage points
constexpr std::size_t kAllAskedFor = 100;
constexpr std::size_t kMostPercent = 130; // of the curves

/// golden.csv's names of policies -> plugins.
const std::map<std::string, std::string, std::less<>>& recorded_policies() {
  static const std::map<std::string, std::string, std::less<>> kPolicies = {
      {"BestFit", "BestFit"},
      {"DotProd", "DotProduct"},
      {"GpuPacking", "GpuPacking"},
      {"GpuClustering", "GpuClustering"},
      {"FGD", "FGD"},
  };
  return kPolicies;
}

struct Workload {
  std::vector<TracePod> pods;
  sched::TargetWorkload target;
};

/// One row of golden.csv.
struct Recorded {
  std::string workload;
  std::string seed;
  std::string plugin;
  std::int64_t turned_away = 0;
  std::int64_t held = 0;
  struct Point {
    bool fragment = false;
    std::size_t percent = 0;
    double value = 0;
  };
  std::vector<Point> points;
};

template <class T> std::optional<T> number(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

/// "alloc_90", "frag_of_total_90".
std::optional<Recorded::Point> curve_column(std::string_view name) {
  for (const auto& [prefix, fragment] :
       {std::pair<std::string_view, bool>("alloc_", false), {"frag_of_total_", true}}) {
    const auto percent =
        name.starts_with(prefix) ? number<std::size_t>(name.substr(prefix.size())) : std::nullopt;
    if (percent && *percent <= kMostPercent) {
      return Recorded::Point{.fragment = fragment, .percent = *percent};
    }
  }
  return std::nullopt;
}

/// None: some number is none, or the policy is unknown.
std::optional<Recorded> read_row(const Table& table, const std::vector<std::string>& row) {
  const auto cell = [&](std::string_view column) { return row[table.column(column)]; };
  const auto plugin = recorded_policies().find(cell("policy"));
  const auto turned_away = number<std::int64_t>(cell("failed"));
  const auto held = number<std::int64_t>(cell("used_gpu_milli"));
  if (plugin == recorded_policies().end() || !turned_away || !held) {
    return std::nullopt;
  }
  Recorded recorded{.workload = cell("workload"),
                    .seed = cell("seed"),
                    .plugin = plugin->second,
                    .turned_away = *turned_away,
                    .held = *held};
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (auto point = curve_column(table.columns[i])) {
      const auto value = number<double>(row[i]);
      if (!value) {
        return std::nullopt;
      }
      point->value = *value;
      recorded.points.push_back(*point);
    }
  }
  return recorded;
}

Result<std::vector<Recorded>> read_recorded(const std::filesystem::path& file) {
  BERTH_TRY(const Table table, read_table(file));
  for (const std::string_view name : {"workload", "seed", "policy", "failed", "used_gpu_milli"}) {
    if (table.column(name) == table.columns.size()) {
      return fail(Code::Invalid, fmt::format("{}: no column \"{}\"", file.string(), name));
    }
  }
  std::vector<Recorded> all;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    auto recorded = read_row(table, table.rows[i]);
    if (!recorded) {
      return fail(Code::Invalid, fmt::format("{}: series {} has an unknown policy, or something "
                                             "other than numbers",
                                             file.string(), i + 1));
    }
    all.push_back(*std::move(recorded));
  }
  return all;
}

/// Everything that runs share, read once.
struct Inputs {
  std::filesystem::path dir;
  std::vector<TraceNode> nodes;
  std::map<std::string, Workload> workloads;
  std::vector<Recorded> recorded;
};

bool wanted(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

Result<Inputs> read_inputs(const OpenbOptions& options) {
  Inputs inputs{.dir = options.dir};
  BERTH_TRY(inputs.nodes, read_nodes(options.dir / "openb_node_list_gpu_node.csv"));
  BERTH_TRY(inputs.recorded, read_recorded(options.dir / "golden.csv"));
  std::erase_if(inputs.recorded, [&](const Recorded& recorded) {
    return !wanted(options.workloads, recorded.workload) || !wanted(options.seeds, recorded.seed);
  });
  if (inputs.recorded.empty()) {
    return fail(Code::NotFound, fmt::format("{}: no series of that workload and seed",
                                            (options.dir / "golden.csv").string()));
  }
  for (const Recorded& recorded : inputs.recorded) {
    if (inputs.workloads.contains(recorded.workload)) {
      continue;
    }
    Workload workload;
    BERTH_TRY(workload.pods,
              read_pods(options.dir / fmt::format("openb_pod_list_{}.csv", recorded.workload)));
    std::vector<sched::GpuDemand> demands;
    for (const TracePod& pod : workload.pods) {
      demands.push_back(pod.demand);
    }
    workload.target = sched::typical_pods(demands);
    inputs.workloads.emplace(recorded.workload, std::move(workload));
  }
  return inputs;
}

Result<ArrivalResult> replay(const Inputs& inputs, const std::string& name, const std::string& seed,
                             const std::string& plugin) {
  const Workload& workload = inputs.workloads.at(name);
  BERTH_TRY(const ArrivalOrder order,
            read_order(inputs.dir / "orders" / fmt::format("{}-{}.txt.gz", name, seed),
                       inputs.nodes.size(), workload.pods.size()));
  return run_arrivals(inputs.nodes, workload.pods, order, packing_profile(plugin, workload.target),
                      workload.target);
}

/// Runs task(0) ... task(count - 1), several at a time; one after the other where threads are
/// refused.
void in_parallel(int threads, std::size_t count, const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t at = next++; at < count; at = next++) {
      task(at);
    }
  };
  std::vector<std::jthread> helpers;
  try {
    for (int i = 1; i < threads; ++i) {
      helpers.emplace_back(work);
    }
  } catch (const std::system_error&) {
    // The system is out of threads for now; those that started and this one do it.
  }
  work();
}

/// "" if the run agrees with the recording.
std::string difference(const Recorded& recorded, const ArrivalResult& result) {
  if (recorded.held != result.held() || recorded.turned_away != result.turned_away) {
    return fmt::format("{} milli held and {} pods turned away, recorded {} and {}", result.held(),
                       result.turned_away, recorded.held, recorded.turned_away);
  }
  const ArrivalCurves curves = curves_of(result);
  for (const Recorded::Point& point : recorded.points) {
    const double ours = (point.fragment ? curves.fragment : curves.held).at(point.percent);
    if (std::abs(ours - point.value) > kTolerance) {
      return fmt::format("{} at {} % arrived is {:.4f} %, recorded {:.2f} %",
                         point.fragment ? "fragment" : "held", point.percent, ours, point.value);
    }
  }
  return "";
}

} // namespace

sched::Profile packing_profile(std::string_view plugin, const sched::TargetWorkload& target) {
  sched::Profile profile;
  const auto add = [&](std::string_view name, sched::Points points, boost::json::value args) {
    profile.plugins.push_back(
        {.name = std::string(name), .weight = 1, .args = std::move(args), .points = points});
  };
  add("PrioritySort", sched::kEveryPoint, nullptr);
  add("NodeResourcesFit", sched::Points{0} | sched::Point::Filter, nullptr);
  add("GpuShare", sched::kEveryPoint, nullptr);
  const bool aims = plugin == "FGD" || plugin == "BidPrice";
  add(plugin, sched::kEveryPoint,
      aims ? boost::json::value{{"targetWorkload", sched::to_document(target)}} : nullptr);
  return profile;
}

Result<int> compare_openb(const OpenbOptions& options, std::ostream& out) {
  BERTH_TRY(Inputs inputs, read_inputs(options));
  std::erase_if(inputs.recorded, [&](const Recorded& recorded) {
    return !wanted(options.policies, recorded.plugin);
  });
  if (inputs.recorded.empty()) {
    return fail(Code::NotFound, "nothing is recorded of that policy");
  }
  std::vector<std::string> differences(inputs.recorded.size());
  in_parallel(options.threads, inputs.recorded.size(), [&](std::size_t i) {
    const Recorded& recorded = inputs.recorded[i];
    const auto result = replay(inputs, recorded.workload, recorded.seed, recorded.plugin);
    differences[i] = result ? difference(recorded, *result) : result.error().message;
  });
  int differ = 0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    if (!differences[i].empty()) {
      const Recorded& recorded = inputs.recorded[i];
      out << fmt::format("{} seed {} {}: {}\n", recorded.workload, recorded.seed, recorded.plugin,
                         differences[i]);
      ++differ;
    }
  }
  out << fmt::format("{} series: {} agree, {} differ\n", differences.size(),
                     std::ssize(differences) - differ, differ);
  return differ;
}

Result<std::vector<OpenbScore>> score_openb(const OpenbOptions& options) {
  BERTH_TRY(const Inputs inputs, read_inputs(options));
  std::map<std::string, std::vector<std::string>> seeds; // by workload
  for (const Recorded& recorded : inputs.recorded) {
    auto& known = seeds[recorded.workload];
    if (std::ranges::find(known, recorded.seed) == known.end()) {
      known.push_back(recorded.seed);
    }
  }
  std::vector<OpenbScore> scores;
  for (const auto& [workload, list] : seeds) {
    for (const std::string& policy : options.policies) {
      std::vector<double> idle(list.size());
      std::vector<std::string> errors(list.size());
      in_parallel(options.threads, list.size(), [&](std::size_t i) {
        const auto result = replay(inputs, workload, list[i], policy);
        idle[i] = result ? 100 - curves_of(*result).held.at(kAllAskedFor) : 0;
        errors[i] = result ? "" : result.error().message;
      });
      const auto failed = std::ranges::find_if(errors, [](const auto& e) { return !e.empty(); });
      if (failed != errors.end()) {
        return fail(Code::Invalid, *failed);
      }
      OpenbScore score{.workload = workload,
                       .policy = policy,
                       .worst = std::ranges::max(idle),
                       .seeds = static_cast<int>(list.size())};
      for (const double value : idle) {
        score.mean += value / static_cast<double>(list.size());
      }
      scores.push_back(std::move(score));
    }
  }
  return scores;
}

} // namespace berth::trace
