#include "berth/cli/golden.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <ostream>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/json.h"
#include "berth/cli/run/manifest_files.h"
#include "berth/sched/cycle.h"
#include "berth/sched/filter_session.h"
#include "berth/sched/preemption.h"
#include "berth/sched/queue.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;
using api::json::value;
using sched::Decision;

/// The recordings come from this release.
constexpr sched::KubernetesVersion kRecordedVersion{.minor = 34};

struct Tally {
  std::int64_t decisions = 0;
  std::int64_t agree = 0;
  std::int64_t differ = 0;
  std::map<std::string, std::int64_t> out_of_scope; // feature -> decisions
};

const api::json::array& list_at(const value& document, std::string_view key) {
  static const api::json::array kNone;
  const value* found = api::find(document, key);
  return found != nullptr && found->is_array() ? found->get_array() : kNone;
}

std::set<std::string> strings_of(const api::json::array& list) {
  std::set<std::string> out;
  for (const value& item : list) {
    out.emplace(item.is_string() ? std::string(item.get_string()) : api::to_json(item));
  }
  return out;
}

/// Node -> number, as "total" and each plugin's "scores" are written.
using Scores = std::map<std::string, std::int64_t>;
Scores scores_of(const value* object) {
  Scores scores;
  if (object != nullptr && object->is_object()) {
    for (const auto& [node, score] : object->get_object()) {
      scores.emplace(node, score.is_number() ? score.to_number<std::int64_t>() : INT64_MIN);
    }
  }
  return scores;
}

/// What the API server's admission would add: namespace, and priority from its class.
value admitted(value pod, const value& scenario) {
  auto& root = pod.as_object();
  auto& meta = api::object_at(root, "metadata");
  meta.emplace("namespace", api::string_at(scenario, "namespace"));
  auto& spec = api::object_at(root, "spec");
  const std::string name(api::string_at(pod, "spec.priorityClassName"));
  const value* classes = api::find(scenario, "priorityClasses");
  const value* priority = classes == nullptr ? nullptr : api::find(*classes, name);
  if (priority != nullptr) {
    spec["priority"] = *priority;
  }
  if (name == "polite") {
    spec["preemptionPolicy"] = "Never";
  }
  return pod;
}

/// What the recording needs beyond the plugins here; "" if nothing.
std::string missing_feature(const value& pod, const value& expected,
                            const sched::Framework& framework) {
  for (const value& volume : list_at(*api::find(pod, "spec"), "volumes")) {
    for (const std::string_view source : {"persistentVolumeClaim", "ephemeral"}) {
      if (api::find(volume, source) != nullptr) {
        return fmt::format("volume {}", source);
      }
    }
  }
  if (!list_at(*api::find(pod, "spec"), "resourceClaims").empty()) {
    return "resource claims";
  }
  if (const value* scores = api::find(expected, "scores");
      scores != nullptr && scores->is_object()) {
    for (const auto& [plugin, by_node] : scores->get_object()) {
      if (framework.find(plugin) == nullptr) {
        return std::string(plugin);
      }
    }
  }
  return "";
}

/// One scenario file: the cluster as it grows, decision by decision.
class Scenario {
 public:
  Scenario(std::string file, const value& document, std::ostream& out)
      : file_(std::move(file)), document_(&document), out_(&out),
        framework_(std::move(*sched::Framework::make(sched::default_profile(kRecordedVersion),
                                                     sched::builtin_plugins()))),
        queue_(sched::queue_policy(framework_), {}) {}

  Result<void> run(Tally& tally) {
    BERTH_CHECK(load());
    const auto& pods = list_at(*document_, "pods");
    const auto& expected = list_at(*document_, "expected");
    if (pods.size() != expected.size()) {
      return fail(Code::Invalid,
                  fmt::format("{} pods but {} expected decisions", pods.size(), expected.size()));
    }
    for (std::size_t i = 0; i < pods.size(); ++i) {
      BERTH_CHECK(decide(pods[i], expected[i], tally));
    }
    return {};
  }

