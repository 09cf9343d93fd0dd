#include "berth/controllers/cron_job/cron_job_controller.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/client/events.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/adoption.h"
#include "berth/controllers/cron_job/cron_job_document.h"
#include "berth/controllers/cron_job/timing.h"
#include "berth/controllers/fields.h"
#include "berth/controllers/fresh_view.h"
#include "berth/controllers/gather.h"
#include "berth/store/errors.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::EventType;
using client::Outcome;

namespace {

namespace json = api::json;

constexpr std::string_view kKind = "CronJob";

TimePoint time_at(const Object& object, std::string_view path, TimePoint fallback) {
  return parse_rfc3339(api::string_at(object.json(), path)).value_or(fallback);
}

/// "Mon, 02 Jan 2006 15:04:05 +0000"
std::string rfc1123(TimePoint time) {
  static constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed",
                                                            "Thu", "Fri", "Sat"};
  static constexpr std::array<std::string_view, 12> kMonths = {
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const CivilTime civil = TimeZone().at(time);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} +0000",
                     kDays[static_cast<std::size_t>(civil.weekday)], civil.day,
                     kMonths[static_cast<std::size_t>(civil.month - 1)], civil.year, civil.hour,
                     civil.minute, civil.second);
}

} // namespace

struct CronJobController::State : std::enable_shared_from_this<CronJobController::State> {
  State(client::Client& c, Loop& l, Rng r)
      : client(c), loop(l), recorder(c, l, std::move(r), "cronjob-controller"),
        queue(l,
              [this](const Key& key, client::WorkQueue::Finish finish) {
                reconcile(key, std::move(finish));
              },
              {.workers = 5}),
        jobs(c, l,
             {.what = {.kind = client::kJobs, .ns = "", .labels = {}},
              .index_of = index_by_controller(kKind),
              .on_change =
                  [this](const Object& old, const Object& now) {
                    add_owner(old);
                    add_owner(now);
                  },
              .start = FreshView::Start::WhenAsked}),
        crons(c, l,
              {.what = {.kind = kCronJobs, .ns = "", .labels = {}},
               .index_of = {},
               .on_change = [this](const Object& old, const Object& now) {
                 jobs.start();
                 queue.add((now ? now : old).key());
               }}) {
    jobs.on_sync([this] {
      for (const auto& [key, cron] : crons.all()) {
        queue.add(key);
      }
    });
  }

  void add_owner(const Object& job) {
    const api::OwnerReference* owner = job ? job.meta().controller() : nullptr;
    if (owner != nullptr && owner->kind == kKind) {
      queue.add({job.meta().ns, owner->name});
    }
  }

  struct Pass {
    Object cron;
    json::object status; ///< as it will be
    std::vector<Object> jobs;
    TimeZone zone;
    std::optional<model::CronSchedule> schedule;
    client::WorkQueue::Finish finish;
  };
  using PassPtr = std::shared_ptr<Pass>;

  void reconcile(const Key& key, client::WorkQueue::Finish finish) {
    const Object* cron = crons.find(key);
    if (!crons.synced() || !jobs.synced() || cron == nullptr) {
      queue.forget(key);
      finish(Outcome::Done);
      return;
    }
    const auto pass = std::make_shared<Pass>();
    pass->cron = *cron;
    pass->finish = std::move(finish);
    if (const json::value* status = api::find(cron->json(), "status");
        status != nullptr && status->is_object()) {
      pass->status = status->get_object();
    }
    for (const Key& at : jobs.keyed(key.to_string())) {
      const Object& job = *jobs.find(at);
      if (job.meta().controller()->uid == cron->meta().uid) {
        pass->jobs.push_back(job);
      }
    }
    look_at_jobs(*pass);
    delete_surplus(pass, [this, pass] { decide(pass); });
  }

  /// Brings status.active and lastSuccessfulTime up to date.
  void look_at_jobs(Pass& pass) {
    const auto active = active_uids(pass.cron);
    for (const Object& job : pass.jobs) {
      const bool listed = std::ranges::find(active, job.meta().uid) != active.end();
      const std::string_view ended = finished_as(job);
      if (!listed && ended.empty() && !job.meta().deletion_timestamp) {
        recorder.record(pass.cron, EventType::Warning, "UnexpectedJob",
                        fmt::format("Saw a job that the controller did not create or forgot: {}",
                                    job.meta().name));
      } else if (listed && !ended.empty()) {
        drop_active(pass.status, job.meta().uid);
        recorder.record(
            pass.cron, EventType::Normal, "SawCompletedJob",
            fmt::format("Saw completed job: {}, condition: {}", job.meta().name, ended));
      }
      const std::string_view completed = api::string_at(job.json(), "status.completionTime");
      const json::value held(pass.status);
      if (ended == "Complete" && completed > api::string_at(held, "lastSuccessfulTime")) {
        pass.status["lastSuccessfulTime"] = completed;
      }
    }
    for (const json::value& one : array_at(pass.cron.json(), "status.active")) {
      const std::string_view uid = api::string_at(one, "uid");
      const bool there =
          std::ranges::any_of(pass.jobs, [&](const Object& job) { return job.meta().uid == uid; });
      if (!there) {
        drop_active(pass.status, uid);
        recorder.record(pass.cron, EventType::Normal, "MissingJob",
                        fmt::format("Active job went missing: {}", api::string_at(one, "name")));
      }
    }
  }

