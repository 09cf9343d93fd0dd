// Random histories against a reference so plain that it can be checked by eye, and watches against
// lists: whatever happened, replaying a watch's events gives what a list of the same selection
// shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/store/memory_store.h"
#include "berth/store/registry.h"

namespace berth::store {
namespace {

using Finalizers = std::vector<std::string>;

/// What the reference knows of one object.
struct Item {
  bool is_pod = false;
  std::string node;
  std::string phase = "Pending";
  std::string label;
  std::int64_t deadline = 0; ///< spec.activeDeadlineSeconds
  std::int64_t generation = 0;
  Finalizers finalizers;
  std::optional<std::int64_t> grace; ///< being deleted
  std::uint64_t version = 0;

  bool held() const { return !finalizers.empty() || grace.value_or(0) > 0; }
};

struct Want {
  std::optional<Code> error;
};

/// Kubernetes' rules, each written the long way.
class Reference {
 public:
  std::map<std::string, Item> items;
  std::uint64_t revision = 0;

  Want create(const std::string& name, const Finalizers& finalizers) {
    if (items.contains(name)) {
      return {Code::AlreadyExists};
    }
    Item item;
    item.is_pod = name.starts_with("p");
    item.generation = item.is_pod ? 1 : 0;
    item.finalizers = finalizers;
    item.version = ++revision;
    items[name] = item;
    return {};
  }
  Want label(const std::string& name, const std::string& value) {
    return change(name, [&](Item& item) { item.label = value; });
  }
  Want deadline(const std::string& name, std::int64_t seconds) {
    return change(name, [&](Item& item) {
      item.generation += item.deadline != seconds ? 1 : 0;
      item.deadline = seconds;
    });
  }
  Want phase(const std::string& name, const std::string& value) {
    return change(name, [&](Item& item) { item.phase = value; });
  }
  Want finalizers(const std::string& name, const Finalizers& now) {
    if (!items.contains(name)) {
      return {Code::NotFound};
    }
    Item& item = items[name];
    for (const std::string& one : now) {
      if (item.grace && std::ranges::find(item.finalizers, one) == item.finalizers.end()) {
        return {Code::Invalid};
      }
    }
    const bool was_deleted = item.grace.has_value();
    const Want done = change(name, [&](Item& changed) { changed.finalizers = now; });
    if (was_deleted && !items[name].held()) {
      items.erase(name);
    }
    return done;
  }
  Want bind(const std::string& name, const std::string& node) {
    if (!items.contains(name)) {
      return {Code::NotFound};
    }
    if (items[name].grace || !items[name].node.empty()) {
      return {Code::Conflict};
    }
    return change(name, [&](Item& item) { item.node = node; });
  }
  Want remove(const std::string& name, std::optional<std::int64_t> asked) {
    if (!items.contains(name)) {
      return {Code::NotFound};
    }
    Item& item = items[name];
    const Item before = item;
    if (!item.grace) {
      item.grace = 0;
      if (item.is_pod && !item.node.empty() && item.phase != "Failed") {
        item.grace = asked.value_or(30);
      }
      item.generation += item.is_pod ? 1 : 0;
      item.version = ++revision;
    } else if (item.is_pod && asked && *asked < *item.grace) {
      item.grace = *asked;
      item.version = ++revision;
    }
    if (!item.held()) {
      revision += item.version == before.version ? 1 : 0;
      items.erase(name);
    }
    return {};
  }

 private:
  template <class F> Want change(const std::string& name, const F& edit) {
    if (!items.contains(name)) {
      return {Code::NotFound};
    }
    Item& item = items[name];
    const Item before = item;
    edit(item);
    if (item.label != before.label || item.deadline != before.deadline ||
        item.phase != before.phase || item.finalizers != before.finalizers ||
        item.node != before.node) {
      item.version = ++revision;
    }
    return {};
  }
};

/// Replays a watch.
struct Mirror {
  ListOptions what;
  std::map<api::Key, std::string> state;
  std::uint64_t last = 0;
  std::unique_ptr<Subscription> watch;

