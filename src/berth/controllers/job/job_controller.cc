#include "berth/controllers/job/job_controller.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/base/log.h"
#include "berth/client/events.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/finalizers.h"
#include "berth/controllers/fresh_view.h"
#include "berth/controllers/gather.h"
#include "berth/controllers/job/job_pod.h"
#include "berth/controllers/job/plan.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::EventType;
using client::Outcome;

namespace {

constexpr std::string_view kControllerUidLabel = "batch.kubernetes.io/controller-uid";

/// The Job that controls a pod, as "namespace/name"; none for other pods.
std::vector<std::string> index_by_job(const Object& pod) {
  const api::OwnerReference* owner = pod.meta().controller();
  if (owner == nullptr || owner->kind != "Job" || !owner->api_version.starts_with("batch/")) {
    return {};
  }
  return {Key{pod.meta().ns, owner->name}.to_string()};
}

std::optional<Key> job_of(const Object& pod) {
  if (!pod || index_by_job(pod).empty()) {
    return std::nullopt;
  }
  return Key{pod.meta().ns, pod.meta().controller()->name};
}

/// Whether a failed request may have been carried out all the same.
bool outcome_unknown(const Error& error) {
  return error.code == Code::Timeout || error.code == Code::Unavailable ||
         error.code == Code::Internal;
}

/// What is remembered of a Job between reconciles.
struct Memory {
  std::string uid;
  BackoffRecord backoff;
  /// A live list must come before the next step: after a start with pods not yet counted, or after
  /// a creation whose outcome is unknown.
  bool verify = false;
};

} // namespace

struct JobController::State : std::enable_shared_from_this<JobController::State> {
  State(client::Client& c, Loop& l, Rng r, const Options& options)
      : client(c), loop(l), names(r.fork(1)), recorder(c, l, r.fork(2), "job-controller"),
        queue(l,
              [this](const Key& key, client::WorkQueue::Finish finish) {
                reconcile(key, std::move(finish));
              },
              {.workers = options.workers}),
        jobs(c, l,
             {.what = {.kind = client::kJobs},
              .index_of = {},
              .on_change = [this](const Object& old,
                                  const Object& now) { queue.add((now ? now : old).key()); }}),
        pods(c, l,
             {.what = {.kind = client::kPods},
              .index_of = index_by_job,
              .on_change = [this](const Object& old, const Object& now) {
                pod_changed(old, now);
              }}) {
    const auto restart = [this] {
      for (const auto& [key, job] : jobs.all()) {
        queue.add(key);
      }
    };
    jobs.on_sync(restart);
    pods.on_sync(restart);
  }

  client::Client& client;
  Loop& loop;
  Rng names;
  client::EventRecorder recorder;
  std::map<Key, Memory> memories;
  client::WorkQueue queue;
  FreshView jobs;
  FreshView pods;

  void pod_changed(const Object& old, const Object& now) {
    const auto before = job_of(old);
    const auto after = job_of(now);
    if (before) {
      queue.add(*before);
    }
    if (after && after != before) {
      queue.add(*after);
    }
  }

  /// One reconcile on its way.
  struct Pass {
    Key key;
    Object job;
    std::shared_ptr<const JobState> state;
    JobPlan plan;
    client::WorkQueue::Finish finish;
  };

  void reconcile(const Key& key, client::WorkQueue::Finish finish) {
    if (!jobs.synced() || !pods.synced()) {
      finish(Outcome::Done);
      return;
    }
    const Object* job = jobs.find(key);
    if (job == nullptr) {
      memories.erase(key);
      queue.forget(key);
      release_orphans(key, std::move(finish));
      return;
    }
    const auto state = job_state(*job);
    if (!state) {
      log(LogLevel::Warn, "job-controller",
          fmt::format("job {} is not understood: {}", key.to_string(), to_string(state.error())));
      finish(Outcome::Done);
      return;
    }
    Memory& memory = memories[key];
    if (memory.uid != job->meta().uid) {
      const JobStatus& status = (*state)->status;
      memory = {.uid = job->meta().uid,
                .backoff = {},
                .verify = !status.uncounted_succeeded.empty() || !status.uncounted_failed.empty()};
    }
    if (memory.verify) {
      verify(key, *job, std::move(finish));
      return;
    }
    const auto pass = std::make_shared<Pass>();
    pass->key = key;
    pass->job = *job;
    pass->state = *state;
    pass->finish = std::move(finish);
    decide(*pass, memory);
    act(pass);
  }