  /// The oldest finished Jobs beyond the limits.
  void delete_surplus(const PassPtr& pass, const std::function<void()>& then) {
    const auto all = Gather::make([weak = weak_from_this(), then](Outcome) {
      if (weak.lock()) {
        then();
      }
    });
    for (const auto& [end, field] : {std::pair("Complete", "spec.successfulJobsHistoryLimit"),
                                     {"Failed", "spec.failedJobsHistoryLimit"}}) {
      const std::int64_t limit = number_at(pass->cron, field, -1);
      std::vector<Object> ended;
      for (const Object& job : pass->jobs) {
        if (finished_as(job) == end && !job.meta().deletion_timestamp) {
          ended.push_back(job);
        }
      }
      std::ranges::sort(ended, {}, [](const Object& job) {
        return std::pair(time_at(job, "status.startTime", TimePoint::max()), job.meta().name);
      });
      if (limit < 0 || static_cast<std::size_t>(limit) >= ended.size()) {
        continue;
      }
      ended.resize(ended.size() - static_cast<std::size_t>(limit));
      for (const Object& job : ended) {
        delete_job(pass, job, all->expect());
      }
    }
    all->close();
  }

  void delete_job(const PassPtr& pass, const Object& job,
                  const std::function<void(Outcome)>& done) {
    client.remove(client::kJobs, job.key(),
                  {.uid = job.meta().uid, .propagation = client::Propagation::Background},
                  [weak = weak_from_this(), pass, job, done](const Result<Object>& left) {
                    const auto self = weak.lock();
                    if (!self) {
                      return;
                    }
                    const bool absent = !left && left.error().code == Code::NotFound;
                    if (left) {
                      self->jobs.removed(*left);
                      self->recorder.record(pass->cron, EventType::Normal, "SuccessfulDelete",
                                            fmt::format("Deleted job {}", job.meta().name));
                    } else if (absent) {
                      self->jobs.gone(job.key(), job.meta().uid);
                    } else {
                      self->recorder.record(pass->cron, EventType::Warning, "FailedDelete",
                                            "Deleted job: " + left.error().message);
                    }
                    if (left || absent) {
                      drop_active(pass->status, job.meta().uid);
                    }
                    done(left || absent ? Outcome::Done : Outcome::Retry);
                  });
  }

  /// What the CronJob says of time; an event tells what cannot be read.
  bool read_schedule(Pass& pass) {
    const std::string_view zone = api::string_at(pass.cron.json(), "spec.timeZone");
    if (!zone.empty()) {
      auto loaded = TimeZone::load(zone);
      if (!loaded) {
        recorder.record(
            pass.cron, EventType::Warning, "UnknownTimeZone",
            fmt::format("invalid timeZone: {}: {}", store::quote(zone), loaded.error().message));
        return false;
      }
      pass.zone = *std::move(loaded);
    }
    const std::string_view text = api::string_at(pass.cron.json(), "spec.schedule");
    auto schedule = model::CronSchedule::parse(text);
    if (!schedule) {
      recorder.record(pass.cron, EventType::Warning, "UnparseableSchedule",
                      fmt::format("unparseable schedule: {} : {}", store::quote(text),
                                  schedule.error().message));
      return false;
    }
    pass.schedule = *std::move(schedule);
    return true;
  }

  CronQuestion question_of(const Pass& pass) const {
    const std::int64_t deadline = number_at(pass.cron, "spec.startingDeadlineSeconds", -1);
    return {.schedule = *pass.schedule,
            .zone = pass.zone,
            .since = time_at(pass.cron, "status.lastScheduleTime",
                             pass.cron.meta().creation_timestamp.value_or(loop.now())),
            .deadline = deadline < 0 ? std::nullopt : std::optional(Duration::seconds(deadline)),
            .now = loop.now()};
  }

  void decide(const PassPtr& pass) {
    const bool stands = pass->cron.meta().deletion_timestamp || flag_at(pass->cron, "spec.suspend");
    if (stands || !read_schedule(*pass)) {
      queue.forget(pass->cron.key());
      store_status(pass);
      return;
    }
    const CronQuestion question = question_of(*pass);
    const CronAnswer answer = due_run(question);
    if (answer.nonsense) {
      recorder.record(pass->cron, EventType::Warning, "InvalidSchedule",
                      fmt::format("invalid schedule: {} : time difference between two schedules "
                                  "is less than 1 second",
                                  api::string_at(pass->cron.json(), "spec.schedule")));
      store_status(pass);
      return;
    }
    if (answer.missed_many) {
      recorder.record(pass->cron, EventType::Warning, "TooManyMissedTimes",
                      "too many missed start times. Set or decrease "
                      ".spec.startingDeadlineSeconds or check clock skew");
    }
    if (const auto next = next_run(question)) {
      queue.add_after(pass->cron.key(), *next - loop.now());
    }
    if (answer.due && may_start(*pass, *answer.due, question)) {
      make_room(pass, *answer.due);
    } else {
      store_status(pass);
    }
  }

