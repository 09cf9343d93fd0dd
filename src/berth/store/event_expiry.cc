#include "berth/store/event_expiry.h"

#include "berth/store/document.h"

namespace berth::store {

void EventExpiry::written(Store& store, const api::Object& event, TimePoint now) {
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