  void hear(const WatchEvent& event) {
    if (event.type == WatchEvent::Type::Bookmark) {
      ASSERT_GE(event.resource_version, last);
      return;
    }
    ASSERT_GT(event.resource_version, last) << "events must be in order";
    last = event.resource_version;
    const api::Key key = event.object.key();
    ASSERT_EQ(event.object.meta().resource_version, event.resource_version);
    ASSERT_EQ(state.contains(key), event.type != WatchEvent::Type::Added) << key.to_string();
    if (event.type == WatchEvent::Type::Deleted) {
      state.erase(key);
    } else {
      state[key] = event.object.bytes();
    }
  }
};

class History {
 public:
  explicit History(std::uint64_t seed) : rng_(seed), registry_(store_, Rng(seed)) {
    (void)bootstrap(registry_, now_);
    reference_.revision = store_.revision();
    mirror({.kind = kPods});
    mirror({.kind = kPods, .ns = "default"});
    mirror({.kind = kPods, .node = "n1"});
    mirror({.kind = kPods, .node = ""});
    mirror({.kind = kPods, .name = "p1"});
    mirror({.kind = kPods, .labels = api::parse_selector_text("l=x").value()});
    mirror({.kind = {"", "ConfigMap"}});
  }

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i) {
      SCOPED_TRACE(fmt::format("step {}", i));
      step();
      compare();
      now_ = now_ + Duration::seconds(1);
    }
  }

 private:
  void mirror(ListOptions what) {
    auto made = std::make_unique<Mirror>();
    made->what = std::move(what);
    made->last = store_.revision();
    made->watch = registry_
                      .watch({.what = made->what, .since = store_.revision()},
                             [to = made.get()](const WatchEvent& event) { to->hear(event); })
                      .value();
    mirrors_.push_back(std::move(made));
  }

  Finalizers some_finalizers() {
    Finalizers out;
    for (const std::string_view name : {"x.io/a", "x.io/b"}) {
      if (rng_.chance(1, 3)) {
        out.emplace_back(name);
      }
    }
    return out;
  }
  static api::json::value list_of(const Finalizers& names) {
    api::json::array list;
    for (const std::string& name : names) {
      list.push_back(api::json::value(name));
    }
    return list.empty() ? api::json::value() : api::json::value(list);
  }
  GroupKind kind_of(const std::string& name) const {
    return name.starts_with("p") ? kPods : GroupKind{"", "ConfigMap"};
  }
  Result<api::Object> patch(const std::string& name, api::json::value merge,
                            Subresource subresource = Subresource::None) {
    return registry_.patch(kind_of(name), {"default", name}, merge, subresource, now_);
  }

  void step() {
    const std::string name =
        rng_.chance(2, 3) ? fmt::format("p{}", rng_.below(3)) : fmt::format("c{}", rng_.below(2));
    const std::uint64_t choice = rng_.below(name.starts_with("p") ? 8 : 5);
    done_ += fmt::format(" {}:{}", name, choice);
    switch (choice) {
    case 0:
    case 1:
      return create(name);
    case 2: {
      const std::string value = rng_.chance(1, 2) ? "x" : "y";
      api::json::value merge{{"metadata", {{"labels", {{"l", value}}}}}};
      return expect(patch(name, merge), reference_.label(name, value));
    }
    case 3: {
      const Finalizers finalizers = some_finalizers();
      api::json::value merge{{"metadata", api::json::object{{"finalizers", list_of(finalizers)}}}};
      return expect(patch(name, merge), reference_.finalizers(name, finalizers));
    }
    case 4: {
      const std::optional<std::int64_t> grace =
          rng_.chance(1, 2) ? std::nullopt : std::optional(rng_.between(0, 2) * 20);
      return expect(
          registry_.remove(kind_of(name), {"default", name}, {.grace_period_seconds = grace}, now_),
          reference_.remove(name, grace));
    }
    case 5: {
      const std::string node = rng_.chance(1, 2) ? "n1" : "n2";
      return expect(registry_.bind({.pod = {"default", name}, .node = node}, now_),
                    reference_.bind(name, node));
    }
    case 6: {
      const std::string value = rng_.chance(1, 4) ? "Failed" : "Running";
      api::json::value merge{{"status", {{"phase", value}}}};
      return expect(patch(name, merge, Subresource::Status), reference_.phase(name, value));
    }
    default: {
      // A deadline only comes nearer.
      const auto held = reference_.items.find(name);
      const std::int64_t had = held == reference_.items.end() ? 0 : held->second.deadline;
      const std::int64_t seconds = rng_.between(1, had == 0 ? 9 : had);
      api::json::value merge{{"spec", {{"activeDeadlineSeconds", seconds}}}};
      return expect(patch(name, merge), reference_.deadline(name, seconds));
    }
    }
  }