 private:
  Result<void> load() {
    for (const value& document : list_at(*document_, "nodes")) {
      BERTH_TRY(auto node, model::decode_node(document));
      state_.set_node(std::move(node));
    }
    for (value document : list_at(*document_, "pdbs")) {
      if (!document.is_object()) {
        return fail(Code::Invalid, "a PodDisruptionBudget is no object");
      }
      api::object_at(document.get_object(), "metadata")
          .emplace("namespace", api::string_at(*document_, "namespace"));
      BERTH_TRY(auto budget, sched::decode_disruption_budget(document));
      state_.set_budget(std::move(budget));
    }
    return {};
  }

  Result<void> decide(const value& document, const value& expected, Tally& tally) {
    if (!document.is_object() || api::find(document, "spec") == nullptr) {
      return fail(Code::Invalid, "a pod has no spec");
    }
    BERTH_TRY(auto decoded, model::decode_pod(admitted(document, *document_)));
    const auto pod = state_.describe(std::move(decoded));
    pod_ = pod->name();
    differences_ = 0;
    ++tally.decisions;
    queue_.add(pod, TimePoint());
    const std::string feature = missing_feature(document, expected, framework_);
    if (!feature.empty()) {
      ++tally.out_of_scope[feature];
      follow(pod, expected, {});
      return {};
    }
    const Decision decision = api::find(expected, "victims") != nullptr
                                  ? compare_preemption(pod, expected)
                                  : compare_decision(pod, expected);
    follow(pod, expected, decision.victims);
    ++(differences_ == 0 ? tally.agree : tally.differ);
    return {};
  }

  /// A decision without consequences.
  Decision ask(const sched::PodPtr& pod) {
    Decision decision =
        sched::schedule_one(framework_, state_, pod, {.explain = sched::Explain::Table});
    state_.forget(pod->uid);
    state_.clear_nomination(pod->uid);
    return decision;
  }

  Decision compare_decision(const sched::PodPtr& pod, const value& expected) {
    Decision decision = ask(pod);
    const std::string_view node = api::string_at(expected, "node");
    // A pod that preempted and was then placed is recorded with its node alone.
    const bool preempted = !node.empty() && decision.nominated_node == node;
    if (!preempted) {
      compare_placement(decision, expected);
      compare_message(decision, expected);
    }
    return decision;
  }

  /// Puts the cluster where the recording went: victims gone, the pod on its node or in the queue.
  /// Pods that had to wait are tried again when this helps them, as they were in the recorded
  /// cluster.
  void follow(const sched::PodPtr& pod, const value& expected,
              const std::vector<sched::PodPtr>& victims) {
    auto queued = queue_.take(pod->uid, TimePoint());
    auto names = strings_of(list_at(expected, "victims"));
    std::string_view node = api::string_at(expected, "node");
    node = node.empty() ? api::string_at(expected, "nominatedNode") : node;
    const auto id = state_.find_node(node);
    if (names.empty() && id) {
      for (const auto& victim : victims) {
        names.insert(victim->name());
      }
    }
    for (const std::string& name : names) {
      evict(pod->ns() + "/" + name);
    }
    if (!id) {
      queue_.retry_later(std::move(*queued),
                         {.unschedulable_plugins = rejecting_plugins(pod), .pending_plugins = {}},
                         TimePoint());
      return;
    }
    place(pod, *id);
    while (auto waiting = queue_.pop(TimePoint())) {
      retry(std::move(*waiting));
    }
  }

  void place(const sched::PodPtr& pod, sched::NodeId node) {
    state_.assume(pod, node);
    queue_.done(pod->uid);
    queue_.on_event(sched::assigned_pod_added(pod), TimePoint());
  }

  void evict(const std::string& uid) {
    if (const auto* placed = state_.find_pod(uid)) {
      const sched::PlacedPod gone = *placed;
      state_.remove_pod(uid);
      queue_.on_event(sched::assigned_pod_deleted(gone.pod, gone.node, state_), TimePoint());
    }
  }

