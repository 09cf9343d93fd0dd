// A small cluster for controller tests: store, registry and client on one virtual loop, and a
// kubelet that binds and runs pods as told. Synchronous reads for assertions.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/json.h"
#include "berth/base/assert.h"
#include "berth/base/rng.h"
#include "berth/base/virtual_loop.h"
#include "berth/client/informer.h"
#include "berth/client/local_client.h"
#include "berth/store/memory_store.h"
#include "berth/store/registry.h"
#include "berth/testing/object_builder.h"

namespace berth::test {

/// Everything a component under test needs; time starts at a fixed instant.
class ControlPlane {
 public:
  explicit ControlPlane(std::uint64_t seed = 1)
      : registry(store, Rng(seed)), loop(TimePoint::from_unix_seconds(1'700'000'000)),
        client(registry, loop) {}

  store::MemoryStore store;
  store::Registry registry;
  VirtualLoop loop;
  client::LocalClient client;

  /// Containers without an image get one: a server wants it, tests seldom care.
  template <class Builder> api::Object create(const Builder& builder) {
    return create(json::value(builder.document()));
  }
  api::Object create(json::value document) {
    if (json::value* const spec = document.as_object().if_contains("spec")) {
      fill_images(*spec);
      if (api::find_path(*spec, "template.spec") != nullptr) {
        fill_images(spec->as_object()["template"].as_object()["spec"]);
      }
    }
    return checked(
        registry.create(checked(api::Object::from_json(std::move(document))), loop.now()));
  }
  api::Object patch(const client::GroupKind& kind, const api::Key& key, json::value merge_patch) {
    return checked(registry.patch(kind, key, merge_patch, store::Subresource::None, loop.now()));
  }
  api::Object patch_status(const client::GroupKind& kind, const api::Key& key, json::value status) {
    const json::value patch(json::object{{"status", std::move(status)}});
    return checked(registry.patch(kind, key, patch, store::Subresource::Status, loop.now()));
  }
  void remove(const client::GroupKind& kind, const api::Key& key,
              const client::DeleteOptions& options = {}) {
    checked(registry.remove(kind, key, options, loop.now()));
  }
  /// Empty if there is none.
  api::Object find(const client::GroupKind& kind, const api::Key& key) const {
    auto found = registry.get(kind, key);
    return found ? *std::move(found) : api::Object();
  }
  std::vector<api::Object> all(const client::GroupKind& kind) const {
    return registry.list({.kind = kind}).items;
  }
  std::vector<std::string> names(const client::GroupKind& kind) const {
    std::vector<std::string> result;
    for (const api::Object& object : all(kind)) {
      result.push_back(object.meta().name);
    }
    return result;
  }

  void run_for(Duration span) { loop.run_until(loop.now() + span); }
  /// Runs until nothing is left to happen; false if that takes more than a million events.
  [[nodiscard]] bool settle() { return loop.run_to_idle(1'000'000); }

  static void fill_images(json::value& pod_spec) {
    for (const char* const list : {"initContainers", "containers"}) {
      if (pod_spec.is_object() && pod_spec.get_object().contains(list)) {
        for (json::value& container : pod_spec.get_object()[list].as_array()) {
          container.as_object().emplace("image", "registry.test/image");
        }
      }
    }
  }

  template <class T> static T checked(Result<T> result) {
    BERTH_ASSERT(result.has_value(), to_string(result.error()));
    return *std::move(result);
  }
};

/// Binds unbound pods to `node`, starts them, ends them as `life` says, and confirms deletions.
/// Level-triggered on its own informer, so that a pod is served whatever order things happen in.
class FakeKubelet {
 public:
  struct Life {
    Duration runs = Duration::seconds(10); ///< Duration::max(): until deleted
    std::string ends = "Succeeded";        ///< or Failed
    Duration stops = Duration::seconds(1); ///< from deletion to the end
  };
  using Script = std::function<Life(const api::Object& pod)>;

  FakeKubelet(ControlPlane& plane, std::string node, Script script)
      : plane_(plane), node_(std::move(node)), script_(std::move(script)),
        alive_(std::make_shared<int>(0)),
        pods_(plane.client, plane.loop, {.kind = client::kPods},
              [this](const api::Object&, const api::Object& now) { changed(now); }) {}

  /// Pods that ended as Succeeded.
  std::int64_t successes() const { return successes_; }

  /// While dead it neither starts nor confirms anything.
  void die() { dead_ = true; }
  void revive() {
    dead_ = false;
    for (const auto& [key, pod] : pods_.all()) {
      changed(pod);
    }
  }

 private:
  void changed(const api::Object& pod) {
    if (!pod || dead_) {
      return;
    }
    const api::Key key = pod.key();
    const std::string uid = pod.meta().uid;
    const std::string_view phase = api::string_at(pod.json(), "status.phase");
    const bool ended = phase == "Succeeded" || phase == "Failed";
    if (api::string_at(pod.json(), "spec.nodeName").empty()) {
      if (!pod.meta().deletion_timestamp) {
        later(Duration::millis(10), key, uid, [this](const api::Object& now) {
          plane_.client.bind(
              {.pod = now.key(), .uid = now.meta().uid, .node = node_, .annotations = {}},
              ignore());
        });
      }
    } else if (pod.meta().deletion_timestamp) {
      const Duration stops = ended ? Duration() : script_(pod).stops;
      later(stops, key, uid, [this](const api::Object& now) { confirm_end(now); });
    } else if (!ended && phase != "Running") {
      later(Duration::millis(100), key, uid, [this](const api::Object& now) { start(now); });
    } else if (phase == "Running" && script_(pod).runs != Duration::max()) {
      later(script_(pod).runs, key, uid,
            [this](const api::Object& now) { end(now, script_(now).ends); });
    }
  }

  void later(Duration delay, const api::Key& key, const std::string& uid,
             std::function<void(const api::Object&)> act) {
    plane_.loop.after(delay,
                      [this, alive = std::weak_ptr<int>(alive_), key, uid, act = std::move(act)] {
                        if (alive.expired() || dead_) {
                          return;
                        }
                        const api::Object now = plane_.find(client::kPods, key);
                        if (now && now.meta().uid == uid) {
                          act(now);
                        }
                      });
  }

  void start(const api::Object& pod) {
    if (pod.meta().deletion_timestamp || api::string_at(pod.json(), "status.phase") == "Running" ||
        ended(pod)) {
      return;
    }
    set_phase(pod, "Running", "True");
  }
  void end(const api::Object& pod, const std::string& phase) {
    if (!ended(pod)) {
      set_phase(pod, phase, "False");
      successes_ += phase == "Succeeded" ? 1 : 0;
    }
  }
  void confirm_end(const api::Object& pod) {
    end(pod, "Failed");
    plane_.client.remove(client::kPods, pod.key(),
                         {.grace_period_seconds = 0, .uid = pod.meta().uid}, ignore());
  }

  static bool ended(const api::Object& pod) {
    const std::string_view phase = api::string_at(pod.json(), "status.phase");
    return phase == "Succeeded" || phase == "Failed";
  }

  void set_phase(const api::Object& pod, std::string_view phase, std::string_view ready) {
    json::array conditions;
    conditions.push_back(json::object{{"type", "Ready"},
                                      {"status", text(ready)},
                                      {"lastTransitionTime", to_rfc3339(plane_.loop.now())}});
    plane_.patch_status(
        client::kPods, pod.key(),
        json::object{{"phase", text(phase)}, {"conditions", std::move(conditions)}});
  }

  static client::Done<api::Object> ignore() {
    return [](const Result<api::Object>&) {};
  }

  ControlPlane& plane_;
  std::string node_;
  Script script_;
  std::shared_ptr<int> alive_; ///< goes with the kubelet
  bool dead_ = false;
  std::int64_t successes_ = 0;
  client::Informer pods_;
};

} // namespace berth::test
