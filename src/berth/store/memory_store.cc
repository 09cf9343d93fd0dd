#include "berth/store/memory_store.h"

#include <algorithm>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"

namespace berth::store {
namespace {

/// Ends its watch when dropped; does nothing once the store is gone.
template <class Shelf> class ShelfSubscription final : public Subscription {
 public:
  ShelfSubscription(std::weak_ptr<Shelf> shelf, WatchIndex::WatchId id)
      : shelf_(std::move(shelf)), id_(id) {}
  ~ShelfSubscription() override {
    if (const auto shelf = shelf_.lock()) {
      shelf->watches.remove(id_);
    }
  }
  ShelfSubscription(const ShelfSubscription&) = delete;
  ShelfSubscription& operator=(const ShelfSubscription&) = delete;

 private:
  std::weak_ptr<Shelf> shelf_;
  WatchIndex::WatchId id_;
};

} // namespace

std::optional<api::Object> MemoryStore::get(const GroupKind& kind, const api::Key& key) const {
  const auto shelf = shelves_.find(kind);
  if (shelf == shelves_.end()) {
    return std::nullopt;
  }
  const auto it = shelf->second->objects.find(key);
  return it == shelf->second->objects.end() ? std::nullopt : std::optional(it->second);
}

ObjectList MemoryStore::list(const ListOptions& what) const {
  ObjectList found{.items = {}, .resource_version = revision_};
  const auto at = shelves_.find(what.kind);
  if (at == shelves_.end()) {
    return found;
  }
  const Shelf& shelf = *at->second;
  const auto take = [&](const api::Object& object) {
    if (covers(what, object)) {
      found.items.push_back(object);
    }
  };
  if (what.node && !what.node->empty()) {
    if (const auto keys = shelf.by_node.find(*what.node); keys != shelf.by_node.end()) {
      for (const api::Key& key : keys->second) {
        take(shelf.objects.at(key));
      }
    }
    return found;
  }
  if (what.ns.empty() && what.name && is_cluster_scoped(shelf)) {
    if (const auto one = shelf.objects.find({"", *what.name}); one != shelf.objects.end()) {
      take(one->second);
    }
    return found;
  }
  auto it = what.ns.empty() ? shelf.objects.begin()
                            : shelf.objects.lower_bound({what.ns, what.name.value_or("")});
  for (; it != shelf.objects.end() && (what.ns.empty() || it->first.ns == what.ns); ++it) {
    take(it->second);
    if (!what.ns.empty() && what.name) {
      break;
    }
  }
  return found;
}

/// All objects of a kind have a namespace, or none has.
bool MemoryStore::is_cluster_scoped(const Shelf& shelf) {
  return !shelf.objects.empty() && shelf.objects.begin()->first.ns.empty();
}

std::shared_ptr<MemoryStore::Shelf>& MemoryStore::shelf_of(const GroupKind& kind) {
  auto& shelf = shelves_[kind];
  if (shelf == nullptr) {
    shelf = std::make_shared<Shelf>();
    shelf->forgotten = restored_;
  }
  return shelf;
}

void MemoryStore::restore(std::span<const api::Object> objects, std::uint64_t revision) {
  revision_ = restored_ = std::max<std::uint64_t>(revision, 1);
  for (const api::Object& object : objects) {
    Shelf& shelf = *shelf_of(group_kind(object));
    shelf.objects.insert_or_assign(object.key(), object);
    reindex(shelf, Change{.revision = revision_, .before = {}, .now = object});
  }
}

Result<api::Object> MemoryStore::numbered(api::json::value document) const {
  if (!document.is_object()) {
    return fail(Code::BadRequest, "not an object");
  }
  api::object_at(document.as_object(), "metadata")["resourceVersion"] =
      fmt::to_string(revision_ + 1);
  return api::Object::from_json(std::move(document));
}

/// The version that `next` may replace; an empty object when there is none and none is expected.
Result<api::Object> MemoryStore::current(const Shelf& shelf, const api::Object& next,
                                         std::uint64_t expected) {
  const auto it = shelf.objects.find(next.key());
  if (it == shelf.objects.end()) {
    if (expected != 0) {
      return fail(Code::NotFound, fmt::format("no such object: {}", next.key().to_string()));
    }
    return api::Object();
  }
  if (expected == 0) {
    return fail(Code::AlreadyExists, fmt::format("object exists: {}", next.key().to_string()));
  }
  if (it->second.meta().resource_version != expected) {
    return fail(Code::Conflict,
                fmt::format("object has been modified: {}: version {}, expected {}",
                            next.key().to_string(), it->second.meta().resource_version, expected));
  }
  return it->second;
}

void MemoryStore::reindex(Shelf& shelf, const Change& change) {
  const std::string_view before = change.before ? node_of(change.before) : std::string_view();
  const std::string_view now =
      change.kind == Change::Kind::Put ? node_of(change.now) : std::string_view();
  if (before == now) {
    return;
  }
  if (const auto old = shelf.by_node.find(before); !before.empty() && old != shelf.by_node.end()) {
    old->second.erase(change.now.key());
    if (old->second.empty()) {
      shelf.by_node.erase(old);
    }
  }
  if (!now.empty()) {
    shelf.by_node[std::string(now)].insert(change.now.key());
  }
}

void MemoryStore::commit(Shelf& shelf, Change change) {
  revision_ = change.revision;
  if (change.kind == Change::Kind::Put) {
    shelf.objects.insert_or_assign(change.now.key(), change.now);
  } else {
    shelf.objects.erase(change.now.key());
  }
  reindex(shelf, change);
  shelf.watches.deliver(change);
  shelf.history_bytes += bytes_of(change);
  shelf.history.push_back(std::move(change));
  forget(shelf);
  if (++shelf.since_bookmark >= options_.bookmark_every) {
    shelf.since_bookmark = 0;
    shelf.watches.bookmark(revision_);
  }
}

std::size_t MemoryStore::bytes_of(const Change& change) const {
  return options_.history_bytes == 0 ? 0 : change.now.bytes().size();
}

/// The oldest changes beyond what is to be kept.
void MemoryStore::forget(Shelf& shelf) const {
  while (shelf.history.size() > options_.history ||
         (shelf.history_bytes > options_.history_bytes && !shelf.history.empty())) {
    shelf.forgotten = shelf.history.front().revision;
    shelf.history_bytes -= bytes_of(shelf.history.front());
    shelf.history.pop_front();
  }
}

Result<api::Object> MemoryStore::put(api::json::value document, std::uint64_t expected,
                                     const Check& check) {
  BERTH_TRY(api::Object next, numbered(std::move(document)));
  auto& shelf = shelf_of(group_kind(next));
  if (check) {
    BERTH_CHECK(check(next));
  }
  BERTH_TRY(api::Object before, current(*shelf, next, expected));
  commit(*shelf, Change{.revision = revision_ + 1, .before = std::move(before), .now = next});
  return next;
}

Result<api::Object> MemoryStore::erase(api::json::value document, std::uint64_t expected) {
  BERTH_TRY(api::Object last, numbered(std::move(document)));
  const auto shelf = shelves_.find(group_kind(last));
  if (shelf == shelves_.end() || expected == 0) {
    return fail(Code::NotFound, fmt::format("no such object: {}", last.key().to_string()));
  }
  BERTH_TRY(api::Object before, current(*shelf->second, last, expected));
  commit(*shelf->second, Change{.revision = revision_ + 1,
                                .before = std::move(before),
                                .now = last,
                                .kind = Change::Kind::Erase});
  return last;
}

void MemoryStore::replay(const Shelf& shelf, const WatchOptions& options, const Sink& sink) {
  if (options.since == 0) {
    for (const auto& [key, object] : shelf.objects) {
      if (covers(options.what, object)) {
        sink({.type = WatchEvent::Type::Added,
              .object = object,
              .resource_version = object.meta().resource_version});
      }
    }
    return;
  }
  const auto first =
      std::upper_bound(shelf.history.begin(), shelf.history.end(), options.since,
                       [](std::uint64_t since, const Change& c) { return since < c.revision; });
  for (auto it = first; it != shelf.history.end(); ++it) {
    if (const auto event = event_for(options.what, *it)) {
      sink(*event);
    }
  }
}

Result<std::unique_ptr<Subscription>> MemoryStore::watch(const WatchOptions& options, Sink sink) {
  auto& shelf = shelf_of(options.what.kind);
  if (options.since > revision_) {
    return fail(Code::Timeout, fmt::format("Too large resource version: {}, current: {}",
                                           options.since, revision_));
  }
  if (options.since != 0 && options.since < shelf->forgotten) {
    return fail(Code::Expired,
                fmt::format("too old resource version: {} ({})", options.since, shelf->forgotten));
  }
  replay(*shelf, options, sink);
  const WatchIndex::WatchId id = shelf->watches.add(options, std::move(sink));
  return std::make_unique<ShelfSubscription<Shelf>>(shelf, id);
}

void MemoryStore::adopt(api::Object now, Change::Kind kind) {
  Shelf& shelf = *shelf_of(group_kind(now));
  const auto it = shelf.objects.find(now.key());
  Change change{.revision = now.meta().resource_version,
                .before = it == shelf.objects.end() ? api::Object() : it->second,
                .now = std::move(now),
                .kind = kind};
  commit(shelf, std::move(change));
}

void MemoryStore::forget_until(std::uint64_t revision) {
  revision_ = restored_ = std::max(revision_, revision);
  for (const auto& [kind, shelf] : shelves_) {
    shelf->history.clear();
    shelf->history_bytes = 0;
    shelf->forgotten = revision_;
  }
}

std::vector<api::Object> MemoryStore::all() const {
  std::vector<api::Object> out;
  for (const auto& [kind, shelf] : shelves_) {
    for (const auto& [key, object] : shelf->objects) {
      out.push_back(object);
    }
  }
  return out;
}

std::size_t MemoryStore::size() const {
  std::size_t total = 0;
  for (const auto& [kind, shelf] : shelves_) {
    total += shelf->objects.size();
  }
  return total;
}

} // namespace berth::store
