#include "berth/etcd/etcd_store.h"

#include <algorithm>
#include <map>
#include <utility>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/log.h"
#include "berth/etcd/endpoints.h"
#include "berth/etcd/feed.h"
#include "berth/etcd/keys.h"
#include "berth/etcd/messages.h"

namespace berth::etcd {
namespace {

using store::Change;

constexpr std::uint64_t kPage = 500;
constexpr Duration kCatchUp = Duration::seconds(3);

/// As etcd keeps it: its version is the key's.
Result<api::Object> decoded(const KeyValue& kv) {
  BERTH_TRY(api::json::value document, api::parse_json(kv.value));
  if (!document.is_object()) {
    return fail(Code::Internal, "it is no object");
  }
  api::object_at(document.as_object(), "metadata")["resourceVersion"] =
      fmt::to_string(kv.mod_revision);
  return api::Object::from_json(std::move(document));
}

/// An object to be written, and its bytes, which have no version.
struct Draft {
  api::Object object; ///< with the version that it will have if nobody else writes
  Place place;
  std::string value;
};

Result<Draft> draft_of(api::json::value document, std::uint64_t version) {
  if (!document.is_object()) {
    return fail(Code::BadRequest, "not an object");
  }
  api::object_at(document.as_object(), "metadata").stable_erase("resourceVersion");
  Draft draft;
  draft.value = api::to_json(document);
  api::object_at(document.as_object(), "metadata")["resourceVersion"] = fmt::to_string(version);
  BERTH_TRY(draft.object, api::Object::from_json(std::move(document)));
  draft.place = {.kind = store::group_kind(draft.object), .key = draft.object.key()};
  return draft;
}

api::Object with_version(const api::Object& object, std::uint64_t version) {
  return object.meta().resource_version == version
             ? object
             : object.edit([version](api::json::object& document) {
                 api::object_at(document, "metadata")["resourceVersion"] = fmt::to_string(version);
               });
}

} // namespace

struct EtcdStore::State {
  State(net::AsioLoop& on, EtcdOptions given)
      : loop(&on), options(std::move(given)), below(objects_below(options.prefix)),
        endpoints(options.endpoints, {.tls = options.tls}), mirror(options.mirror),
        background(on, {.tls = options.tls}), compaction(on) {}

  struct Whole {
    std::uint64_t revision = 0;
    std::map<std::string, KeyValue> kvs;
  };

  /// What is there, as of one revision.
  Result<Whole> read_all() {
    Whole whole;
    Range range{.key = below, .end = end_of(below), .limit = kPage};
    while (true) {
      BERTH_TRY(const Endpoints::Answer answer, endpoints.call(kRangePath, range_body(range)));
      BERTH_TRY(RangeAnswer page, read_range(answer.body));
      if (range.revision == 0) {
        whole.revision = range.revision = page.revision;
      }
      for (KeyValue& kv : page.kvs) {
        range.key = kv.key + '\0';
        std::string key = kv.key;
        whole.kvs.emplace(std::move(key), std::move(kv));
      }
      if (!page.more) {
        return whole;
      }
    }
  }

  Result<void> load() {
    BERTH_TRY(const Whole whole, read_all());
    std::vector<api::Object> objects;
    objects.reserve(whole.kvs.size());
    for (const auto& [key, kv] : whole.kvs) {
      auto object = decoded(kv);
      if (!object) {
        return fail(Code::Unavailable, fmt::format("etcd's key {} cannot be read: {}; was it "
                                                   "written by something else than berth?",
                                                   key, to_string(object.error())));
      }
      objects.push_back(*std::move(object));
    }
    mirror.restore(objects, whole.revision);
    return {};
  }

  void follow() {
    Feed::Options feeding{.prefix = below, .tls = options.tls};
    feed = std::make_unique<Feed>(
        *loop, options.endpoints, std::move(feeding),
        Feed::Events{.known = [this] { return mirror.revision(); },
                     .changed = [this](const std::vector<Event>& events) { apply(events); },
                     .too_old = [this] { read_anew(); },
                     .went_back =
                         [this](std::uint64_t revision) {
                           broken =
                               Error{.code = Code::Internal,
                                     .message = fmt::format(
                                         "etcd's revision went back from {} to {}: it was restored "
                                         "from a backup; start berth anew",
                                         mirror.revision(), revision)};
                           log(LogLevel::Error, "etcd", broken->message);
                         }});
    if (options.compact_every != Duration::max()) {
      compact_later(0);
    }
  }

  /// Those that are news, in order. A revision comes whole: all of its events in one list.
  void apply(const std::vector<Event>& events) {
    const std::uint64_t known = mirror.revision();
    for (const Event& event : events) {
      const auto place = place_of(options.prefix, event.kv.key);
      if (event.kv.mod_revision <= known || !place) {
        continue;
      }
      if (event.type == Event::Type::Put) {
        put_in_mirror(event.kv);
      } else if (const auto last = mirror.get(place->kind, place->key)) {
        mirror.adopt(with_version(*last, event.kv.mod_revision), Change::Kind::Erase);
      }
    }
  }

