#include "berth/controllers/volume/volume_controller.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/base/log.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/finalizers.h"
#include "berth/controllers/fresh_view.h"
#include "berth/controllers/gather.h"
#include "berth/controllers/volume/claim_plan.h"
#include "berth/controllers/volume/protection.h"
#include "berth/controllers/volume/volume_documents.h"
#include "berth/store/storage_defaults.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::Outcome;
using Finish = client::WorkQueue::Finish;

namespace {

using ClaimView = std::shared_ptr<const model::PersistentVolumeClaim>;
using VolumeView = std::shared_ptr<const model::PersistentVolume>;
using ClassView = std::shared_ptr<const model::StorageClass>;

std::string of_class(std::string_view name) {
  return fmt::format("class/{}", name);
}

/// Claims that have no volume yet are found by their class, all by the volume they name.
std::vector<std::string> index_claim(const Object& object) {
  std::vector<std::string> names;
  if (const auto claim = model::claim_view(object)) {
    if (!(*claim)->bound()) {
      names.push_back(of_class((*claim)->class_name()));
    }
    if (!(*claim)->volume_name.empty()) {
      names.push_back(fmt::format("volume/{}", (*claim)->volume_name));
    }
  }
  return names;
}

/// The pod's volumes whose claims are made for it; none for a pod that is ending.
std::vector<model::PodVolume> ephemeral_volumes(const Object& pod) {
  const auto view = pod ? model::pod_view(pod) : Result<std::shared_ptr<const model::Pod>>();
  std::vector<model::PodVolume> found;
  if (view && *view && !(*view)->terminal() && !(*view)->meta.deletion_timestamp) {
    std::ranges::copy_if((*view)->spec.volumes, std::back_inserter(found),
                         &model::PodVolume::ephemeral);
  }
  return found;
}

template <class V, class View> std::vector<V> views_of(const FreshView& objects, View view) {
  std::vector<V> views;
  for (const auto& [key, object] : objects.all()) {
    if (auto made = view(object)) {
      views.push_back(*std::move(made));
    }
  }
  return views;
}

} // namespace

struct VolumeController::State : std::enable_shared_from_this<VolumeController::State> {
  State(client::Client& c, Loop& l)
      : client(c),
        claim_queue(
            l, [this](const Key& key, Finish finish) { reconcile_claim(key, std::move(finish)); }),
        volume_queue(
            l, [this](const Key& key, Finish finish) { reconcile_volume(key, std::move(finish)); }),
        pod_queue(l,
                  [this](const Key& key, Finish finish) { reconcile_pod(key, std::move(finish)); }),
        classes(c, l,
                {.what = {.kind = client::kStorageClasses},
                 .index_of = {},
                 .on_change = [this](const Object& old,
                                     const Object& now) { class_changed(old, now); }}),
        volumes(c, l,
                {.what = {.kind = client::kVolumes},
                 .index_of = {},
                 .on_change = [this](const Object& old,
                                     const Object& now) { volume_changed(old, now); }}),
        claims(c, l,
               {.what = {.kind = client::kVolumeClaims},
                .index_of = &index_claim,
                .on_change = [this](const Object& old,
                                    const Object& now) { claim_changed(old, now); }}),
        pods(c, l,
             {.what = {.kind = client::kPods},
              .index_of = &claims_held_by,
              .on_change = [this](const Object& old, const Object& now) {
                pod_changed(now);
                if (old && !now) {
                  pod_gone(old);
                }
              }}) {
    for (FreshView* const view : {&classes, &volumes, &claims, &pods}) {
      view->on_sync([this] { look_at_everything(); });
    }
  }

  client::Client& client;
  client::WorkQueue claim_queue;
  client::WorkQueue volume_queue;
  client::WorkQueue pod_queue;
  FreshView classes;
  FreshView volumes;
  FreshView claims;
  FreshView pods;

  bool synced() const { return classes.synced() && volumes.synced() && claims.synced(); }

  void look_at_everything() {
    for (const auto& [key, claim] : claims.all()) {
      claim_queue.add(key);
    }
    for (const auto& [key, volume] : volumes.all()) {
      volume_queue.add(key);
    }
  }

  void add_claims(std::string_view index) {
    for (const Key& key : claims.keyed(index)) {
      claim_queue.add(key);
    }
  }

