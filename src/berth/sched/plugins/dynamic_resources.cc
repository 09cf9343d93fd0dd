#include "berth/sched/plugins/dynamic_resources.h"

namespace berth::sched {
namespace {

class DynamicResources final : public Plugin {
 public:
  std::string_view name() const override { return kDynamicResources; }
  Points points() const override { return static_cast<Points>(Point::PostFilter); }

  PostFilterResult post_filter(FilterSession&) const override {
    PostFilterResult result;
    result.status = Status::of(StatusCode::Unschedulable, std::string(kReasonNoClaims));
    return result;
  }
};

} // namespace

std::unique_ptr<Plugin> make_dynamic_resources() {
  return std::make_unique<DynamicResources>();
}

} // namespace berth::sched
