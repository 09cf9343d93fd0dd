// job("j").pods(4, pod("t").gpus(8)), pod_group("g", 4), priority_class("high", 1000), ...:
// workloads for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "berth/model/workload.h"
#include "berth/testing/object_builder.h"
#include "berth/testing/pod_builder.h"

namespace berth::test {

class JobBuilder : public ObjectBuilder<JobBuilder> {
 public:
  explicit JobBuilder(std::string_view name) : ObjectBuilder("batch/v1", "Job", name) {
    ns("default");
    uses(PodBuilder("template").restart_policy("Never"));
  }

  /// Labels, annotations and spec of the pod become the template.
  JobBuilder& uses(const PodBuilder& pod) {
    json::object& pod_template = api::object_at(spec(), "template");
    json::object& meta = api::object_at(pod_template, "metadata");
    const json::value from(pod.document());
    for (const char* name : {"labels", "annotations"}) {
      if (const json::value* part = api::find_path(from, std::string("metadata.") + name)) {
        meta[name] = *part;
      }
    }
    pod_template["spec"] = *api::find(from, "spec");
    return *this;
  }
  JobBuilder& parallelism(std::int64_t n) { return set("parallelism", n); }
  JobBuilder& completions(std::int64_t n) { return set("completions", n); }
  JobBuilder& indexed() { return set("completionMode", "Indexed"); }
  JobBuilder& backoff_limit(std::int64_t n) { return set("backoffLimit", n); }
  JobBuilder& suspended() { return set("suspend", true); }
  JobBuilder& active_deadline_seconds(std::int64_t n) { return set("activeDeadlineSeconds", n); }
  JobBuilder& ttl_seconds(std::int64_t n) { return set("ttlSecondsAfterFinished", n); }

  std::shared_ptr<const model::Job> build() const {
    return decoded(model::decode_job(json::value(document())));
  }

 private:
  template <class T> JobBuilder& set(std::string_view key, T value) {
    spec()[text(key)] = value;
    return *this;
  }
};

class PodGroupBuilder : public ObjectBuilder<PodGroupBuilder> {
 public:
  PodGroupBuilder(std::string_view name, std::int64_t min_member)
      : ObjectBuilder("scheduling.x-k8s.io/v1alpha1", "PodGroup", name) {
    ns("default");
    spec()["minMember"] = min_member;
  }

  PodGroupBuilder& timeout_seconds(std::int64_t n) {
    spec()["scheduleTimeoutSeconds"] = n;
    return *this;
  }
  PodGroupBuilder& min_resource(std::string_view name, std::string_view quantity) {
    api::object_at(spec(), "minResources")[text(name)] = text(quantity);
    return *this;
  }

  std::shared_ptr<const model::PodGroup> build() const {
    return decoded(model::decode_pod_group(json::value(document())));
  }
};

class PriorityClassBuilder : public ObjectBuilder<PriorityClassBuilder> {
 public:
  PriorityClassBuilder(std::string_view name, std::int64_t value)
      : ObjectBuilder("scheduling.k8s.io/v1", "PriorityClass", name) {
    root()["value"] = value;
  }
  PriorityClassBuilder& global_default() {
    root()["globalDefault"] = true;
    return *this;
  }

  std::shared_ptr<const model::PriorityClass> build() const {
    return decoded(model::decode_priority_class(json::value(document())));
  }
};

inline JobBuilder job(std::string_view name) {
  return JobBuilder(name);
}
inline PodGroupBuilder pod_group(std::string_view name, std::int64_t min_member) {
  return PodGroupBuilder(name, min_member);
}
inline PriorityClassBuilder priority_class(std::string_view name, std::int64_t value) {
  return PriorityClassBuilder(name, value);
}

} // namespace berth::test
