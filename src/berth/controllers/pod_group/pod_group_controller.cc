#include "berth/controllers/pod_group/pod_group_controller.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/log.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/fresh_view.h"
#include "berth/controllers/pod_group/phase.h"
#include "berth/controllers/pod_status.h"
#include "berth/model/workload.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::Outcome;

namespace {

namespace json = api::json;

std::optional<Key> group_of(const Object& pod) {
  if (!pod) {
    return std::nullopt;
  }
  const auto label = pod.meta().labels.find(model::kPodGroupLabel);
  if (label == pod.meta().labels.end() || label->second.empty()) {
    return std::nullopt;
  }
  return Key{pod.meta().ns, label->second};
}

std::vector<std::string> index_by_group(const Object& pod) {
  const auto group = group_of(pod);
  return group ? std::vector<std::string>{group->to_string()} : std::vector<std::string>();
}

std::int64_t count_at(const json::value& document, std::string_view path) {
  const json::value* value = api::find_path(document, path);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

GroupStatus read_status(const json::value& document) {
  GroupStatus status{.phase = std::string(api::string_at(document, "status.phase")),
                     .occupied_by = std::string(api::string_at(document, "status.occupiedBy")),
                     .running = count_at(document, "status.running"),
                     .succeeded = count_at(document, "status.succeeded"),
                     .failed = count_at(document, "status.failed"),
                     .schedule_start_time = std::nullopt};
  if (const auto start = parse_rfc3339(api::string_at(document, "status.scheduleStartTime"))) {
    status.schedule_start_time = *start;
  }
  return status;
}

Object with_status(const Object& group, const GroupStatus& status) {
  return group.edit([&](json::object& document) {
    json::object& out = api::object_at(document, "status");
    out["phase"] = status.phase;
    for (const auto& [key, count] : {std::pair("running", status.running),
                                     {"succeeded", status.succeeded},
                                     {"failed", status.failed}}) {
      if (count == 0) {
        out.erase(key);
      } else {
        out[key] = count;
      }
    }
    if (!status.occupied_by.empty()) {
      out["occupiedBy"] = status.occupied_by;
    }
    if (status.schedule_start_time) {
      out["scheduleStartTime"] = to_rfc3339(*status.schedule_start_time);
    } else {
      out.erase("scheduleStartTime");
    }
  });
}

/// A member's owners as "namespace/name", in order, joined by commas.
std::string owners_of(const Object& pod) {
  std::vector<std::string> owners;
  for (const api::OwnerReference& owner : pod.meta().owner_references) {
    owners.push_back(Key{pod.meta().ns, owner.name}.to_string());
  }
  std::ranges::sort(owners);
  return fmt::format("{}", fmt::join(owners, ","));
}

} // namespace

struct PodGroupController::State : std::enable_shared_from_this<PodGroupController::State> {
  State(client::Client& c, Loop& l)
      : client(c), loop(l), queue(l,
                                  [this](const Key& key, client::WorkQueue::Finish finish) {
                                    reconcile(key, std::move(finish));
                                  },
                                  {.workers = 64}),
        groups(c, l,
               {.what = {.kind = client::kPodGroups},
                .index_of = {},
                .on_change =
                    [this](const Object&, const Object& now) {
                      if (now) {
                        queue.add(now.key());
                      }
                    }}),
        pods(c, l,
             {.what = {.kind = client::kPods},
              .index_of = index_by_group,
              .on_change = [this](const Object& old, const Object& now) {
                pod_changed(old, now);
              }}) {
    pods.on_sync([this] {
      for (const auto& [key, group] : groups.all()) {
        queue.add(key);
      }
    });
  }

  client::Client& client;
  Loop& loop;
  client::WorkQueue queue;
  FreshView groups;
  FreshView pods;

  void pod_changed(const Object& old, const Object& now) {
    const auto before = group_of(old);
    const auto after = group_of(now);
    if (before && before != after) {
      queue.add(*before);
    }
    if (after) {
      queue.add(*after);
    }
  }

  void reconcile(const Key& key, client::WorkQueue::Finish finish) {
    const Object* group = groups.find(key);
    if (group == nullptr || !pods.synced()) {
      finish(Outcome::Done);
      return;
    }
    const auto view = model::pod_group_view(*group);
    if (!view) {
      log(LogLevel::Warn, "pod-group-controller",
          fmt::format("podgroup {} is not understood: {}", key.to_string(),
                      to_string(view.error())));
      finish(Outcome::Done);
      return;
    }
    GroupInput input{.stored = read_status(group->json()),
                     .min_member = (*view)->min_member,
                     .counts = {},
                     .owner = {}};
    count(key, input);
    queue.looks_at(key, static_cast<std::size_t>(input.counts.pods));
    const GroupStatus next = next_group_status(input, loop.now());
    if (next == input.stored) {
      finish(Outcome::Done);
      return;
    }
    client.update(
        with_status(*group, next), client::Subresource::Status,
        [weak = weak_from_this(), key, uid = group->meta().uid, finish](Result<Object> stored) {
          const auto self = weak.lock();
          if (!self) {
            return;
          }
          if (stored) {
            self->groups.wrote(*stored);
          } else if (stored.error().code == Code::NotFound) {
            self->groups.gone(key, uid);
          }
          finish(stored || stored.error().code == Code::NotFound ? Outcome::Done : Outcome::Retry);
        });
  }

  void count(const Key& key, GroupInput& input) const {
    for (const Key& name : pods.keyed(key.to_string())) {
      const Object& pod = *pods.find(name);
      const std::string_view phase = api::string_at(pod.json(), "status.phase");
      ++input.counts.pods;
      input.counts.running += phase == "Running" ? 1 : 0;
      input.counts.succeeded += phase == "Succeeded" ? 1 : 0;
      input.counts.failed += phase == "Failed" ? 1 : 0;
      if (input.owner.empty()) {
        input.owner = owners_of(pod);
      }
    }
  }
};

PodGroupController::PodGroupController(client::Client& client, Loop& loop)
    : state_(std::make_shared<State>(client, loop)) {}

bool PodGroupController::idle() const {
  return state_->queue.idle();
}

PodGroupController::~PodGroupController() = default;

} // namespace berth::controllers
