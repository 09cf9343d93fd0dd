#include "berth/node/volumes/pod_volumes.h"

#include <utility>

#include <fmt/format.h>

#include "berth/node/contents/fetch_sources.h"
#include "berth/node/contents/references.h"
#include "berth/node/contents/security.h"
#include "berth/node/contents/spec_field.h"
#include "berth/node/volume_path.h"
#include "berth/node/volumes/files.h"
#include "berth/node/volumes/mounts.h"
#include "berth/node/volumes/owned_folder.h"

namespace berth::node {
namespace {

namespace json = boost::json;
using client::EventType;

// kubelet's exponential back-off of a volume that cannot be set up.
constexpr client::Backoff::Options kRetry{.first = Duration::millis(500),
                                          .longest = Duration::seconds(122),
                                          .reset_after = Duration::minutes(10)};

std::string service_account(const json::value& pod) {
  const std::string_view named = api::string_at(pod, "spec.serviceAccountName");
  return named.empty() ? "default" : std::string(named);
}

Result<std::string> bound_to(const json::value& volume, const Result<api::Object>& claim,
                             const api::Object& pod) {
  if (!claim) {
    return tl::unexpected(claim.error());
  }
  BERTH_CHECK(check_owner(volume, *claim, pod));
  return bound_volume(claim->json());
}

} // namespace

// One attempt to bring all volumes to what they should be.
struct PodVolumes::Round {
  api::Object object;
  std::shared_ptr<const model::Pod> pod;
  std::vector<const json::value*> volumes; ///< of `object`
  Sources sources;
  std::map<std::string, Result<ClaimedPath>> claims;
  Tokens tokens;
  std::size_t open = 0; ///< questions that are not answered
  Result<void> folder;  ///< the pod's own
  std::vector<VolumePlan> plans;
  std::vector<Result<SetUp>> outcomes;                       ///< of plans
  std::vector<std::pair<std::string, std::string>> failures; ///< volume, why
};

PodVolumes::PodVolumes(VolumesPlace place, Tell tell, std::function<void()> on_change)
    : place_(std::move(place)), tell_(std::move(tell)), on_change_(std::move(on_change)),
      backoff_(kRetry), again_(*place_.loop) {}

void PodVolumes::want(const api::Object& pod, const std::string& pod_ip) {
  pod_ = pod;
  pod_ip_ = pod_ip;
  if (!busy_ && !ready_ && !over_ && !again_.armed()) {
    begin();
  }
}

// Runs `next` on an answer while this lives, and once the last open question is answered goes on.
template <class F> auto PodVolumes::step(std::shared_ptr<Round> round, F next) {
  return
      [weak = weak_from_this(), round = std::move(round), next = std::move(next)](auto&& answer) {
        if (const auto self = weak.lock()) {
          next(*self, round, std::forward<decltype(answer)>(answer));
        }
      };
}

void PodVolumes::begin() {
  busy_ = true;
  auto round = std::make_shared<Round>();
  round->object = pod_;
  const auto view = model::pod_view(round->object);
  if (view) {
    round->pod = *view;
  }
  round->volumes = used_volumes(round->object.json());
  std::vector<Reference> wanted;
  for (const json::value* volume : round->volumes) {
    for (Reference& each : volume_references(*volume)) {
      wanted.push_back(std::move(each));
    }
  }
  fetch_sources(*place_.client, *place_.loop, pod_.meta().ns, wanted, weak_from_this(),
                [this, round](Sources sources) {
                  round->sources = std::move(sources);
                  fetch_claims(round);
                });
}

void PodVolumes::fetch_claims(const std::shared_ptr<Round>& round) {
  // Counted from one: whoever answers within the call must not go on before all have been asked.
  round->open = 1;
  const auto answered = [](PodVolumes& self, const std::shared_ptr<Round>& of) {
    if (--of->open == 0) {
      self.fetch_tokens(of);
    }
  };
  for (const json::value* volume : round->volumes) {
    const std::string claim = claim_of(*volume, round->object.meta().name);
    if (claim.empty()) {
      continue;
    }
    ++round->open;
    const std::string name(api::string_at(*volume, "name"));
    const auto settle = [answered, name](PodVolumes& self, const std::shared_ptr<Round>& of,
                                         Result<ClaimedPath> path) {
      of->claims.insert_or_assign(name, std::move(path));
      answered(self, of);
    };
    place_.client->get(
        client::kVolumeClaims, {round->object.meta().ns, claim},
        step(round, [settle, volume](PodVolumes& self, const std::shared_ptr<Round>& of,
                                     const Result<api::Object>& found) {
          const Result<std::string> bound = bound_to(*volume, found, of->object);
          if (!bound) {
            settle(self, of, tl::unexpected(bound.error()));
            return;
          }
          self.place_.client->get(
              client::kVolumes, {"", *bound},
              self.step(of, [settle](PodVolumes& me, const std::shared_ptr<Round>& in,
                                     const Result<api::Object>& volume_found) {
                settle(me, in,
                       volume_found ? claimed_path(volume_found->json())
                                    : Result<ClaimedPath>(tl::unexpected(volume_found.error())));
              }));
        }));
  }
  answered(*this, round);
}

void PodVolumes::fetch_tokens(const std::shared_ptr<Round>& round) {
  round->open = 1;
  const auto answered = [](PodVolumes& self, const std::shared_ptr<Round>& of) {
    if (--of->open == 0) {
      self.carry(of);
    }
  };
  std::vector<TokenWish> wishes;
  for (const json::value* volume : round->volumes) {
    const auto of_volume = token_wishes(*volume);
    wishes.insert(wishes.end(), of_volume.begin(), of_volume.end());
  }
  for (const TokenWish& wish : wishes) {
    if (auto held = tokens_.fresh(wish, round->object.meta().uid, place_.loop->now())) {
      round->tokens.insert_or_assign(wish, *std::move(held));
      continue;
    }
    if (!place_.tokens) {
      round->tokens.insert_or_assign(
          wish, fail(Code::NotFound, "this cluster issues no service account tokens; try "
                                     "automountServiceAccountToken: false"));
      continue;
    }
    ++round->open;
    place_.tokens->request_token(
        {.service_account = {round->object.meta().ns, service_account(round->object.json())},
         .audience = wish.audience,
         .expiration_seconds = wish.expiration_seconds,
         .pod_name = round->object.meta().name,
         .pod_uid = round->object.meta().uid},
        step(round, [answered, wish](PodVolumes& self, const std::shared_ptr<Round>& of,
                                     const Result<client::Token>& token) {
          of->tokens.insert_or_assign(wish,
                                      self.tokens_.answered(wish, token, self.place_.loop->now()));
          answered(self, of);
        }));
  }
  answered(*this, round);
}

// What is known becomes plans, plans become files; the latter beside the loop.
void PodVolumes::carry(const std::shared_ptr<Round>& round) {
  if (over_) {
    return; // nothing is to be made where all is being removed
  }
  const auto group = int_at(round->object.json(), "spec.securityContext.fsGroup");
  const VolumeFacts facts{
      .root = place_.root,
      .projected = {.sources = &round->sources,
                    .downward = {.document = &round->object.json(),
                                 .pod = round->pod.get(),
                                 .address = {pod_ip_.empty() ? place_.host_ip : pod_ip_,
                                             place_.host_ip},
                                 .allocatable = place_.allocatable},
                    .tokens = &round->tokens,
                    .fs_group = group,
                    .fs_user = common_user(round->object.json())},
      .claims = round->claims};
  for (const json::value* volume : round->volumes) {
    auto plan = plan_volume(*volume, facts);
    if (plan) {
      round->plans.push_back(*std::move(plan));
    } else {
      round->failures.emplace_back(api::string_at(*volume, "name"), plan.error().message);
    }
  }
  place_.background->run(
      [round, now = place_.loop->now(), owner = place_.owner,
       folder = pod_folder(place_.root, round->object.meta().uid)] {
        round->folder = make_owned_folder(folder, owner);
        for (const VolumePlan& plan : round->plans) {
          round->outcomes.push_back(carry_out(plan, now));
        }
      },
      [weak = weak_from_this(), round] {
        if (const auto self = weak.lock()) {
          self->finish(*round);
        }
      });
}

void PodVolumes::finish(Round& round) {
  busy_ = false;
  if (over_) {
    return;
  }
  for (std::size_t i = 0; i < round.outcomes.size(); ++i) {
    const VolumePlan& plan = round.plans[i];
    const Result<SetUp>& outcome = round.outcomes[i];
    if (!outcome) {
      round.failures.emplace_back(plan.name, outcome.error().message);
      continue;
    }
    at_.insert_or_assign(plan.name, VolumeAt{plan.path, plan.read_only});
    if (!outcome->warning.empty() && !ready_) {
      tell_(EventType::Warning, "VolumeWarning",
            fmt::format("volume \"{}\": {}", plan.name, outcome->warning));
    }
  }
  if (!round.folder) {
    tell_(EventType::Warning, "FailedMount",
          fmt::format("the pod's folder cannot be made: {}", round.folder.error().message));
  }
  for (const auto& [volume, why] : round.failures) {
    tell_(EventType::Warning, "FailedMount",
          fmt::format("MountVolume.SetUp failed for volume \"{}\" : {}", volume, why));
  }
  if (ready_) {
    refresh_later();
    return;
  }
  ready_ = round.failures.empty() && round.folder.has_value();
  if (!ready_) {
    again_.set(backoff_.next(place_.loop->now()), on_change_);
    return;
  }
  refresh_later();
  on_change_();
}

// Only volumes that show something that can change are worth a timer.
void PodVolumes::refresh_later() {
  for (const json::value* volume : used_volumes(pod_.json())) {
    for (const std::string_view kind : {"configMap", "secret", "downwardAPI", "projected"}) {
      if (api::find(*volume, kind)) {
        again_.set(place_.refresh, [this] { begin(); });
        return;
      }
    }
  }
}

void PodVolumes::tear_down(const std::string& pod_uid, std::function<void()> done) {
  over_ = true;
  ready_ = false;
  again_.cancel();
  const std::string folder = pod_folder(place_.root, pod_uid);
  const auto outcome = std::make_shared<Result<void>>();
  place_.background->run(
      [folder, outcome] {
        *outcome = unmount_below(folder);
        for (const std::string_view part : {"volumes", "volume-subpaths"}) {
          if (*outcome) {
            *outcome = remove_tree(fmt::format("{}/{}", folder, part));
          }
        }
      },
      [weak = weak_from_this(), outcome, done = std::move(done)] {
        const auto self = weak.lock();
        if (!self) {
          return;
        }
        if (!*outcome) {
          self->tell_(EventType::Warning, "FailedUnmount", outcome->error().message);
        }
        done();
      });
}

} // namespace berth::node
