#include "berth/cli/run/alone.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/virtual_loop.h"
#include "berth/cli/run/drive.h"
#include "berth/model/pod.h"
#include "berth/scheduler/scheduler.h"

namespace berth::cli {
namespace {

namespace json = api::json;
using report::Alone;

constexpr Duration kPatience = Duration::hours(2); // of virtual time, for one question

void drop(json::object& object, std::initializer_list<std::string_view> fields) {
  for (const std::string_view field : fields) {
    if (const auto it = object.find(field); it != object.end()) {
      object.stable_erase(it);
    }
  }
}

// The pod as somebody would submit it, to run until told otherwise.
api::Object fresh(const api::Object& pod) {
  return pod.edit([](json::object& document) {
    drop(document, {"status"});
    json::object& meta = document["metadata"].as_object();
    drop(meta, {"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
                "deletionGracePeriodSeconds", "ownerReferences", "managedFields", "generateName",
                "finalizers"});
    if (const auto it = meta.find("annotations"); it != meta.end() && it->value().is_object()) {
      drop(it->value().as_object(), {model::kRunForAnnotation, model::kGpuIndicesAnnotation});
    }
    if (const auto it = document.find("spec"); it != document.end() && it->value().is_object()) {
      drop(it->value().as_object(), {"nodeName", "priority", "preemptionPolicy"});
    }
  });
}

/// Equal for pods that are treated alike.
std::string signature(const api::Object& pod) {
  const api::Object named = pod.edit([](json::object& document) {
    json::object& meta = document["metadata"].as_object();
    meta["name"] = "x";
    for (const char* map : {"labels", "annotations"}) {
      if (const auto it = meta.find(map); it != meta.end() && it->value().is_object()) {
        drop(it->value().as_object(), {"batch.kubernetes.io/job-completion-index"});
      }
    }
    if (const auto it = document.find("spec"); it != document.end() && it->value().is_object()) {
      drop(it->value().as_object(), {"hostname"});
    }
  });
  return named.bytes();
}

/// The empty cluster, used for one question after the other.
class EmptyCluster {
 public:
  explicit EmptyCluster(const AloneQuestion& question)
      : loop_(virtual_start()),
        cluster_(loop_, without_faults(*question.spec), forever(question.options)) {
    turn();
    std::vector<api::Manifest> context;
    for (const api::Manifest& manifest : *question.objects) {
      static constexpr std::array kContext = {
          "Namespace",    "PriorityClass",    "PodGroup",
          "StorageClass", "PersistentVolume", "PersistentVolumeClaim",
          "CSINode",      "ElasticQuota",     "NodeResourceTopology"};
      if (std::ranges::find(kContext, manifest.object.gvk().kind) != kContext.end()) {
        context.push_back(manifest);
      }
    }
    apply(std::move(context));
  }

  AloneAnswer ask(const std::vector<api::Object>& pods) {
    std::vector<api::Manifest> manifests;
    for (const api::Object& pod : pods) {
      manifests.push_back({.object = pod, .where = {}});
    }
    const bool accepted = apply(std::move(manifests));
    std::set<api::Key> running;
    std::string refusal;
    bool faulted = false;
    for (const api::Object& pod : pods) {
      cluster_.client().get(client::kPods, pod.key(), [&](Result<api::Object> now) {
        const auto view = now ? model::pod_view(*now) : tl::unexpected(now.error());
        if (!view) {
          return;
        }
        if ((*view)->status.phase == "Running") {
          running.insert(now->key());
        }
        const model::Condition* scheduled = (*view)->status.condition("PodScheduled");
        if (refusal.empty() && scheduled != nullptr && scheduled->status == "False") {
          refusal = scheduled->message;
          faulted = scheduled->reason == "SchedulerError";
        }
      });
    }
    loop_.run_until(loop_.now());
    clear(pods);
    if (accepted && running.size() == pods.size()) {
      return {.alone = Alone::Runs};
    }
    if (faulted) {
      return {}; // e.g. an extender that cannot be reached: nobody has said no
    }
    return {.alone = Alone::Never, .message = std::move(refusal)};
  }

 private:
  static cluster::ClusterSpec without_faults(cluster::ClusterSpec spec) {
    spec.faults.clear();
    return spec;
  }
  static cluster::ClusterOptions forever(cluster::ClusterOptions options) {
    options.default_run_for = Duration::max();
    options.explain.clear();
    if (options.scheduler != nullptr && !options.scheduler->extenders.empty()) {
      // The question has a virtual clock of its own, whatever loop the run's calls live on.
      auto own = std::make_shared<scheduler::SchedulerOptions>(*options.scheduler);
      own->poster = scheduler::blocking_poster();
      options.scheduler = std::move(own);
    }
    return options;
  }

  // Turns the loop until the cluster has settled.
  void turn() {
    const TimePoint end = loop_.now() + kPatience;
    while (loop_.next() <= end) {
      if (loop_.next() > loop_.now() && cluster_.settled()) {
        return;
      }
      loop_.step();
    }
  }

  // Whether the API took every object.
  bool apply(std::vector<api::Manifest> manifests) {
    bool answered = false;
    bool accepted = true;
    cluster_.apply(std::move(manifests), [&](const std::vector<cluster::Applied>& results) {
      answered = true;
      accepted = std::ranges::all_of(
          results, [](const auto& applied) { return applied.result.has_value(); });
    });
    while (!answered && loop_.step()) {
    }
    turn();
    return accepted;
  }

  void clear(const std::vector<api::Object>& pods) {
    for (const api::Object& pod : pods) {
      const client::DeleteOptions now{.grace_period_seconds = 0, .uid = {}, .resource_version = {}};
      cluster_.client().remove(client::kPods, pod.key(), now, [](const Result<api::Object>&) {});
    }
    loop_.run_until(loop_.now() + Duration::seconds(1));
    turn();
  }

  VirtualLoop loop_;
  cluster::Cluster cluster_;
};

} // namespace

std::map<std::string, AloneAnswer>
ask_alone(const AloneQuestion& question,
          const std::vector<std::shared_ptr<const cluster::PodWalk>>& stuck,
          const std::vector<std::shared_ptr<const cluster::PodWalk>>& all) {
  std::map<std::string, AloneAnswer> answers;
  std::map<std::string, AloneAnswer> by_signature;
  std::optional<EmptyCluster> empty;
  for (const auto& walk : stuck) {
    const auto pod = model::pod_view(walk->last);
    if (!pod) {
      continue;
    }
    std::vector<api::Object> pods = {fresh(walk->last)};
    const std::string_view gang = (*pod)->pod_group();
    std::string shape = signature(pods[0]);
    if (!gang.empty()) {
      shape = fmt::format("gang {}/{}", walk->key.ns, gang);
      for (const auto& other : all) {
        const auto member = model::pod_view(other->last);
        const bool gone =
            other->state == cluster::PodState::Deleted || other->state == cluster::PodState::Failed;
        if (other != walk && !gone && member && (*member)->meta.ns == walk->key.ns &&
            (*member)->pod_group() == gang) {
          pods.push_back(fresh(other->last));
        }
      }
    }
    auto answer = by_signature.find(shape);
    if (answer == by_signature.end()) {
      if (!empty) {
        empty.emplace(question);
      }
      answer = by_signature.emplace(shape, empty->ask(pods)).first;
    }
    answers.emplace(walk->key.to_string(), answer->second);
  }
  return answers;
}

} // namespace berth::cli
