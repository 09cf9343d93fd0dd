#include "berth/server/event_views.h"

#include <array>
#include <utility>

namespace berth::server {
namespace {

namespace json = api::json;

constexpr std::string_view kGroup = "events.k8s.io";

struct Names {
  std::string_view core;
  std::string_view view;
};
constexpr std::array<Names, 7> kNames = {{{"involvedObject", "regarding"},
                                          {"message", "note"},
                                          {"reportingComponent", "reportingController"},
                                          {"source", "deprecatedSource"},
                                          {"firstTimestamp", "deprecatedFirstTimestamp"},
                                          {"lastTimestamp", "deprecatedLastTimestamp"},
                                          {"count", "deprecatedCount"}}};

/// Renames in place, so that the order of fields stays.
void rename(json::value& event, std::string_view version, std::string_view Names::*from,
            std::string_view Names::*to) {
  json::object* document = event.if_object();
  if (document == nullptr) {
    return;
  }
  json::object renamed(document->storage());
  renamed.reserve(document->size());
  for (auto& member : *document) {
    std::string_view name = member.key();
    for (const Names& names : kNames) {
      if (names.*from == name) {
        name = names.*to;
        break;
      }
    }
    renamed.insert_or_assign(name, std::move(member.value()));
  }
  renamed["apiVersion"] = version;
  *document = std::move(renamed);
}

} // namespace

bool is_event_view(const schema::Resource& resource) {
  return resource.group == kGroup && resource.kind == "Event";
}

store::GroupKind stored_kind(const schema::Resource& resource) {
  return is_event_view(resource) ? store::kEvents : store::GroupKind{resource.group, resource.kind};
}

void to_core_event(json::value& event) {
  rename(event, "v1", &Names::view, &Names::core);
}

void to_event_view(json::value& event) {
  rename(event, "events.k8s.io/v1", &Names::core, &Names::view);
}

} // namespace berth::server