  void put_in_mirror(const KeyValue& kv) {
    if (auto object = decoded(kv)) {
      mirror.adopt(*std::move(object), Change::Kind::Put);
    } else {
      log(LogLevel::Error, "etcd",
          fmt::format("key {} cannot be read and is passed over: {}", kv.key,
                      to_string(object.error())));
    }
  }

  /// After a gap: what differs is told as changes, and watches from before it have to list.
  void read_anew() {
    const auto whole = read_all();
    if (!whole) {
      log(LogLevel::Error, "etcd", to_string(whole.error()));
      return; // the feed comes back to it
    }
    std::vector<const KeyValue*> news;
    for (const auto& [key, kv] : whole->kvs) {
      if (kv.mod_revision > mirror.revision() && place_of(options.prefix, key)) {
        news.push_back(&kv);
      }
    }
    std::ranges::sort(news, {}, &KeyValue::mod_revision);
    for (const KeyValue* kv : news) {
      put_in_mirror(*kv);
    }
    for (const api::Object& object : mirror.all()) {
      if (!whole->kvs.contains(
              key_of(options.prefix, {.kind = store::group_kind(object), .key = object.key()}))) {
        mirror.adopt(with_version(object, whole->revision), Change::Kind::Erase);
      }
    }
    mirror.forget_until(whole->revision);
  }

  /// Lets the mirror hear of what happened until `enough`, without waiting for the loop.
  void catch_up(const std::function<bool()>& enough) {
    if (enough()) {
      return;
    }
    using More = Endpoints::More;
    bool gap = false;
    const auto outcome =
        endpoints.read_lines(kWatchPath, watch_body(below, end_of(below), mirror.revision() + 1),
                             kCatchUp, [&](std::string_view line) {
                               const auto answer = read_watch(line);
                               gap = answer && answer->compacted != 0;
                               if (!answer || answer->canceled) {
                                 return More::Enough;
                               }
                               apply(answer->events);
                               return enough() ? More::Enough : More::Wanted;
                             });
    if (gap) {
      read_anew();
    } else if (!outcome) {
      log(LogLevel::Warn, "etcd", to_string(outcome.error()));
    }
  }

  /// A write of ours has a number: the mirror gets it, and what others wrote before it.
  api::Object settle(const Draft& draft, std::uint64_t revision, Change::Kind kind) {
    api::Object written = with_version(draft.object, revision);
    if (revision == mirror.revision() + 1) {
      mirror.adopt(written, kind);
    } else {
      catch_up([&] { return mirror.revision() >= revision; });
    }
    return written;
  }

  /// What is there is not what was expected. The mirror gets to know before anybody is told.
  tl::unexpected<Error> mismatch(const Place& place, const std::optional<KeyValue>& found,
                                 std::uint64_t expected) {
    catch_up([&] {
      const auto seen = mirror.get(place.kind, place.key);
      return found ? seen && seen->meta().resource_version >= found->mod_revision : !seen;
    });
    const std::string key = place.key.to_string();
    if (!found) {
      return fail(Code::NotFound, fmt::format("no such object: {}", key));
    }
    if (expected == 0) {
      return fail(Code::AlreadyExists, fmt::format("object exists: {}", key));
    }
    return fail(Code::Conflict, fmt::format("object has been modified: {}: version {}, expected {}",
                                            key, found->mod_revision, expected));
  }

  std::vector<Guard> guards_of(const std::vector<std::string>& names) const {
    std::vector<Guard> out;
    for (const std::string& name : names) {
      const std::string key = fmt::format("{}/counted/{}", options.prefix, name);
      const auto known = guards.find(key);
      out.push_back({.key = key, .expected = known == guards.end() ? 0 : known->second});
    }
    return out;
  }

  /// Only what the mirror has is known: a write that it missed would not be counted.
  void known_until(const Guard& guard, std::uint64_t revision) {
    if (mirror.revision() >= revision) {
      guards[guard.key] = revision;
    }
  }

  /// Whether others wrote under these names since. What they wrote is known then.
  bool overtaken(const std::vector<Guard>& wanted, const TxnAnswer& outcome) {
    bool any = false;
    for (std::size_t i = 0; i < std::min(wanted.size(), outcome.guards.size()); ++i) {
      if (outcome.guards[i] != wanted[i].expected) {
        any = true;
        catch_up([&] { return mirror.revision() >= outcome.guards[i]; });
        known_until(wanted[i], outcome.guards[i]);
      }
    }
    return any;
  }

  /// The revision that etcd as a whole has.
  Result<std::uint64_t> present() {
    BERTH_TRY(
        const Endpoints::Answer answer,
        endpoints.call(kRangePath, range_body({.key = below, .limit = 1, .count_only = true})));
    BERTH_TRY(const RangeAnswer range, read_range(answer.body));
    return range.revision;
  }

  /// Drops the history that is older than a turn; other processes may have been faster.
  void compact_later(std::uint64_t until) {
    compaction.set(options.compact_every, [this, until] {
      if (until != 0) {
        background.send(endpoints.current(), post(kCompactPath, compact_body(until)),
                        [](const Result<net::HttpResponse>&) {});
      }
      compact_later(mirror.revision());
    });
  }

