#include "berth/controllers/disruption/disruption_controller.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/selector.h"
#include "berth/client/events.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/disruption/budget.h"
#include "berth/controllers/fields.h"
#include "berth/controllers/fresh_view.h"
#include "berth/model/pod_selector.h"
#include "berth/store/errors.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::EventType;
using client::GroupKind;
using client::Outcome;

namespace {

namespace json = api::json;

std::vector<std::string> index_by_namespace(const Object& object) {
  return {object.meta().ns};
}

bool selects(const Object& budget, const Object& pod) {
  const auto view = model::pod_selector_view(budget);
  return view && (*view)->selector && (*view)->selector->matches(pod.meta().labels);
}

GroupKind kind_of(const api::OwnerReference& owner) {
  const api::GroupVersionKind gvk = api::make_gvk(owner.api_version, owner.kind);
  return {gvk.group, gvk.kind};
}

/// A label selector as Kubernetes' events show it.
std::string selector_text(const Object& budget) {
  std::string labels;
  if (const json::value* given = api::find_path(budget.json(), "spec.selector.matchLabels");
      given != nullptr && given->is_object()) {
    std::map<std::string, std::string> sorted;
    for (const auto& [key, value] : given->get_object()) {
      sorted.emplace(key, value.is_string() ? value.get_string().c_str() : "");
    }
    for (const auto& [key, value] : sorted) {
      labels += fmt::format("{}: {},", key, value);
    }
  }
  std::string rest;
  for (const json::value& one : array_at(budget.json(), "spec.selector.matchExpressions")) {
    std::string values;
    for (const json::value& value : array_at(one, "values")) {
      values += (values.empty() ? "" : " ") +
                std::string(value.is_string() ? value.get_string().c_str() : "");
    }
    rest += fmt::format("LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
                        api::string_at(one, "key"), api::string_at(one, "operator"), values);
  }
  return fmt::format("&LabelSelector{{MatchLabels:map[string]string{{{}}},MatchExpressions:"
                     "[]LabelSelectorRequirement{{{}}},}}",
                     labels, rest);
}

} // namespace

struct DisruptionController::State : std::enable_shared_from_this<DisruptionController::State> {
  State(client::Client& c, Loop& l, Rng r)
      : client(c), loop(l), recorder(c, l, std::move(r), "controllermanager"),
        queue(l,
              [this](const Key& key, client::WorkQueue::Finish finish) {
                reconcile(key, std::move(finish));
              },
              {.workers = 16}),
        pods(c, l,
             {.what = {.kind = client::kPods, .ns = "", .labels = {}},
              .index_of = index_by_namespace,
              .on_change =
                  [this](const Object& old, const Object& now) {
                    add_budgets_of(old);
                    add_budgets_of(now);
                  },
              .start = FreshView::Start::WhenAsked}),
        budgets(c, l,
                {.what = {.kind = kBudgets, .ns = "", .labels = {}},
                 .index_of = index_by_namespace,
                 .on_change = [this](const Object& old, const Object& now) {
                   pods.start();
                   queue.add((now ? now : old).key());
                 }}) {
    pods.on_sync([this] {
      for (const auto& [key, budget] : budgets.all()) {
        queue.add(key);
      }
    });
  }

  void add_budgets_of(const Object& pod) {
    if (!pod) {
      return;
    }
    for (const Key& key : budgets.keyed(pod.meta().ns)) {
      if (selects(*budgets.find(key), pod)) {
        queue.add(key);
      }
    }
  }

  struct Pass {
    Object budget;
    BudgetQuestion question;
    std::vector<Object> pods;                                ///< keeps those of the question
    std::size_t next = 0;                                    ///< pod whose owner is asked next
    std::map<std::string, std::int64_t, std::less<>> wanted; ///< by the uid that pods name
    std::map<std::string, std::int64_t> scales;              ///< by the uid of who says how many
    std::size_t unmanaged = 0;
    client::WorkQueue::Finish finish;
  };
  using PassPtr = std::shared_ptr<Pass>;

  void reconcile(const Key& key, client::WorkQueue::Finish finish) {
    const Object* budget = budgets.find(key);
    if (!budgets.synced() || !pods.synced() || budget == nullptr) {
      queue.forget(key);
      finish(Outcome::Done);
      return;
    }
    const auto pass = std::make_shared<Pass>();
    pass->budget = *budget;
    pass->finish = std::move(finish);
    for (const Key& at : pods.keyed(key.ns)) {
      if (const Object& pod = *pods.find(at); selects(*budget, pod)) {
        pass->pods.push_back(pod);
      }
    }
    queue.looks_at(key, pods.keyed(key.ns).size());
    if (pass->pods.empty()) {
      recorder.record(*budget, EventType::Normal, "NoPods", "No matching pods found");
    }
    if (asks_owners(*budget)) {
      ask_next_owner(pass);
    } else {
      judge(pass);
    }
  }