  void decide(Pass& pass, Memory& memory) {
    PodFacts facts;
    bool foreign = false;
    for (const Key& key : pods.keyed(pass.key.to_string())) {
      const Object& pod = *pods.find(key);
      if (pod.meta().controller()->uid != memory.uid) {
        foreign = true;
        continue;
      }
      if (auto fact = pod_fact(pod)) {
        memory.backoff.observe(**fact);
        facts.push_back(*std::move(fact));
      }
    }
    queue.looks_at(pass.key, facts.size());
    if (foreign) {
      // Pods of an earlier Job of this name: they may have been left with a finalizer.
      release_orphans(pass.key, [](Outcome) {});
    }
    pass.plan = plan_job(
        {.state = *pass.state, .pods = facts, .backoff = memory.backoff, .now = loop.now()});
  }

  void act(const std::shared_ptr<Pass>& pass) {
    const JobPlan& plan = pass->plan;
    if (plan.wake) {
      queue.add_after(pass->key, *plan.wake - loop.now());
    }
    if (plan.expired) {
      expire(pass);
    } else if (!plan.remove.empty()) {
      remove_pods(pass);
    } else if (!plan.create.empty()) {
      create_pods(pass, 0, 1);
    } else if (plan.status != pass->state->status) {
      store_status(pass);
    } else if (!plan.release.empty()) {
      release_pods(pass);
    } else {
      if (!plan.wake) {
        queue.forget(pass->key); // a timer of earlier plans has nothing to wait for
      }
      pass->finish(Outcome::Done);
    }
  }

  /// Ends a pass that changed something: the Job is looked at again.
  void again(const std::shared_ptr<Pass>& pass, Outcome outcome) {
    if (outcome == Outcome::Done) {
      queue.add(pass->key);
    }
    pass->finish(outcome);
  }

  std::shared_ptr<Gather> gather(const std::shared_ptr<Pass>& pass) {
    return Gather::make([weak = weak_from_this(), pass](Outcome outcome) {
      if (const auto self = weak.lock()) {
        self->again(pass, outcome);
      }
    });
  }

  // ---- creating -------------------------------------------------------------------------------

  /// Creates `plan.create` from `begin` on in batches of 1, 2, 4, ...: a refusal that holds for all
  /// (quota, a broken template) then costs one request, not hundreds.
  void create_pods(const std::shared_ptr<Pass>& pass, std::size_t begin, std::size_t batch) {
    const std::size_t end = std::min(begin + batch, pass->plan.create.size());
    auto all = Gather::make([weak = weak_from_this(), pass, end, batch](Outcome outcome) {
      const auto self = weak.lock();
      if (!self) {
        return;
      }
      if (outcome == Outcome::Done && end < pass->plan.create.size()) {
        self->create_pods(pass, end, batch * 2);
      } else {
        self->again(pass, outcome);
      }
    });
    for (std::size_t i = begin; i < end; ++i) {
      create_pod(pass, pass->plan.create[i], all->expect());
    }
    all->close();
  }

