#include "berth/sched/plugins/dynamic_resources.h"

#include "berth/api/strict.h"

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

void decode(const api::Field& in, DynamicResourcesArgs& out) {
  api::refuse_unknown(in, {"filterTimeout", "bindingTimeout"});
  in.within("filterTimeout",
            [&](const api::Field& field) { api::decode_duration(field, out.filter_timeout); });
  in.within("bindingTimeout", [&](const api::Field& field) {
    api::decode_duration(field, out.binding_timeout);
    if (out.binding_timeout < Duration::seconds(1)) {
      api::refuse_value(field, "must be at least 1 second");
    }
  });
}

Result<DynamicResourcesArgs> parse_dynamic_resources_args(const boost::json::value& args) {
  return api::decode_document<DynamicResourcesArgs>(args);
}

std::unique_ptr<Plugin> make_dynamic_resources() {
  return std::make_unique<DynamicResources>();
}

} // namespace berth::sched
