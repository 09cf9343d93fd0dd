#include "berth/store/watch_index.h"

#include <fmt/format.h>

#include "berth/api/json.h"

namespace berth::store {

std::optional<WatchEvent> event_for(const ListOptions& what, const Change& change) {
  const bool was = change.before && covers(what, change.before);
  const bool is = change.kind == Change::Kind::Put && covers(what, change.now);
  if (!was && !is) {
    return std::nullopt;
  }
  if (is) {
    return WatchEvent{.type = was ? WatchEvent::Type::Modified : WatchEvent::Type::Added,
                      .object = change.now,
                      .resource_version = change.revision};
  }
  if (change.kind == Change::Kind::Erase) {
    return WatchEvent{.type = WatchEvent::Type::Deleted,
                      .object = change.now,
                      .resource_version = change.revision};
  }
  // Left the selection: the last covered state, with the revision at which it left.
  api::Object last = change.before.edit([&](api::json::object& document) {
    api::object_at(document, "metadata")["resourceVersion"] = fmt::to_string(change.revision);
  });
  return WatchEvent{.type = WatchEvent::Type::Deleted,
                    .object = std::move(last),
                    .resource_version = change.revision};
}

WatchIndex::Place WatchIndex::place_of(const ListOptions& what) {
  if (what.node) {
    return {.axis = Axis::Node, .value = *what.node};
  }
  if (what.name) {
    return {.axis = Axis::Name, .value = *what.name};
  }
  if (!what.ns.empty()) {
    return {.axis = Axis::Namespace, .value = what.ns};
  }
  return {.axis = Axis::All, .value = ""};
}

WatchIndex::WatchId WatchIndex::add(const WatchOptions& options, Sink sink) {
  const WatchId id = next_++;
  Place place = place_of(options.what);
  of(place.axis)[place.value].emplace(id, Watcher{.options = options, .sink = std::move(sink)});
  places_.emplace(id, std::move(place));
  return id;
}

void WatchIndex::remove(WatchId id) {
  const auto it = places_.find(id);
  if (it == places_.end()) {
    return;
  }
  Buckets& buckets = of(it->second.axis);
  const auto bucket = buckets.find(it->second.value);
  bucket->second.erase(id);
  if (bucket->second.empty()) {
    buckets.erase(bucket);
  }
  places_.erase(it);
}

void WatchIndex::deliver_to(Axis axis, const std::string& value, const Change& change) const {
  const auto bucket = of(axis).find(value);
  if (bucket == of(axis).end()) {
    return;
  }
  for (const auto& [id, watcher] : bucket->second) {
    if (const auto event = event_for(watcher.options.what, change)) {
      watcher.sink(*event);
    }
  }
}

void WatchIndex::deliver(const Change& change) const {
  deliver_to(Axis::All, "", change);
  deliver_to(Axis::Namespace, change.now.meta().ns, change);
  deliver_to(Axis::Name, change.now.meta().name, change);
  if (of(Axis::Node).empty()) {
    return;
  }
  const std::string now(node_of(change.now));
  const std::string before(change.before ? node_of(change.before) : std::string_view());
  deliver_to(Axis::Node, now, change);
  if (change.before && before != now) {
    deliver_to(Axis::Node, before, change);
  }
}

void WatchIndex::bookmark(std::uint64_t revision) const {
  const WatchEvent event{
      .type = WatchEvent::Type::Bookmark, .object = {}, .resource_version = revision};
  for (const auto& [id, place] : places_) {
    const Watcher& watcher = of(place.axis).at(place.value).at(id);
    if (watcher.options.bookmarks) {
      watcher.sink(event);
    }
  }
}

} // namespace berth::store