  void create_pod(const std::shared_ptr<Pass>& pass, const PodCreation& wanted,
                  std::function<void(Outcome)> done) {
    auto pod = make_job_pod(pass->job, *pass->state, wanted, names.name_suffix());
    if (!pod) {
      refused(*pass, pod.error());
      done(Outcome::Retry);
      return;
    }
    client.create(*std::move(pod), [weak = weak_from_this(), pass, done](Result<Object> made) {
      const auto self = weak.lock();
      if (!self) {
        return;
      }
      if (!made) {
        self->refused(*pass, made.error());
        done(Outcome::Retry);
        return;
      }
      self->pods.wrote(*made);
      self->recorder.record(pass->job, EventType::Normal, "SuccessfulCreate",
                            fmt::format("Created pod: {}", made->meta().name));
      done(Outcome::Done);
    });
  }

  void refused(const Pass& pass, const Error& error) {
    if (error.code == Code::AlreadyExists) {
      return; // another name next time
    }
    if (outcome_unknown(error)) {
      memories[pass.key].verify = true;
    }
    recorder.record(pass.job, EventType::Warning, "FailedCreate",
                    fmt::format("Error creating: {}", error.message));
  }

  // ---- deleting -------------------------------------------------------------------------------

  void remove_pods(const std::shared_ptr<Pass>& pass) {
    auto all = gather(pass);
    for (const PodRemoval& removal : pass->plan.remove) {
      auto done = all->expect();
      if (removal.counting == PodRemoval::Counting::CountsAsFailed) {
        remove_pod(pass, removal, std::move(done));
        continue;
      }
      release_pod({pass->key.ns, removal.name}, removal.uid,
                  [weak = weak_from_this(), pass, removal, done](Outcome outcome) {
                    const auto self = weak.lock();
                    if (self && outcome == Outcome::Done) {
                      self->remove_pod(pass, removal, done);
                    } else {
                      done(outcome);
                    }
                  });
    }
    all->close();
  }

  void remove_pod(const std::shared_ptr<Pass>& pass, const PodRemoval& removal,
                  std::function<void(Outcome)> done) {
    const Key key{pass->key.ns, removal.name};
    client.remove(client::kPods, key, {.uid = removal.uid},
                  [weak = weak_from_this(), pass, key, removal, done](Result<Object> left) {
                    const auto self = weak.lock();
                    if (!self) {
                      return;
                    }
                    if (left) {
                      self->pods.removed(*left);
                      self->recorder.record(pass->job, EventType::Normal, "SuccessfulDelete",
                                            fmt::format("Deleted pod: {}", key.name));
                      done(Outcome::Done);
                      return;
                    }
                    // Conflict: the uid is another's, so ours is gone.
                    const bool absent =
                        is_gone(left.error()) || left.error().code == Code::Conflict;
                    if (absent) {
                      self->pods.gone(key, removal.uid);
                    }
                    done(absent ? Outcome::Done : Outcome::Retry);
                  });
  }

  static bool is_gone(const Error& error) { return error.code == Code::NotFound; }

  // ---- counting -------------------------------------------------------------------------------

  void store_status(const std::shared_ptr<Pass>& pass) {
    client.update(with_status(pass->job, pass->plan.status, *pass->state),
                  client::Subresource::Status,
                  [weak = weak_from_this(), pass](Result<Object> stored) {
                    if (const auto self = weak.lock()) {
                      self->status_stored(pass, stored);
                    }
                  });
  }

  void status_stored(const std::shared_ptr<Pass>& pass, const Result<Object>& stored) {
    if (!stored) {
      if (stored.error().code == Code::NotFound) {
        jobs.gone(pass->key, pass->job.meta().uid);
        pass->finish(Outcome::Done);
        return;
      }
      pass->finish(Outcome::Retry);
      return;
    }
    jobs.wrote(*stored);
    for (const JobEvent& event : pass->plan.events) {
      recorder.record(*stored,
                      event.type == JobEvent::Type::Normal ? EventType::Normal : EventType::Warning,
                      event.reason, event.message);
    }
    again(pass, Outcome::Done);
  }

  void release_pods(const std::shared_ptr<Pass>& pass) {
    auto all = gather(pass);
    for (const PodName& pod : pass->plan.release) {
      release_pod({pass->key.ns, pod.name}, pod.uid, all->expect());
    }
    all->close();
  }

