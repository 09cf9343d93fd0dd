#include "berth/cli/run/stuck.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/model/requests.h"

namespace berth::cli {
namespace {

using cluster::PodState;

constexpr std::string_view kInsufficient = "Insufficient ";

struct Finding {
  std::string code;
  std::string summary;
};

std::int64_t amount(const model::ResourceList& list, std::string_view name) {
  const auto it = list.find(name);
  return it == list.end() ? 0 : it->second.value();
}

std::string asks_of(const model::Pod& pod) {
  const model::ResourceList wanted = model::effective_requests(pod.spec);
  std::string out;
  const auto add = [&](const std::string& name, const api::Quantity& quantity) {
    if (!quantity.is_zero()) {
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", quantity.to_string(), name);
    }
  };
  // Devices first: they are what GPU pods wait for.
  for (const auto& [name, quantity] : wanted) {
    if (name.find('/') != std::string::npos) {
      add(name, quantity);
    }
  }
  for (const auto& [name, quantity] : wanted) {
    if (name.find('/') == std::string::npos) {
      add(name, quantity);
    }
  }
  return out;
}

std::string gpus_text(std::int64_t n) {
  return fmt::format("{} GPU{}", n, n == 1 ? "" : "s");
}

Finding about_gpus(std::int64_t wanted, report::Alone alone, const std::vector<NodeRoom>& nodes) {
  std::int64_t largest = 0;
  std::int64_t free = 0;
  std::int64_t best_free = 0;
  std::string best;
  for (const NodeRoom& node : nodes) {
    largest = std::max(largest, amount(node.allocatable, model::kGpuResource));
    free += node.gpus_free;
    if (node.gpus_free > best_free) {
      best_free = node.gpus_free;
      best = node.name;
    }
  }
  if (largest == 0) {
    return {"RESOURCE_NOT_ADVERTISED", "can never fit: no node of this cluster has GPUs"};
  }
  if (wanted > largest && alone != report::Alone::Runs) {
    return {"GPU_EXCEEDS_NODE",
            fmt::format("can never fit: asks for {} on one node, the largest node has {}",
                        gpus_text(wanted), largest)};
  }
  if (alone == report::Alone::Never) {
    return {"GPU_INSUFFICIENT",
            "can never fit: no node that this pod may use has enough GPUs, even when empty"};
  }
  if (best_free >= wanted) {
    return {"GPU_BUSY", fmt::format("waits for others: of the nodes it may use, none has {} free",
                                    gpus_text(wanted))};
  }
  if (free >= wanted) {
    return {"GPU_FRAGMENTED",
            fmt::format("{} are free, but no node has {} of them: {} comes closest with {}",
                        gpus_text(free), wanted, best, best_free)};
  }
  return {"GPU_BUSY", fmt::format("waits for others: {} wanted, {} free in the cluster",
                                  gpus_text(wanted), free)};
}

Finding about_resource(const std::string& name, const model::ResourceList& wanted,
                       report::Alone alone, const std::vector<NodeRoom>& nodes) {
  std::optional<api::Quantity> largest;
  for (const NodeRoom& node : nodes) {
    if (const auto it = node.allocatable.find(name); it != node.allocatable.end()) {
      largest = largest ? std::max(*largest, it->second) : it->second;
    }
  }
  if (!largest || largest->is_zero()) {
    return {"RESOURCE_NOT_ADVERTISED",
            fmt::format("can never fit: no node of this cluster has {}", name)};
  }
  const auto asked = wanted.find(name);
  if (asked != wanted.end() && asked->second > *largest && alone != report::Alone::Runs) {
    return {"RESOURCE_EXCEEDS_NODE",
            fmt::format("can never fit: asks for {} {} on one node, the largest node has {}",
                        asked->second.to_string(), name, largest->to_string())};
  }
  if (alone == report::Alone::Never) {
    return {"RESOURCE_INSUFFICIENT",
            fmt::format("can never fit: no node that this pod may use has enough {}", name)};
  }
  return {"RESOURCE_BUSY", fmt::format("waits for others: {} is taken", name)};
}

/// A rule about nodes: what follows "2 nodes" in plain words.
struct Phrase {
  std::string_view part; ///< of kube-scheduler's reason
  std::string_view code;
  std::string_view plain;
};

constexpr std::array kPhrases = {
    Phrase{"untolerated taint", "TAINT_NOT_TOLERATED", "with a taint that it does not tolerate"},
    Phrase{"didn't match Pod's node affinity/selector", "NODE_AFFINITY_MISMATCH",
           "without the labels that its nodeSelector or node affinity asks for"},
    Phrase{"didn't match the requested node name", "NODE_NAME_MISMATCH",
           "of another name than its nodeName"},
    Phrase{"were unschedulable", "NODE_CORDONED", "cordoned (spec.unschedulable)"},
    Phrase{"at most one replica", "ONE_REPLICA_A_CONTAINER",
           "that give at most one replica of a GPU to a container: ask for 1, in each container"},
    Phrase{"free ports", "PORT_TAKEN", "whose host ports are taken"},
    Phrase{"Too many pods", "NODE_FULL", "with as many pods as they take"},
    Phrase{"pod affinity rules", "POD_AFFINITY_MISMATCH",
           "where its affinity to other pods is not met"},
    Phrase{"anti-affinity", "POD_ANTI_AFFINITY", "where anti-affinity between pods forbids it"},
    Phrase{"topology spread constraints", "TOPOLOGY_SPREAD",
           "where its topology spread constraints forbid it"},
    Phrase{"persistent volumes to bind", "VOLUME_UNAVAILABLE",
           "where there is no volume for its claims and none can be made"},
    Phrase{"enough free storage", "VOLUME_UNAVAILABLE",
           "where its driver has no room for a volume of its claim"},
    Phrase{"PersistentVolume's node affinity", "VOLUME_UNAVAILABLE",
           "that do not reach the volume of its claim"},
    Phrase{"available volume zone", "VOLUME_UNAVAILABLE", "in another zone than its volume"},
    Phrase{"non-existent pv(s)", "VOLUME_UNAVAILABLE", "since the volume of its claim is gone"},
    Phrase{"max volume count", "VOLUME_LIMIT", "with as many volumes as their driver attaches"},
    Phrase{"ReadWriteOncePod", "VOLUME_IN_USE",
           "since another pod uses its ReadWriteOncePod claim"},
    Phrase{"no available disk", "VOLUME_IN_USE", "where another pod has its disk"},
};

const Phrase* phrase_of(std::string_view reason) {
  const auto it = std::ranges::find_if(kPhrases, [&](const Phrase& phrase) {
    return reason.find(phrase.part) != std::string_view::npos;
  });
  return it == kPhrases.end() ? nullptr : &*it;
}

// Every rule with the number of nodes it takes away: no single one of them is the reason.
std::string about_rules(const std::vector<Reason>& reasons, report::Alone alone) {
  std::string out;
  for (const Reason& reason : reasons) {
    const Phrase* phrase = phrase_of(reason.text);
    std::string_view text = phrase == nullptr ? std::string_view(reason.text) : phrase->plain;
    constexpr std::string_view kNodes = "node(s) ";
    text.remove_prefix(text.starts_with(kNodes) ? kNodes.size() : 0);
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", reason.nodes, text);
  }
  return fmt::format("{}no node will do ({})",
                     alone == report::Alone::Never ? "can never fit: " : "", out);
}

// A gang that has not all its pods yet, or no PodGroup; nullopt: that is not what is missing.
std::optional<Finding> about_incomplete_gang(std::string_view gang, std::string_view message) {
  if (gang.empty()) {
    return std::nullopt;
  }
  if (message.find("PodGroup not found") != std::string_view::npos) {
    return Finding{"GANG_INCOMPLETE",
                   fmt::format("the PodGroup {} that it names is not there", gang)};
  }
  const auto number_after = [&](std::string_view words) -> std::optional<std::int64_t> {
    const std::size_t at = message.find(words);
    std::int64_t number = 0;
    if (at == std::string_view::npos) {
      return std::nullopt;
    }
    const char* from = message.data() + at + words.size();
    const auto read = std::from_chars(from, message.data() + message.size(), number);
    return read.ec == std::errc() ? std::optional(number) : std::nullopt;
  };
  const auto have = number_after("current pods number: ");
  const auto need = number_after("minMember of group: ");
  if (!have || !need) {
    return std::nullopt;
  }
  return Finding{"GANG_INCOMPLETE", fmt::format("its gang {} has {} of the {} pods that it needs",
                                                gang, *have, *need)};
}

// The pod's volume claims keep it from every node; nullopt: they do not.
std::optional<Finding> about_claims(std::string_view message) {
  const auto says = [&](std::string_view part) {
    return message.find(part) != std::string_view::npos;
  };
  if (says("unbound immediate PersistentVolumeClaims")) {
    return Finding{"CLAIM_NOT_BOUND",
                   "a volume claim it uses has no volume: none matches and its storage class makes "
                   "none, or it has no storage class"};
  }
  if (says("persistentvolumeclaim \"") || says("PVC ")) {
    return Finding{"CLAIM_NOT_USABLE", says("not found")
                                           ? "a volume claim it uses is not there"
                                           : "a volume claim it uses is gone or another's"};
  }
  return std::nullopt;
}

// What one member lacks is what the gang lacks as a whole, unless that member could never run.
Finding for_gang(Finding finding, std::string_view gang, report::Alone alone) {
  const bool of_one_pod = finding.code != "GPU_INSUFFICIENT" && finding.code != "GPU_FRAGMENTED" &&
                          finding.code != "GPU_BUSY" && finding.code != "RESOURCE_INSUFFICIENT" &&
                          finding.code != "RESOURCE_BUSY";
  if (gang.empty() || of_one_pod) {
    return finding;
  }
  if (alone == report::Alone::Never) {
    return {"GANG_WAITING",
            fmt::format("can never fit: the pods of its gang {} do not fit together, "
                        "even in an empty cluster",
                        gang)};
  }
  return {"GANG_WAITING",
          fmt::format("waits for others: its gang {} does not fit as a whole now", gang)};
}

// What decides: devices before cpu and memory before rules about nodes, because only nodes that
// passed the rules are asked for room.
Finding about_message(const model::Pod& pod, std::string_view message, report::Alone alone,
                      const std::vector<NodeRoom>& nodes) {
  const model::ResourceList wanted = model::effective_requests(pod.spec);
  const std::vector<Reason> reasons = parse_failed_scheduling(message);
  std::vector<std::string> short_of;
  for (const Reason& reason : reasons) {
    if (reason.text.starts_with(kInsufficient)) {
      short_of.push_back(reason.text.substr(kInsufficient.size()));
    }
  }
  std::ranges::stable_sort(short_of, [](const std::string& a, const std::string& b) {
    const auto rank = [](const std::string& s) {
      return s == model::kGpuResource ? 0 : s.find('/') != s.npos ? 1 : 2;
    };
    return rank(a) < rank(b);
  });
  if (auto incomplete = about_incomplete_gang(pod.pod_group(), message)) {
    return *std::move(incomplete);
  }
  if (auto claims = reasons.empty() ? about_claims(message) : std::nullopt) {
    return *std::move(claims);
  }
  if (!short_of.empty()) {
    return for_gang(short_of[0] == model::kGpuResource
                        ? about_gpus(model::gpu_request(pod.spec), alone, nodes)
                        : about_resource(short_of[0], wanted, alone, nodes),
                    pod.pod_group(), alone);
  }
  for (const Phrase& phrase : kPhrases) {
    if (std::ranges::any_of(reasons,
                            [&](const Reason& r) { return phrase_of(r.text) == &phrase; })) {
      return {std::string(phrase.code), about_rules(reasons, alone)};
    }
  }
  if (!pod.pod_group().empty()) {
    return {"GANG_WAITING", fmt::format("waits for its gang {}: all members are placed or none is",
                                        pod.pod_group())};
  }
  return {"UNSCHEDULABLE",
          reasons.empty() ? "the scheduler refuses it" : about_rules(reasons, alone)};
}

// "container trainer ended with exit code 3"; the first one that did not end well.
std::string failed_container(const api::Object& pod) {
  if (!pod) {
    return "";
  }
  for (const char* list : {"status.initContainerStatuses", "status.containerStatuses"}) {
    const api::json::value* statuses = api::find_path(pod.json(), list);
    if (statuses == nullptr || !statuses->is_array()) {
      continue;
    }
    for (const api::json::value& status : statuses->as_array()) {
      const api::json::value* code = api::find_path(status, "state.terminated.exitCode");
      boost::system::error_code ignored;
      const auto number =
          code != nullptr && code->is_number() ? code->to_number<std::int64_t>(ignored) : 0;
      if (number != 0) {
        return fmt::format("container {} ended with exit code {}", api::string_at(status, "name"),
                           number);
      }
    }
  }
  return "";
}

// Why a pod that is to go is still there.
Finding about_terminating(const model::Pod& pod, const std::vector<NodeRoom>& nodes) {
  const auto node = std::ranges::find(nodes, pod.spec.node_name, &NodeRoom::name);
  if (node == nodes.end() || !node->ready) {
    return {
        "TERMINATING",
        fmt::format("being deleted, but its node {} does not say that its containers have ended",
                    pod.spec.node_name)};
  }
  if (!pod.meta.finalizers.empty()) {
    return {"TERMINATING",
            fmt::format("being deleted, held by the finalizer {}", pod.meta.finalizers.front())};
  }
  return {"TERMINATING", "being deleted, its containers are still ending"};
}

Finding about_failed(const model::Pod& pod, const api::Object& object) {
  const std::string& reason = pod.status.reason;
  static constexpr std::array kRefusals = {
      "UnexpectedAdmissionError", "OutOfcpu",     "OutOfmemory",           "OutOfpods",
      "OutOfnvidia.com/gpu",      "NodeAffinity", "TopologyAffinityError", "NodePorts"};
  if (std::ranges::find(kRefusals, reason) != kRefusals.end()) {
    return {"KUBELET_REJECTED", "the node's agent refused it after it was bound"};
  }
  if (reason == "Evicted" || reason == "NodeLost" || reason == "NodeShutdown") {
    return {"EVICTED", "it was evicted from its node"};
  }
  if (reason == "DeadlineExceeded") {
    return {"DEADLINE_EXCEEDED", "it ran into its activeDeadlineSeconds"};
  }
  const model::Condition* disrupted = pod.status.condition("DisruptionTarget");
  if (disrupted != nullptr && disrupted->status == "True") {
    return {"EVICTED",
            disrupted->reason == "DeletionByPodGC"
                ? fmt::format("given up, for its node {} is not there", pod.spec.node_name)
                : fmt::format("evicted: {}", disrupted->message)};
  }
  const std::string which = failed_container(object);
  return {"CONTAINER_FAILED", which.empty() ? "a container ended with an error" : which};
}

Finding about_pending(const model::Pod& pod, const cluster::PodWalk& walk, const AloneAnswer& alone,
                      const std::vector<NodeRoom>& nodes, SchedulerOfPod scheduler) {
  if (walk.state == PodState::Gated) {
    return {"SCHEDULING_GATED", "held by its scheduling gates until somebody removes them"};
  }
  const model::Condition* scheduled = pod.status.condition("PodScheduled");
  if (scheduled != nullptr && scheduled->reason == "SchedulingGated") {
    scheduled = nullptr; // left behind by gates that are open
  }
  if (!pod.spec.node_name.empty()) {
    const bool known = std::ranges::find(nodes, pod.spec.node_name, &NodeRoom::name) != nodes.end();
    return known ? Finding{"STARTING", "bound, its containers are not running yet"}
                 : Finding{"NODE_UNKNOWN",
                           fmt::format("spec.nodeName names a node that is not there: {}",
                                       pod.spec.node_name)};
  }
  if (scheduled == nullptr && scheduler == SchedulerOfPod::Elsewhere) {
    return {"OTHER_SCHEDULER", fmt::format("it is for the scheduler {}, which does not run here",
                                           pod.spec.scheduler_name)};
  }
  if (scheduled == nullptr) {
    return {"NOT_TRIED", "the scheduler has not come to it yet"};
  }
  if (nodes.empty()) {
    return {"NO_NODES", "this cluster has no nodes"};
  }
  if (scheduled->reason == "SchedulerError") {
    return {"SCHEDULER_ERROR", "the scheduler failed to decide or to bind, and tries again"};
  }
  // What the pod lacks in an empty cluster is why it never fits; here others may hide that.
  const bool never = alone.alone == report::Alone::Never && !alone.message.empty();
  return about_message(pod, never ? alone.message : scheduled->message, alone.alone, nodes);
}

std::string message_of(const model::Pod& pod) {
  if (pod.status.phase == "Failed") {
    const std::string& reason = pod.status.reason;
    const std::string& message = pod.status.message;
    return reason.empty() || message.empty() ? reason + message
                                             : fmt::format("{}: {}", reason, message);
  }
  const model::Condition* scheduled = pod.status.condition("PodScheduled");
  return scheduled != nullptr && scheduled->status == "False" ? scheduled->message
                                                              : pod.status.message;
}

} // namespace

std::vector<Reason> parse_failed_scheduling(std::string_view message) {
  constexpr std::string_view kIntro = "nodes are available: ";
  const std::size_t intro = message.find(kIntro);
  if (intro == std::string_view::npos) {
    return {};
  }
  std::string_view rest = message.substr(intro + kIntro.size());
  rest = rest.substr(0, rest.find(". ")); // what PostFilter plugins add follows the full stop
  if (rest.ends_with('.')) {
    rest.remove_suffix(1);
  }
  std::vector<Reason> out;
  // A reason begins with a number; text after a comma that does not belongs to the reason before.
  while (!rest.empty()) {
    std::size_t comma = rest.find(", ");
    while (comma != std::string_view::npos && comma + 2 < rest.size() &&
           (rest[comma + 2] < '0' || rest[comma + 2] > '9')) {
      comma = rest.find(", ", comma + 2);
    }
    const std::string_view one = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 2);
    Reason reason;
    const auto [end, problem] = std::from_chars(one.data(), one.data() + one.size(), reason.nodes);
    const std::size_t digits = static_cast<std::size_t>(end - one.data());
    if (problem == std::errc() && digits < one.size()) {
      reason.text = one.substr(digits + 1);
      out.push_back(std::move(reason));
    }
  }
  return out;
}

report::StuckPod explain_stuck(const model::Pod& pod, const cluster::PodWalk& walk,
                               const AloneAnswer& alone, const std::vector<NodeRoom>& nodes,
                               SchedulerOfPod scheduler) {
  const bool failed = walk.state == PodState::Failed;
  const bool terminating = !failed && pod.meta.deletion_timestamp.has_value();
  Finding finding = failed        ? about_failed(pod, walk.last)
                    : terminating ? about_terminating(pod, nodes)
                                  : about_pending(pod, walk, alone, nodes, scheduler);
  return {.ns = walk.key.ns,
          .name = walk.key.name,
          .phase = failed                            ? "Failed"
                   : walk.state == PodState::Running ? "Running"
                                                     : "Pending",
          .code = std::move(finding.code),
          .summary = std::move(finding.summary),
          .message = terminating ? "" : message_of(pod),
          .asks = failed || terminating ? "" : asks_of(pod),
          .alone = alone.alone,
          .waiting = {}};
}

} // namespace berth::cli