  void class_changed(const Object& old, const Object& now) {
    add_claims(of_class((now ? now : old).meta().name));
    add_claims(of_class("")); // it may be the default one
  }

  void volume_changed(const Object& old, const Object& now) {
    const auto view = model::volume_view(now ? now : old);
    add_claims("volume/" + (now ? now : old).meta().name);
    if (!view) {
      return;
    }
    if ((*view)->claim) {
      claim_queue.add({(*view)->claim->ns, (*view)->claim->name});
    } else {
      add_claims(of_class((*view)->class_name()));
    }
    if (now) {
      volume_queue.add(now.key());
    }
  }

  void claim_changed(const Object& old, const Object& now) {
    if (now) {
      claim_queue.add(now.key());
      return;
    }
    const auto gone = model::claim_view(old);
    if (gone && !(*gone)->volume_name.empty()) {
      volume_queue.add({"", (*gone)->volume_name});
    }
    for (const auto& [key, volume] : volumes.all()) {
      const auto view = model::volume_view(volume);
      if (gone && view && (*view)->belongs_to(**gone)) {
        volume_queue.add(key);
      }
    }
    for (const auto& [key, pod] : pods.all()) {
      if (key.ns == old.meta().ns) {
        pod_changed(pod);
      }
    }
  }

  void pod_changed(const Object& pod) {
    if (!ephemeral_volumes(pod).empty()) {
      pod_queue.add(pod.key());
    }
  }

  void pod_gone(const Object& pod) {
    if (const auto view = model::pod_view(pod)) {
      for (const model::PodVolume& volume : (*view)->spec.volumes) {
        if (!volume.claim.empty()) {
          claim_queue.add({pod.meta().ns, volume.claim});
        }
      }
    }
  }

  // ---- claims ---------------------------------------------------------------------------------

  void reconcile_claim(const Key& key, Finish finish) {
    const Object* object = claims.find(key);
    if (object == nullptr || !synced()) {
      finish(Outcome::Done);
      return;
    }
    const auto claim = model::claim_view(*object);
    if (!claim) {
      log(LogLevel::Warn, "volume-controller", to_string(claim.error()));
      finish(Outcome::Done);
      return;
    }
    const bool held = !pods.synced() || !pods.keyed(key.to_string()).empty();
    if (protected_for_nothing(*object, held)) {
      let_go(claims, client::kVolumeClaims, *object, store::kClaimProtection, finish);
      return;
    }
    const auto all_volumes = views_of<VolumeView>(volumes, &model::volume_view);
    const auto all_classes = views_of<ClassView>(classes, &model::storage_class_view);
    const ClaimPlan plan = plan_claim(**claim, {.volumes = all_volumes, .classes = all_classes});
    take_step(*object, *claim, plan, std::move(finish));
  }

  /// One write; what comes of it shows in the views and brings the next step.
  void take_step(const Object& object, const ClaimView& claim, const ClaimPlan& plan,
                 Finish finish) {
    const Object* volume = volumes.find({"", plan.name});
    const std::uint64_t version = claim->meta.resource_version;
    using enum client::Subresource;
    switch (plan.step) {
    case ClaimStep::Nothing:
      finish(Outcome::Done);
      return;
    case ClaimStep::SetClass:
      write(claims, client::kVolumeClaims, object, patch_class(*claim, plan.name), None, finish);
      return;
    case ClaimStep::TakeVolume:
      write(volumes, client::kVolumes, *volume,
            patch_claim_reference(**model::volume_view(*volume), *claim), None, finish);
      return;
    case ClaimStep::MarkVolume:
      write(volumes, client::kVolumes, *volume,
            patch_phase(volume->meta().resource_version, "Bound"), Status, finish);
      return;
    case ClaimStep::TakeClaim:
      write(claims, client::kVolumeClaims, object, patch_volume_name(*claim, plan.name), None,
            finish);
      return;
    case ClaimStep::MarkClaim:
      write(claims, client::kVolumeClaims, object, patch_bound(*claim, volume->json()), Status,
            finish);
      return;
    case ClaimStep::MarkPending:
      write(claims, client::kVolumeClaims, object, patch_phase(version, "Pending"), Status, finish);
      return;
    case ClaimStep::MarkLost:
      write(claims, client::kVolumeClaims, object, patch_phase(version, "Lost"), Status, finish);
      return;
    case ClaimStep::Provision:
      provision(object, claim, std::move(finish));
      return;
    }
  }