  /// Takes the tracking finalizer off. A pod that is gone, or has none, is released.
  void release_pod(const Key& key, const std::string& uid, std::function<void(Outcome)> done) {
    const Object* pod = pods.find(key);
    if (pod == nullptr || pod->meta().uid != uid || !has_finalizer(*pod, kJobTrackingFinalizer)) {
      done(Outcome::Done);
      return;
    }
    client.patch(client::kPods, key, without_finalizer(*pod, kJobTrackingFinalizer),
                 client::Subresource::None,
                 [weak = weak_from_this(), key, uid, done](Result<Object> patched) {
                   const auto self = weak.lock();
                   if (!self) {
                     return;
                   }
                   if (patched) {
                     self->pods.wrote(*patched);
                   } else if (is_gone(patched.error())) {
                     self->pods.gone(key, uid);
                   }
                   done(patched || is_gone(patched.error()) ? Outcome::Done : Outcome::Retry);
                 });
  }

  // ---- endings --------------------------------------------------------------------------------

  void expire(const std::shared_ptr<Pass>& pass) {
    client.remove(client::kJobs, pass->key,
                  {.uid = pass->job.meta().uid,
                   .resource_version = pass->job.meta().resource_version,
                   .propagation = client::Propagation::Foreground},
                  [weak = weak_from_this(), pass](Result<Object> left) {
                    const auto self = weak.lock();
                    if (!self) {
                      return;
                    }
                    if (left) {
                      self->jobs.removed(*left);
                    }
                    const bool done = left || left.error().code == Code::NotFound;
                    pass->finish(done ? Outcome::Done : Outcome::Retry);
                  });
  }

  /// Pods whose Job is gone keep their finalizer for nothing; that it is gone is checked with a
  /// live read first.
  void release_orphans(const Key& job, client::WorkQueue::Finish finish) {
    std::vector<std::pair<Key, api::ObjectMeta>> tracked;
    for (const Key& key : pods.keyed(job.to_string())) {
      const Object& pod = *pods.find(key);
      if (has_finalizer(pod, kJobTrackingFinalizer)) {
        tracked.emplace_back(key, pod.meta());
      }
    }
    if (tracked.empty()) {
      finish(Outcome::Done);
      return;
    }
    client.get(client::kJobs, job, [weak = weak_from_this(), tracked, finish](Result<Object> live) {
      const auto self = weak.lock();
      if (!self) {
        return;
      }
      if (!live && live.error().code != Code::NotFound) {
        finish(Outcome::Retry);
        return;
      }
      auto all = Gather::make(finish);
      for (const auto& [key, meta] : tracked) {
        if (!live || live->meta().uid != meta.controller()->uid) {
          self->release_pod(key, meta.uid, all->expect());
        }
      }
      all->close();
    });
  }

  /// Reads the Job's pods from the server, so that none that exists is missing from the view.
  void verify(const Key& key, const Object& job, client::WorkQueue::Finish finish) {
    client::ListOptions what{.kind = client::kPods, .ns = key.ns};
    what.labels.requirements.push_back(
        {.key = std::string(kControllerUidLabel), .values = {job.meta().uid}});
    client.list(what, [weak = weak_from_this(), key, finish](Result<client::ObjectList> list) {
      const auto self = weak.lock();
      if (!self) {
        return;
      }
      if (!list) {
        finish(Outcome::Retry);
        return;
      }
      for (const Object& pod : list->items) {
        self->pods.wrote(pod);
      }
      self->memories[key].verify = false;
      self->queue.add(key);
      finish(Outcome::Done);
    });
  }
};

JobController::JobController(client::Client& client, Loop& loop, Rng rng, const Options& options)
    : state_(std::make_shared<State>(client, loop, rng, options)) {}

bool JobController::idle() const {
  return state_->queue.idle();
}

JobController::~JobController() = default;

} // namespace berth::controllers
