// Queue: room and leftovers offered to one pod after the other, so that a crowd of equal pods is
// not tried in vain.
#include <algorithm>

#include "berth/sched/queue.h"

namespace berth::sched {

/// The first in the queue's order whom what is left of the room could help.
Queue::Item* Queue::best_taker(const Offer& offer) const {
  const ActiveLess less{policy_.get()};
  Item* best = nullptr;
  for (const auto& [kind, pods] : kinds_) {
    const auto help = helps(**pods.begin(), offer.event);
    if (!help || !help->by_room) {
      continue;
    }
    const auto first = std::ranges::find_if(pods, [&](const Item* item) {
      return item->serial < offer.before && item->info.pod->uid != offer.except;
    });
    if (first != pods.end() && (best == nullptr || less(*first, best))) {
      best = *first;
    }
  }
  return best;
}

/// Wakes the next taker; false if there is none.
bool Queue::offer_next(Offer& offer, TimePoint now) {
  offer.event.room = policy_->room(offer.node);
  while (Item* item = best_taker(offer)) {
    const auto help = helps(*item, offer.event);
    detach(*item);
    wake(*item, help ? help->urgency : Urgency::AfterBackoff, now, offer.event.label);
    if (item->place == Place::Active || item->place == Place::Backoff) {
      offer.taker = item->info.pod->uid;
      offer.serial = item->serial;
      return true;
    }
  }
  return false;
}

void Queue::offer_rest(TimePoint now) {
  std::erase_if(offers_, [&](Offer& offer) {
    return !still_to_try(offer.taker, offer.serial) && !offer_next(offer, now);
  });
  std::erase_if(probes_, [&](Probe& probe) {
    if (still_to_try(probe.uid, probe.serial)) {
      return false;
    }
    const Item* tried = item(probe.uid);
    const bool failed_the_same =
        tried != nullptr && tried->place == Place::Unschedulable && kind_of(*tried) == probe.kind;
    return failed_the_same || !probe_next(probe, now);
  });
}

bool Queue::still_to_try(std::string_view uid, std::uint64_t serial) const {
  const Item* woken = item(uid);
  return woken != nullptr && woken->serial == serial &&
         (woken->place == Place::Active || woken->place == Place::Backoff);
}

/// Wakes the first of the kind; false if there is none left, or if it may not be tried now.
bool Queue::probe_next(Probe& probe, TimePoint now) {
  const auto kind = kinds_.find(probe.kind);
  if (kind == kinds_.end()) {
    return false;
  }
  Item& first = **kind->second.begin();
  detach(first);
  first.info.leftover = true;
  wake(first, Urgency::AfterBackoff, now, queue_causes::kLongWait);
  probe.uid = first.info.pod->uid;
  probe.serial = first.serial;
  return still_to_try(probe.uid, probe.serial);
}

} // namespace berth::sched