  void write(FreshView& view, const client::GroupKind& kind, const Object& object,
             api::json::value patch, client::Subresource subresource, const Finish& finish) {
    client.patch(kind, object.key(), std::move(patch), subresource,
                 [weak = weak_from_this(), &view, key = object.key(), uid = object.meta().uid,
                  finish](Result<Object> answer) {
                   const auto self = weak.lock();
                   if (!self) {
                     return;
                   }
                   const bool gone = !answer && answer.error().code == Code::NotFound;
                   if (answer) {
                     view.wrote(*answer);
                   } else if (gone) {
                     view.gone(key, uid);
                   }
                   finish(answer || gone ? Outcome::Done : Outcome::Retry);
                 });
  }

  /// The protection comes off: with it goes what was deleted.
  void let_go(FreshView& view, const client::GroupKind& kind, const Object& object,
              std::string_view protection, const Finish& finish) {
    client.patch(kind, object.key(), without_finalizer(object, protection),
                 client::Subresource::None,
                 [weak = weak_from_this(), &view, key = object.key(), uid = object.meta().uid,
                  finish](Result<Object> left) {
                   const auto self = weak.lock();
                   if (!self) {
                     return;
                   }
                   const bool gone = !left && left.error().code == Code::NotFound;
                   if (left) {
                     view.removed(*left);
                   } else if (gone) {
                     view.gone(key, uid);
                   }
                   finish(left || gone ? Outcome::Done : Outcome::Retry);
                 });
  }

  // ---- provisioning ---------------------------------------------------------------------------

  void provision(const Object& object, const ClaimView& claim, Finish finish) {
    const Object* class_object = classes.find({"", std::string(claim->class_name())});
    const ClassView of = *model::storage_class_view(*class_object);
    const auto node = claim->selected_node();
    if (!node || of->allowed_topologies.empty()) {
      create_volume(provisioned_volume(*claim, object.json(), *of, nullptr), std::move(finish));
      return;
    }
    client.get(client::kNodes, {"", std::string(*node)},
               [weak = weak_from_this(), object, claim, of, finish](Result<Object> found) {
                 const auto self = weak.lock();
                 if (!self) {
                   return;
                 }
                 const bool allowed = found && of->allows(found->meta().labels);
                 if (allowed) {
                   self->create_volume(
                       provisioned_volume(*claim, object.json(), *of, &found->meta().labels),
                       finish);
                 } else if (found || found.error().code == Code::NotFound) {
                   self->give_up_node(object, finish);
                 } else {
                   finish(Outcome::Retry);
                 }
               });
  }

  /// Not on that node: the scheduler shall choose another.
  void give_up_node(const Object& claim, const Finish& finish) {
    api::json::object annotations;
    annotations[api::json::string_view(model::kSelectedNodeAnnotation.data(),
                                       model::kSelectedNodeAnnotation.size())] = nullptr;
    write(claims, client::kVolumeClaims, claim,
          api::json::object{
              {"metadata",
               api::json::object{{"resourceVersion", std::to_string(claim.meta().resource_version)},
                                 {"annotations", std::move(annotations)}}}},
          client::Subresource::None, finish);
  }

  void create_volume(api::json::value document, Finish finish) {
    auto made = Object::from_json(std::move(document));
    if (!made) {
      log(LogLevel::Warn, "volume-controller", to_string(made.error()));
      finish(Outcome::Done);
      return;
    }
    const Key key = made->key();
    client.create(*std::move(made), [weak = weak_from_this(), key, finish](Result<Object> answer) {
      const auto self = weak.lock();
      if (!self) {
        return;
      }
      if (answer) {
        self->volumes.wrote(*answer);
        finish(Outcome::Done);
      } else if (answer.error().code == Code::AlreadyExists) {
        self->read_volume(key, finish); // made before; the answer was lost
      } else {
        finish(Outcome::Retry);
      }
    });
  }

  void read_volume(const Key& key, const Finish& finish) {
    client.get(client::kVolumes, key, [weak = weak_from_this(), finish](Result<Object> found) {
      if (const auto self = weak.lock()) {
        if (found) {
          self->volumes.wrote(*found);
        }
        finish(found ? Outcome::Done : Outcome::Retry);
      }
    });
  }