  bool may_start(const Pass& pass, TimePoint run, const CronQuestion& question) {
    if (question.deadline && run + *question.deadline < question.now) {
      recorder.record(pass.cron, EventType::Warning, "MissSchedule",
                      "Missed scheduled time to start a job: " + rfc1123(run));
      return false;
    }
    const json::value status(pass.status);
    const std::string name = run_name(pass.cron, run);
    const bool started =
        std::ranges::any_of(array_at(status, "active"), [&](const json::value& one) {
          return api::string_at(one, "name") == name;
        });
    if (started || api::string_at(status, "lastScheduleTime") == to_rfc3339(run)) {
      return false;
    }
    if (api::string_at(pass.cron.json(), "spec.concurrencyPolicy") == "Forbid" &&
        !array_at(status, "active").empty()) {
      recorder.record(pass.cron, EventType::Normal, "JobAlreadyActive",
                      "Not starting job because prior execution is running and concurrency "
                      "policy is Forbid");
      return false;
    }
    return true;
  }

  /// Concurrency policy Replace: what still runs goes first.
  void make_room(const PassPtr& pass, TimePoint run) {
    const auto all = Gather::make([weak = weak_from_this(), pass, run](Outcome outcome) {
      const auto self = weak.lock();
      if (self && outcome == Outcome::Done) {
        self->start(pass, run);
      } else if (self) {
        pass->finish(outcome);
      }
    });
    if (api::string_at(pass->cron.json(), "spec.concurrencyPolicy") == "Replace") {
      const json::value status(pass->status);
      for (const json::value& one : array_at(status, "active")) {
        const auto job = std::ranges::find(
            pass->jobs, api::string_at(one, "uid"),
            [](const Object& held) -> std::string_view { return held.meta().uid; });
        if (job != pass->jobs.end()) {
          delete_job(pass, *job, all->expect());
        }
      }
    }
    all->close();
  }

  void start(const PassPtr& pass, TimePoint run) {
    auto job = Object::from_json(job_of_run(pass->cron, run, pass->zone));
    if (!job) {
      started(pass, run, tl::unexpected(job.error()));
      return;
    }
    client.create(*std::move(job),
                  [weak = weak_from_this(), pass, run](const Result<Object>& made) {
                    if (const auto self = weak.lock()) {
                      self->started(pass, run, made);
                    }
                  });
  }

  void started(const PassPtr& pass, TimePoint run, const Result<Object>& made) {
    if (made) {
      recorder.record(pass->cron, EventType::Normal, "SuccessfulCreate",
                      "Created job " + made->meta().name);
      note_run(pass, run, *made);
      return;
    }
    if (made.error().code != Code::AlreadyExists) {
      recorder.record(pass->cron, EventType::Warning, "FailedCreate",
                      "Error creating job: " + made.error().message);
      pass->finish(Outcome::Retry);
      return;
    }
    client.get(client::kJobs, {pass->cron.meta().ns, run_name(pass->cron, run)},
               [weak = weak_from_this(), pass, run](const Result<Object>& held) {
                 const auto self = weak.lock();
                 if (!self) {
                   return;
                 }
                 const api::OwnerReference* owner = held ? held->meta().controller() : nullptr;
                 if (!held) {
                   pass->finish(Outcome::Retry);
                 } else if (owner != nullptr && owner->uid == pass->cron.meta().uid) {
                   self->note_run(pass, run, *held); // an earlier attempt of ours
                 } else {
                   self->store_status(pass);
                 }
               });
  }

  void note_run(const PassPtr& pass, TimePoint run, const Object& job) {
    jobs.wrote(job);
    drop_active(pass->status, job.meta().uid);
    if (finished_as(job).empty()) {
      add_active(pass->status, job);
    }
    pass->status["lastScheduleTime"] = to_rfc3339(run);
    store_status(pass);
  }

  void store_status(const PassPtr& pass) {
    const Object wanted =
        pass->cron.edit([&](json::object& document) { document["status"] = pass->status; });
    crons.store_status(pass->cron, wanted, pass->finish);
  }

  client::Client& client;
  Loop& loop;
  client::EventRecorder recorder;
  client::WorkQueue queue;
  FreshView jobs;
  FreshView crons;
};

CronJobController::CronJobController(client::Client& client, Loop& loop, Rng rng)
    : state_(std::make_shared<State>(client, loop, std::move(rng))) {}

CronJobController::~CronJobController() = default;

bool CronJobController::idle() const {
  return state_->queue.idle();
}

} // namespace berth::controllers