  net::AsioLoop* loop;
  EtcdOptions options;
  std::string below;
  Endpoints endpoints;
  store::MemoryStore mirror;
  std::map<std::string, std::uint64_t> guards; ///< key to its mod_revision, as last seen
  std::optional<Error> broken;                 ///< why nothing more is written, if so
  net::HttpClient background;
  Timer compaction;
  std::unique_ptr<Feed> feed;
};

Result<std::unique_ptr<EtcdStore>> EtcdStore::open(net::AsioLoop& loop, EtcdOptions options) {
  auto state = std::make_unique<State>(loop, std::move(options));
  BERTH_CHECK(state->load());
  state->follow();
  return std::unique_ptr<EtcdStore>(new EtcdStore(std::move(state)));
}

EtcdStore::EtcdStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
EtcdStore::~EtcdStore() = default;

Result<std::string> EtcdStore::agree(const std::string& name, const std::string& offered) {
  const std::string key = fmt::format("{}/agreed/{}", state_->options.prefix, name);
  BERTH_TRY(const Endpoints::Answer answer,
            state_->endpoints.call(kTxnPath, put_body(key, offered, 0)));
  BERTH_TRY(const TxnAnswer outcome, read_txn(answer.body));
  return outcome.succeeded || !outcome.found ? offered : outcome.found->value;
}

std::uint64_t EtcdStore::revision() const {
  return state_->mirror.revision();
}

std::optional<api::Object> EtcdStore::get(const store::GroupKind& kind, const api::Key& key) const {
  return state_->mirror.get(kind, key);
}

store::ObjectList EtcdStore::list(const store::ListOptions& what) const {
  return state_->mirror.list(what);
}

Result<api::Object> EtcdStore::put_counted(api::json::value document, std::uint64_t expected,
                                           const store::Check& check,
                                           const std::vector<std::string>& names) {
  if (state_->broken) {
    return tl::unexpected(*state_->broken);
  }
  BERTH_TRY(const Draft draft, draft_of(std::move(document), state_->mirror.revision() + 1));
  if (check) {
    BERTH_CHECK(check(draft.object));
  }
  const std::string key = key_of(state_->options.prefix, draft.place);
  const std::vector<Guard> guards = state_->guards_of(names);
  BERTH_TRY(const Endpoints::Answer answer,
            state_->endpoints.call(kTxnPath, put_body(key, draft.value, expected, guards)));
  BERTH_TRY(const TxnAnswer outcome, read_txn(answer.body));
  if (outcome.succeeded) {
    api::Object written = state_->settle(draft, outcome.revision, Change::Kind::Put);
    for (const Guard& guard : guards) {
      state_->known_until(guard, outcome.revision);
    }
    return written;
  }
  if (expected == 0 && outcome.found && outcome.found->value == draft.value) {
    // What is created has a uid that no other has: an earlier try of the same request had
    // succeeded, and its answer was lost. Two updates may say the same, and one of them is refused.
    return state_->settle(draft, outcome.found->mod_revision, Change::Kind::Put);
  }
  if (state_->overtaken(guards, outcome)) {
    return fail(Code::Conflict, fmt::format("other replicas wrote what {} is judged by; try again",
                                            draft.place.key.to_string()));
  }
  return state_->mismatch(draft.place, outcome.found, expected);
}

Result<api::Object> EtcdStore::erase(api::json::value document, std::uint64_t expected) {
  if (state_->broken) {
    return tl::unexpected(*state_->broken);
  }
  BERTH_TRY(const Draft draft, draft_of(std::move(document), state_->mirror.revision() + 1));
  if (expected == 0) {
    return fail(Code::NotFound, fmt::format("no such object: {}", draft.place.key.to_string()));
  }
  const std::string key = key_of(state_->options.prefix, draft.place);
  BERTH_TRY(const Endpoints::Answer answer,
            state_->endpoints.call(kTxnPath, delete_body(key, expected)));
  BERTH_TRY(const TxnAnswer outcome, read_txn(answer.body));
  if (outcome.succeeded) {
    return state_->settle(draft, outcome.revision, Change::Kind::Erase);
  }
  auto mismatch = state_->mismatch(draft.place, outcome.found, expected);
  if (!outcome.found && answer.repeated) {
    // It went with an earlier try, whose answer was lost.
    return with_version(draft.object, state_->mirror.revision());
  }
  return mismatch;
}

Result<std::unique_ptr<store::Subscription>> EtcdStore::watch(const store::WatchOptions& options,
                                                              store::Sink sink) {
  if (options.since > state_->mirror.revision()) {
    // Another process may have told of it: then it is on its way to here.
    if (const auto present = state_->present(); present && options.since <= *present) {
      store::WatchOptions now = options;
      now.since = state_->mirror.revision();
      return state_->mirror.watch(
          now, [since = options.since, to = std::move(sink)](const store::WatchEvent& event) {
            if (event.resource_version > since) {
              to(event);
            }
          });
    }
  }
  return state_->mirror.watch(options, std::move(sink));
}

} // namespace berth::etcd