  // ---- volumes --------------------------------------------------------------------------------

  void reconcile_volume(const Key& key, Finish finish) {
    const Object* object = volumes.find(key);
    const auto view = object != nullptr ? model::volume_view(*object) : Result<VolumeView>();
    if (!view || !*view || !synced()) {
      finish(Outcome::Done);
      return;
    }
    if (protected_for_nothing(*object)) {
      let_go(volumes, client::kVolumes, *object, store::kVolumeProtection, finish);
      return;
    }
    const model::PersistentVolume& volume = **view;
    if (volume.meta.deletion_timestamp && volume.phase != "Bound") {
      finish(Outcome::Done);
      return;
    }
    if (!volume.claim || volume.claim->uid.empty()) {
      if (volume.phase == "Available") {
        finish(Outcome::Done);
        return;
      }
      write(volumes, client::kVolumes, *object,
            patch_phase(volume.meta.resource_version, "Available"), client::Subresource::Status,
            finish);
      return;
    }
    const Key claim{volume.claim->ns, volume.claim->name};
    const Object* held = claims.find(claim);
    if (held != nullptr && held->meta().uid == volume.claim->uid) {
      finish(Outcome::Done); // the claim's steps say the rest
      return;
    }
    client.get(
        client::kVolumeClaims, claim,
        [weak = weak_from_this(), key, uid = volume.claim->uid, finish](Result<Object> found) {
          const auto self = weak.lock();
          if (!self) {
            return;
          }
          const bool alive = found && found->meta().uid == uid;
          if (alive || (!found && found.error().code != Code::NotFound)) {
            finish(Outcome::Retry);
          } else {
            self->reclaim(key, finish);
          }
        });
  }

  /// The volume's claim is gone.
  void reclaim(const Key& key, const Finish& finish) {
    const Object* object = volumes.find(key);
    const auto view = object != nullptr ? model::volume_view(*object) : Result<VolumeView>();
    if (!view || !*view) {
      finish(Outcome::Done);
    } else if ((*view)->phase != "Released") {
      write(volumes, client::kVolumes, *object,
            patch_phase((*view)->meta.resource_version, "Released"), client::Subresource::Status,
            finish);
    } else if ((*view)->reclaim_policy == "Delete") {
      client.remove(
          client::kVolumes, key, {.uid = object->meta().uid},
          [weak = weak_from_this(), key, uid = object->meta().uid, finish](Result<Object> left) {
            const auto self = weak.lock();
            if (!self) {
              return;
            }
            const bool absent = !left && left.error().code == Code::NotFound;
            if (left) {
              self->volumes.removed(*left);
            } else if (absent) {
              self->volumes.gone(key, uid);
            }
            finish(left || absent ? Outcome::Done : Outcome::Retry);
          });
    } else {
      finish(Outcome::Done);
    }
  }

  // ---- claims of ephemeral volumes --------------------------------------------------------------

  void reconcile_pod(const Key& key, Finish finish) {
    const Object* pod = pods.find(key);
    auto gather = Gather::make(std::move(finish));
    for (const model::PodVolume& volume :
         pod == nullptr ? std::vector<model::PodVolume>() : ephemeral_volumes(*pod)) {
      if (claims.find({key.ns, volume.claim}) != nullptr) {
        continue;
      }
      auto claim = Object::from_json(ephemeral_claim(*pod, volume.name));
      if (!claim) {
        continue; // the pod says nothing of the claim it wants
      }
      client.create(*std::move(claim), [weak = weak_from_this(),
                                        answered = gather->expect()](Result<Object> made) {
        const auto self = weak.lock();
        if (self && made) {
          self->claims.wrote(*made);
        }
        answered(made || made.error().code == Code::AlreadyExists ? Outcome::Done : Outcome::Retry);
      });
    }
    gather->close();
  }
};

VolumeController::VolumeController(client::Client& client, Loop& loop)
    : state_(std::make_shared<State>(client, loop)) {}

VolumeController::~VolumeController() = default;

bool VolumeController::idle() const {
  return state_->claim_queue.idle() && state_->volume_queue.idle() && state_->pod_queue.idle();
}

} // namespace berth::controllers
