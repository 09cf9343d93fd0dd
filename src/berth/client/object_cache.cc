#include "berth/client/object_cache.h"

#include <algorithm>

namespace berth::client {
namespace {

constexpr std::size_t kMostDead = 4096;

/// From what is held to `now`: one step, or gone-and-new when the name was reused.
void steps(const api::Object& held, const api::Object& now, std::vector<Difference>& out) {
  if (held.meta().uid != now.meta().uid) {
    out.push_back({.before = held, .now = {}});
    out.push_back({.before = {}, .now = now});
  } else if (held.meta().resource_version < now.meta().resource_version) {
    out.push_back({.before = held, .now = now});
  }
}

} // namespace

/// Forgets the older half of the dead: reordering spans moments, not thousands of deletions.
void ObjectCache::forget_long_dead() {
  if (gone_.size() < kMostDead) {
    return;
  }
  std::vector<std::uint64_t> revisions;
  for (const auto& [key, revision] : gone_) {
    revisions.push_back(revision);
  }
  const auto middle = revisions.begin() + static_cast<std::ptrdiff_t>(revisions.size() / 2);
  std::nth_element(revisions.begin(), middle, revisions.end());
  std::erase_if(gone_, [cut = *middle](const auto& one) { return one.second < cut; });
}

std::vector<Difference> ObjectCache::apply(const WatchEvent& event) {
  const std::uint64_t revision = event.resource_version;
  newest_ = std::max(newest_, revision);
  if (event.type == WatchEvent::Type::Bookmark || revision <= listed_) {
    return {};
  }
  const api::Key key = event.object.key();
  const auto held = objects_.find(key);
  if (held != objects_.end() && held->second.meta().resource_version >= revision) {
    return {};
  }
  if (const auto dead = gone_.find(key); dead != gone_.end() && dead->second >= revision) {
    return {};
  }
  std::vector<Difference> out;
  if (event.type == WatchEvent::Type::Deleted) {
    gone_[key] = revision;
    forget_long_dead();
    if (held != objects_.end()) {
      out.push_back({.before = held->second, .now = {}});
    }
  } else if (held != objects_.end()) {
    steps(held->second, event.object, out);
  } else {
    out.push_back({.before = {}, .now = event.object});
  }
  return out;
}

std::vector<Difference> ObjectCache::replace(const ObjectList& list) {
  listed_ = list.resource_version;
  newest_ = std::max(newest_, list.resource_version);
  gone_.clear();
  std::map<api::Key, const api::Object*> listed;
  for (const api::Object& object : list.items) {
    listed.emplace(object.key(), &object);
  }
  std::vector<Difference> out;
  for (const auto& [key, object] : objects_) {
    if (!listed.contains(key)) {
      out.push_back({.before = object, .now = {}});
    }
  }
  for (const auto& [key, object] : listed) {
    if (const auto held = objects_.find(key); held != objects_.end()) {
      steps(held->second, *object, out);
    } else {
      out.push_back({.before = {}, .now = *object});
    }
  }
  return out;
}

void ObjectCache::hold(const Difference& difference) {
  if (difference.now) {
    objects_.insert_or_assign(difference.now.key(), difference.now);
  } else {
    objects_.erase(difference.before.key());
  }
}

} // namespace berth::client