  void ask_next_owner(const PassPtr& pass) {
    for (; pass->next < pass->pods.size(); ++pass->next) {
      const api::OwnerReference* owner = pass->pods[pass->next].meta().controller();
      if (owner == nullptr) {
        ++pass->unmanaged;
      } else if (!pass->wanted.contains(owner->uid)) {
        ask(pass, *owner, owner->uid);
        return;
      }
    }
    for (const auto& [uid, scale] : pass->scales) {
      pass->question.owners_want += scale;
    }
    if (pass->unmanaged > 0) {
      recorder.record(pass->budget, EventType::Warning, "UnmanagedPods",
                      fmt::format("Pods selected by this PodDisruptionBudget (selector: {}) were "
                                  "found to be unmanaged. As a result, the status of the PDB "
                                  "cannot be calculated correctly, which may result in undefined "
                                  "behavior. To account for these pods please set "
                                  "\".spec.minAvailable\" field of the PDB to an integer value.",
                                  selector_text(pass->budget)));
    }
    judge(pass);
  }

  /// Asks an owner, or the Deployment that owns it, how many pods it wants.
  void ask(const PassPtr& pass, const api::OwnerReference& owner, const std::string& of_pod) {
    client.get(kind_of(owner), {pass->budget.meta().ns, owner.name},
               [weak = weak_from_this(), pass, owner, of_pod](Result<Object> found) {
                 if (const auto self = weak.lock()) {
                   self->told(pass, owner, of_pod, found);
                 }
               });
  }

  void told(const PassPtr& pass, const api::OwnerReference& owner, const std::string& of_pod,
            const Result<Object>& found) {
    if (!found && found.error().code != Code::NotFound) {
      pass->finish(Outcome::Retry);
      return;
    }
    if (!found || found->meta().uid != owner.uid) {
      fail_sync(pass, fmt::format("found no controllers for pod \"{}\"",
                                  pass->pods[pass->next].meta().name));
      return;
    }
    const api::OwnerReference* above = found->meta().controller();
    if (owner.kind == "ReplicaSet" && above != nullptr && above->kind == "Deployment") {
      ask(pass, *above, of_pod);
      return;
    }
    const std::int64_t scale = number_at(*found, "spec.replicas", -1);
    if (scale < 0) {
      fail_sync(pass, fmt::format("{} does not implement the scale subresource",
                                  store::resource_text(kind_of(owner))));
      return;
    }
    pass->wanted[of_pod] = scale;
    pass->scales[owner.uid] = scale;
    ++pass->next;
    ask_next_owner(pass);
  }

  void fail_sync(const PassPtr& pass, const std::string& why) {
    recorder.record(pass->budget, EventType::Warning, "CalculateExpectedPodCountFailed",
                    "Failed to calculate the number of expected pods: " + why);
    store_status(pass, with_failed_sync(pass->budget, why, loop.now()));
  }

  void judge(const PassPtr& pass) {
    for (const Object& pod : pass->pods) {
      pass->question.pods.push_back(&pod);
    }
    pass->question.now = loop.now();
    const BudgetAnswer answer = judge_budget(pass->budget, pass->question);
    for (const std::string& name : answer.undeleted) {
      if (const Object* pod = pods.find({pass->budget.meta().ns, name})) {
        recorder.record(*pod, EventType::Warning, "NotDeleted",
                        fmt::format("Pod was expected by PDB {}/{} to be deleted but it wasn't",
                                    pass->budget.meta().ns, pass->budget.meta().name));
      }
    }
    if (answer.recheck != TimePoint::max()) {
      queue.add_after(pass->budget.key(), answer.recheck - loop.now());
    }
    store_status(pass, answer.budget);
  }

  void store_status(const PassPtr& pass, const Object& wanted) {
    budgets.store_status(pass->budget, wanted, pass->finish);
  }

  client::Client& client;
  Loop& loop;
  client::EventRecorder recorder;
  client::WorkQueue queue;
  FreshView pods;
  FreshView budgets;
};

DisruptionController::DisruptionController(client::Client& client, Loop& loop, Rng rng)
    : state_(std::make_shared<State>(client, loop, std::move(rng))) {}

DisruptionController::~DisruptionController() = default;

bool DisruptionController::idle() const {
  return state_->queue.idle();
}

} // namespace berth::controllers
