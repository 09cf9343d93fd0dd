#include "berth/store/event_expiry.h"

#include <set>

#include "berth/store/document.h"

namespace berth::store {

/// Those that nobody here has written are as old as this look.
void EventExpiry::look(const Store& store, TimePoint now) {
  if (looked_ && now - *looked_ < ttl_) {
    return;
  }
  looked_ = now;
  std::set<std::uint64_t> known;
  for (const Written& one : written_) {
    known.insert(one.resource_version);
  }
  for (const api::Object& event : store.list({.kind = kEvents}).items) {
    const std::uint64_t version = event.meta().resource_version;
    if (!known.contains(version)) {
      written_.push_back({.at = now, .key = event.key(), .resource_version = version});
    }
  }
}

void EventExpiry::written(Store& store, const api::Object& event, TimePoint now) {
  look(store, now);
  written_.push_back(
      {.at = now, .key = event.key(), .resource_version = event.meta().resource_version});
  while (!written_.empty() && now - written_.front().at > ttl_) {
    const Written& old = written_.front();
    const auto current = store.get(kEvents, old.key);
    if (current && current->meta().resource_version == old.resource_version) {
      // A lost race leaves the event to whoever wrote it since.
      (void)store.erase(editable(current->json()), old.resource_version);
    }
    written_.pop_front();
  }
}

} // namespace berth::store
