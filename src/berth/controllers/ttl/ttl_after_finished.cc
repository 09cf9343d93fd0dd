#include "berth/controllers/ttl/ttl_after_finished.h"

#include <utility>

#include "berth/api/json.h"
#include "berth/client/informer.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/fields.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::Outcome;

std::optional<TimePoint> expiry_of(const Object& job) {
  const std::int64_t limit = number_at(job, "spec.ttlSecondsAfterFinished", -1);
  if (limit < 0 || job.meta().deletion_timestamp) {
    return std::nullopt;
  }
  for (const auto& condition : array_at(job.json(), "status.conditions")) {
    const std::string_view type = api::string_at(condition, "type");
    if ((type == "Complete" || type == "Failed") && api::string_at(condition, "status") == "True") {
      const auto ended = parse_rfc3339(api::string_at(condition, "lastTransitionTime"));
      return ended ? std::optional(*ended + Duration::seconds(limit)) : std::nullopt;
    }
  }
  return std::nullopt;
}

struct TtlAfterFinished::State : std::enable_shared_from_this<TtlAfterFinished::State> {
  State(client::Client& c, Loop& l)
      : client(c), loop(l), queue(l,
                                  [this](const Key& key, client::WorkQueue::Finish finish) {
                                    reconcile(key, std::move(finish));
                                  },
                                  {.workers = 5}),
        jobs(c, l, {.kind = client::kJobs, .ns = "", .labels = {}},
             [this](const Object& old, const Object& now) {
               if (now && expiry_of(now)) {
                 queue.add(now.key());
               } else {
                 queue.forget((now ? now : old).key());
               }
             }) {}

  void reconcile(const Key& key, const client::WorkQueue::Finish& finish) {
    const Object* job = jobs.find(key);
    const auto expiry = job == nullptr ? std::nullopt : expiry_of(*job);
    if (!expiry || *expiry > loop.now()) {
      if (expiry) {
        queue.add_after(key, *expiry - loop.now());
      }
      finish(Outcome::Done);
      return;
    }
    // The version too: whoever has changed the limit meanwhile is heard.
    client.remove(client::kJobs, key,
                  {.uid = job->meta().uid,
                   .resource_version = job->meta().resource_version,
                   .propagation = client::Propagation::Foreground},
                  [finish](const Result<Object>& left) {
                    const bool done = left || left.error().code == Code::NotFound;
                    finish(done ? Outcome::Done : Outcome::Retry);
                  });
  }

  client::Client& client;
  Loop& loop;
  client::WorkQueue queue;
  client::Informer jobs;
};

TtlAfterFinished::TtlAfterFinished(client::Client& client, Loop& loop)
    : state_(std::make_shared<State>(client, loop)) {}

TtlAfterFinished::~TtlAfterFinished() = default;

bool TtlAfterFinished::idle() const {
  return state_->queue.idle();
}

} // namespace berth::controllers