  std::vector<std::string> rejecting_plugins(const sched::PodPtr& pod) {
    return ask(pod).unschedulable_plugins;
  }

  /// A pod that waited is decided again, unseen by the recording but for its effect on the cluster.
  void retry(sched::QueuedPod queued) {
    const auto pod = queued.pod;
    const Decision decision = ask(pod);
    if (decision.placed()) {
      place(pod, decision.node);
      return;
    }
    for (const auto& victim : decision.victims) {
      evict(victim->uid);
    }
    if (!decision.victims.empty()) {
      place(pod, *state_.find_node(*decision.nominated_node));
      return;
    }
    queue_.retry_later(
        std::move(queued),
        {.unschedulable_plugins = decision.unschedulable_plugins, .pending_plugins = {}},
        TimePoint());
  }

  template <class A, class B> void check(std::string_view what, const A& ours, const B& theirs) {
    if (!(ours == theirs)) {
      ++differences_;
      *out_ << fmt::format("{}: {}: {}: here {}, recorded {}\n", file_, pod_, what, ours, theirs);
    }
  }

  void compare_placement(const Decision& decision, const value& expected) {
    const std::string node(api::string_at(expected, "node"));
    check("placed", decision.placed(), !node.empty());
    if (!decision.placed() || node.empty()) {
      return;
    }
    const Scores totals = scores_of(api::find(expected, "total"));
    std::set<std::string> theirs{node};
    for (const auto& [name, total] : totals) {
      theirs.insert(name);
    }
    std::set<std::string> ours;
    Scores our_totals;
    for (const auto& row : decision.table->rows) {
      if (row.status.ok()) {
        ours.insert(state_.node_name(row.node));
        our_totals.emplace(state_.node_name(row.node), row.total);
      }
    }
    check("feasible nodes", ours, theirs);
    if (ours != theirs || totals.empty()) {
      return;
    }
    compare_scores(decision, expected);
    check("totals", our_totals, totals);
    const auto best = std::ranges::max_element(our_totals, {}, &Scores::value_type::second)->second;
    check("chosen node is among the best", our_totals.at(decision.node_name), best);
    check("recorded node is among the best", best, our_totals.at(node));
  }

  void compare_scores(const Decision& decision, const value& expected) {
    std::map<std::string, Scores> theirs;
    for (const auto& [plugin, by_node] : api::find(expected, "scores")->get_object()) {
      theirs.emplace(plugin, scores_of(&by_node));
    }
    std::map<std::string, Scores> ours;
    const auto& plugins = decision.table->score_plugins;
    for (const auto& row : decision.table->rows) {
      for (std::size_t i = 0; row.status.ok() && i < plugins.size(); ++i) {
        ours[plugins[i]].emplace(state_.node_name(row.node), row.weighted[i]);
      }
    }
    std::set<std::string> names;
    for (const auto* side : {&ours, &theirs}) {
      for (const auto& [plugin, scores] : *side) {
        names.insert(plugin);
      }
    }
    for (const std::string& plugin : names) {
      check(fmt::format("scores of {}", plugin), ours[plugin], theirs[plugin]);
    }
  }

  void compare_message(const Decision& decision, const value& expected) {
    const std::string_view reason = api::string_at(expected, "reason");
    const std::string_view ours = decision.placed() ? ""
                                  : decision.outcome == sched::Outcome::Unschedulable
                                      ? "Unschedulable"
                                      : "SchedulerError";
    // A pod that preempts may be recorded without its first condition.
    if (!reason.empty() || api::find(expected, "preempts") == nullptr) {
      check("reason", ours, reason);
      check("message", decision.message, api::string_at(expected, "message"));
    }
  }

