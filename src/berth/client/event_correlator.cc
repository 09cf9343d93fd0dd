#include "berth/client/event_correlator.h"

#include <algorithm>
#include <functional>

#include <boost/container_hash/hash.hpp>

namespace berth::client {
namespace {

constexpr Duration kSimilarWithin = Duration::minutes(10);
constexpr std::int64_t kBurst = 25;
constexpr Duration kRefill = Duration::minutes(5);
constexpr std::string_view kCombined = "(combined from similar events): ";

EventKey without_message(const EventKey& event) {
  return {.about = event.about, .type = event.type, .reason = event.reason, .message = {}};
}

} // namespace

std::size_t EventCorrelator::Hash::operator()(const std::string& about) const {
  return std::hash<std::string>()(about);
}

std::size_t EventCorrelator::Hash::operator()(const EventKey& key) const {
  std::size_t hash = 0;
  for (const std::string* part : {&key.about, &key.type, &key.reason, &key.message}) {
    boost::hash_combine(hash, (*this)(*part));
  }
  return hash;
}

template <class K, class V> V& EventCorrelator::Recent<K, V>::operator[](const K& key) {
  if (const auto it = index_.find(&key); it != index_.end()) {
    entries_.splice(entries_.begin(), entries_, it->second);
    return it->second->second;
  }
  entries_.emplace_front(key, V());
  index_.emplace(&entries_.front().first, entries_.begin());
  if (entries_.size() > kMemory) {
    index_.erase(&entries_.back().first);
    entries_.pop_back();
  }
  return entries_.front().second;
}

bool EventCorrelator::collapses(const EventKey& event, TimePoint now) {
  Similar& similar = similar_[without_message(event)];
  if (similar.last && now - *similar.last > kSimilarWithin) {
    similar.messages.clear();
  }
  similar.last = now;
  similar.messages.insert(event.message);
  if (similar.messages.size() < kSimilar) {
    return false;
  }
  similar.messages.erase(similar.messages.begin());
  return true;
}

bool EventCorrelator::allowed(const std::string& about, TimePoint now) {
  Bucket& bucket = buckets_[about];
  bucket.used_nanos =
      std::max<std::int64_t>(0, bucket.used_nanos - (now - bucket.at).count_nanos());
  bucket.at = now;
  if (bucket.used_nanos > (kBurst - 1) * kRefill.count_nanos()) {
    return false;
  }
  bucket.used_nanos += kRefill.count_nanos();
  return true;
}

std::optional<Correlated> EventCorrelator::observe(const EventKey& event, TimePoint now) {
  const bool combined = collapses(event, now);
  Seen& seen = seen_[combined ? without_message(event) : event];
  if (seen.count == 0) {
    seen.first = now;
  }
  ++seen.count;
  if (!allowed(event.about, now)) {
    return std::nullopt;
  }
  return Correlated{.name = seen.name,
                    .message = combined ? std::string(kCombined) + event.message : event.message,
                    .count = seen.count,
                    .first = seen.first};
}

void EventCorrelator::written_as(const EventKey& event, const Correlated& correlated,
                                 std::string name) {
  const bool combined = correlated.message != event.message;
  seen_[combined ? without_message(event) : event].name = std::move(name);
}

} // namespace berth::client
