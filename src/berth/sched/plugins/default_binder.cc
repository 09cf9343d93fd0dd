#include "berth/sched/plugins/default_binder.h"

namespace berth::sched {
namespace {

class DefaultBinder final : public Plugin {
 public:
  std::string_view name() const override { return kDefaultBinder; }
  Points points() const override { return static_cast<Points>(Point::Bind); }
};

} // namespace

std::unique_ptr<Plugin> make_default_binder() {
  return std::make_unique<DefaultBinder>();
}

} // namespace berth::sched
