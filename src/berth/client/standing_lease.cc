#include "berth/client/standing_lease.h"

#include <boost/json/value.hpp>

#include "berth/api/json.h"
#include "berth/base/log.h"

namespace berth::client {
namespace {

api::json::object held_spec(const LeaseSpec& lease, TimePoint now) {
  return {{"holderIdentity", lease.holder},
          {"leaseDurationSeconds", lease.duration_seconds},
          {"renewTime", to_rfc3339_micro(now)}};
}

class Held final : public StandingLease {
 public:
  Held(store::Registry& registry, Loop& loop, LeaseSpec lease)
      : registry_(&registry), loop_(&loop), lease_(std::move(lease)) {
    take();
  }
  ~Held() override { drop(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  void take() {
    const TimePoint now = loop_->now();
    api::json::object metadata{{"annotations", api::json::object{{kStandingAnnotation, "true"}}}};
    api::json::object spec = held_spec(lease_, now);
    Result<api::Object> written = registry_->patch(
        kLeases, {lease_.ns, lease_.name},
        api::json::object{{"metadata", metadata}, {"spec", spec}}, Subresource::None, now);
    if (!written && written.error().code == Code::NotFound) {
      metadata["name"] = lease_.name;
      metadata["namespace"] = lease_.ns;
      spec["acquireTime"] = to_rfc3339_micro(now);
      written =
          api::Object::from_json(api::json::object{{"apiVersion", "coordination.k8s.io/v1"},
                                                   {"kind", "Lease"},
                                                   {"metadata", std::move(metadata)},
                                                   {"spec", std::move(spec)}})
              .and_then([&](const api::Object& object) { return registry_->create(object, now); });
    }
    if (!written) {
      log(LogLevel::Warn, "lease", to_string(written.error()));
    }
  }

  void drop() {
    const auto current = registry_->get(kLeases, {lease_.ns, lease_.name});
    if (!current || api::string_at(current->json(), "spec.holderIdentity") != lease_.holder) {
      return;
    }
    const TimePoint now = loop_->now();
    const auto written = registry_->patch(
        kLeases, {lease_.ns, lease_.name},
        api::json::object{
            {"metadata",
             api::json::object{{"annotations", api::json::object{{kStandingAnnotation, nullptr}}}}},
            {"spec", api::json::object{{"renewTime", to_rfc3339_micro(now)}}}},
        Subresource::None, now);
    if (!written) {
      log(LogLevel::Warn, "lease", to_string(written.error()));
    }
  }

  store::Registry* registry_;
  Loop* loop_;
  LeaseSpec lease_;
};

} // namespace

std::unique_ptr<StandingLease> hold_standing_lease(store::Registry& registry, Loop& loop,
                                                   const LeaseSpec& lease) {
  return std::make_unique<Held>(registry, loop, lease);
}

} // namespace berth::client