  void create(const std::string& name) {
    const Finalizers finalizers = some_finalizers();
    api::json::object meta{{"name", name}, {"finalizers", list_of(finalizers)}};
    api::json::object document{
        {"apiVersion", "v1"}, {"kind", kind_of(name).kind}, {"metadata", meta}};
    if (name.starts_with("p")) {
      document["spec"] = {{"containers", api::json::array{{{"name", "c"}, {"image", "i"}}}}};
    }
    const auto object = api::Object::from_json(document).value();
    expect(registry_.create(object, now_), reference_.create(name, finalizers));
  }

  void expect(const Result<api::Object>& got, const Want& want) {
    if (want.error) {
      ASSERT_FALSE(got);
      ASSERT_EQ(got.error().code, *want.error) << got.error().message;
    } else {
      ASSERT_TRUE(got) << got.error().message;
    }
  }

  void compare() {
    ASSERT_EQ(store_.revision(), reference_.revision) << done_;
    std::map<std::string, std::string> stored;
    for (const GroupKind& kind : {kPods, GroupKind{"", "ConfigMap"}}) {
      for (const api::Object& object : registry_.list({.kind = kind}).items) {
        stored[object.meta().name] = text_of(object);
      }
    }
    std::map<std::string, std::string> wanted;
    for (const auto& [name, item] : reference_.items) {
      wanted[name] =
          fmt::format("v{} g{} node={} phase={} l={} deadline={} f={} grace={}", item.version,
                      item.generation, item.node, item.is_pod ? item.phase : "", item.label,
                      item.deadline, fmt::join(item.finalizers, ","), item.grace.value_or(-1));
    }
    ASSERT_EQ(stored, wanted) << done_;
    for (const auto& mirror : mirrors_) {
      std::map<api::Key, std::string> listed;
      for (const api::Object& object : registry_.list(mirror->what).items) {
        listed[object.key()] = object.bytes();
      }
      ASSERT_EQ(mirror->state, listed);
    }
  }

  static std::string text_of(const api::Object& object) {
    const api::ObjectMeta& meta = object.meta();
    const auto label = meta.labels.find("l");
    const api::json::value* deadline = api::find_path(object.json(), "spec.activeDeadlineSeconds");
    return fmt::format(
        "v{} g{} node={} phase={} l={} deadline={} f={} grace={}", meta.resource_version,
        meta.generation, node_of(object), api::string_at(object.json(), "status.phase"),
        label == meta.labels.end() ? "" : label->second,
        deadline == nullptr ? 0 : deadline->as_int64(), fmt::join(meta.finalizers, ","),
        meta.deletion_grace_period_seconds.value_or(-1));
  }

  Rng rng_;
  std::string done_; ///< object:choice of each step
  TimePoint now_ = TimePoint::from_unix_seconds(1'700'000'000);
  MemoryStore store_{{.history = 16, .bookmark_every = 7}};
  Registry registry_;
  Reference reference_;
  std::vector<std::unique_ptr<Mirror>> mirrors_;
};

TEST(RegistryHistories, AgreeWithTheReferenceAndWithTheirWatches) {
  for (std::uint64_t seed = 1; seed <= 150 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    History(seed).run(120);
  }
}

} // namespace
} // namespace berth::store