  /// Victims and nominated node, or a candidate of equal cost.
  Decision compare_preemption(const sched::PodPtr& pod, const value& expected) {
    const std::string nominated(api::string_at(expected, "nominatedNode"));
    const auto recorded_node = state_.find_node(nominated);
    sched::DryRun recorded = sched::NoVictims{};
    if (recorded_node) {
      sched::FilterSession session(framework_, state_, pod, TimePoint());
      if (session.prepare().ok()) {
        recorded =
            sched::select_victims(session, *recorded_node, sched::LowerPriority(*session.pod()));
      }
    }
    Decision decision = ask(pod);
    compare_message(decision, expected);
    const auto* candidate = std::get_if<sched::PreemptionCandidate>(&recorded);
    if (candidate == nullptr || decision.victims.empty()) {
      check("nominated node", decision.nominated_node.value_or(""), nominated);
      return decision;
    }
    const sched::PreemptionCandidate ours{.node = *state_.find_node(*decision.nominated_node),
                                          .victims = decision.victims,
                                          .budget_violations = candidate->budget_violations};
    const bool same_node = *decision.nominated_node == nominated;
    const bool equal_cost =
        sched::candidate_cost(ours, TimePoint()) == sched::candidate_cost(*candidate, TimePoint());
    if (!same_node && !equal_cost) {
      check("nominated node", *decision.nominated_node, nominated);
    }
    check("victims", names_of(candidate->victims), strings_of(list_at(expected, "victims")));
    return decision;
  }

  static std::set<std::string> names_of(const std::vector<sched::PodPtr>& pods) {
    std::set<std::string> names;
    for (const auto& pod : pods) {
      names.insert(pod->name());
    }
    return names;
  }

  std::string file_;
  const value* document_;
  std::ostream* out_;
  sched::Framework framework_;
  sched::ClusterState state_;
  sched::Queue queue_;
  std::string pod_;
  std::int64_t differences_ = 0;
};

Result<std::vector<fs::path>> scenario_files(std::span<const std::string> dirs) {
  std::vector<fs::path> files;
  for (const std::string& dir : dirs) {
    std::error_code error;
    auto it = fs::recursive_directory_iterator(dir, error);
    if (error) {
      return fail(Code::NotFound,
                  fmt::format("cannot read directory {}: {}", dir, error.message()));
    }
    for (const auto& entry : it) {
      if (entry.path().extension() == ".json") {
        files.push_back(entry.path());
      }
    }
  }
  std::ranges::sort(files);
  if (files.empty()) {
    return fail(Code::NotFound,
                fmt::format("no scenario (*.json) below {}", fmt::join(dirs, ", ")));
  }
  return files;
}

Result<void> run_file(const fs::path& path, std::ostream& out, Tally& tally) {
  BERTH_TRY(const std::string text, read_text(path.string()));
  BERTH_TRY(const value document, api::parse_json(text, path.string()));
  return Scenario(path.filename().string(), document, out).run(tally);
}

std::string summary(const Tally& tally) {
  std::int64_t skipped = 0;
  std::vector<std::string> features;
  for (const auto& [feature, count] : tally.out_of_scope) {
    skipped += count;
    features.push_back(fmt::format("{}: {}", feature, count));
  }
  const std::string named = features.empty() ? "" : fmt::format(" ({})", fmt::join(features, ", "));
  return fmt::format("{} decisions: {} agree, {} out of scope{}, {} differ", tally.decisions,
                     tally.agree, skipped, named, tally.differ);
}

} // namespace

int run_golden(std::span<const std::string> dirs, std::ostream& out) {
  const auto files = scenario_files(dirs);
  if (!files) {
    out << "error: " << to_string(files.error()) << "\n";
    return 1;
  }
  Tally tally;
  bool broken = false;
  for (const fs::path& path : *files) {
    if (const auto done = run_file(path, out, tally); !done) {
      out << "error: " << path.filename().string() << ": " << to_string(done.error()) << "\n";
      broken = true;
    }
  }
  out << summary(tally) << "\n";
  return tally.differ == 0 && !broken ? 0 : 1;
}

} // namespace berth::cli
