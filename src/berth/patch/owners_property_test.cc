// Laws of server-side apply on random objects.
#include <gtest/gtest.h>

#include "berth/patch/managed_fields.h"
#include "berth/patch/random_objects.h"
#include "berth/patch/typed.h"

namespace berth::patch {
namespace {

class World {
 public:
  World() : type_(test::toy_type()), target_(test::toy_target(type_)), live_(target_.zero) {}

  const json::value& live() const { return live_; }
  const schema::Type& type() const { return *type_; }

  bool apply_as(const std::string& manager, const json::value& object,
                Conflicts conflicts = Conflicts::Forced) {
    auto done = apply(target_, live_, object, writer(manager), conflicts);
    if (done) {
      store(std::move(*done));
    }
    return done.has_value();
  }

  void update(const std::string& manager, json::value object) {
    if (const json::value* entries = api::find_path(live_, "metadata.managedFields")) {
      object.at("metadata").as_object()["managedFields"] = *entries;
    }
    store(track_update(target_, live_, std::move(object), writer(manager)));
  }

  FieldSet owned(const std::string& manager, Operation operation) const {
    const auto managers = read_managed_fields(live_);
    const auto at = managers->find({.manager = manager,
                                    .operation = operation,
                                    .api_version = operation == Operation::Apply ? "" : "toy/v1",
                                    .subresource = ""});
    return at == managers->end() ? FieldSet() : at->second.fields;
  }

  FieldSet fields() const {
    json::value object = live_;
    remove_managed_fields(object);
    return fields_of(*type_, object);
  }

 private:
  Writer writer(const std::string& manager) {
    return {.manager = manager, .subresource = "", .now = TimePoint::from_unix_seconds(++clock_)};
  }
  void store(json::value object) {
    live_ = std::move(object);
    live_.at("metadata").as_object()["uid"] = "u";
  }

  schema::TypePtr type_;
  Target target_;
  json::value live_;
  std::int64_t clock_ = 0;
};

json::value any_prior(World& world) {
  for (int writes = test::any_below(4); writes > 0; --writes) {
    const std::string manager = test::any_below(2) == 0 ? "x" : "y";
    if (test::any_below(2) == 0) {
      world.apply_as(manager, test::any_toy());
    } else {
      world.update(manager, test::any_toy());
    }
  }
  return world.live();
}

FieldSet tracked(const World& world, const json::value& object) {
  FieldSet out;
  fields_of(world.type(), object).each([&](const Path& path) {
    const std::string text = to_string(path);
    if (!text.starts_with(".apiVersion") && !text.starts_with(".kind") &&
        !text.starts_with(".metadata")) {
      out.insert(path);
    }
  });
  return out;
}

TEST(Laws, ApplyTwiceIsOnce) {
  EXPECT_TRUE(rc::check([] {
    World world;
    any_prior(world);
    const json::value object = test::any_toy();
    RC_ASSERT(world.apply_as("a", object));
    const json::value once = world.live();
    RC_ASSERT(world.apply_as("a", object, Conflicts::Refused));
    json::value twice = world.live();
    // The owner of an empty map owns what another put into it from the next write on (under_type),
    // as in Kubernetes; from then on nothing changes.
    RC_ASSERT(world.apply_as("a", object, Conflicts::Refused));
    RC_ASSERT(same_value(world.live(), twice));
    json::value first = once;
    remove_managed_fields(first);
    remove_managed_fields(twice);
    RC_ASSERT(same_value(first, twice));
  }));
}

TEST(Laws, AnApplierOwnsWhatItApplies) {
  EXPECT_TRUE(rc::check([] {
    World world;
    any_prior(world);
    const json::value object = test::any_toy();
    RC_ASSERT(world.apply_as("a", object));
    RC_ASSERT(world.owned("a", Operation::Apply) == tracked(world, object));
    // ... and the object says what was applied.
    const Comparison change = compare_typed(world.type(), object, world.live());
    RC_ASSERT(change.removed.empty());
    RC_ASSERT(change.modified.empty());
  }));
}

TEST(Laws, OwnersOwnWhatIsThere) {
  EXPECT_TRUE(rc::check([] {
    World world;
    any_prior(world);
    world.apply_as("a", test::any_toy());
    world.update("b", test::any_toy());
    const FieldSet there = with_named_parents(world.fields(), world.type());
    const auto managers = read_managed_fields(world.live());
    RC_ASSERT(managers.has_value());
    for (const auto& [id, owned] : *managers) {
      RC_ASSERT(!owned.fields.empty());
      RC_ASSERT(FieldSet::without(owned.fields, there).empty());
    }
  }));
}

TEST(Laws, DroppingRemovesExactlyWhatTheApplierAloneOwned) {
  EXPECT_TRUE(rc::check([] {
    World world;
    any_prior(world);
    const json::value full = test::any_toy();
    RC_ASSERT(world.apply_as("a", full));
    RC_ASSERT(world.apply_as("b", test::any_toy()));
    // As the next write sees them: an owner of an empty map owns what is in it now.
    const auto seen = [&](const FieldSet& set) {
      json::value live = world.live();
      remove_managed_fields(live);
      return under_type(set, world.type(), live);
    };
    const FieldSet last = seen(world.owned("a", Operation::Apply));
    FieldSet others;
    const auto managers = read_managed_fields(world.live());
    for (const auto& [id, owned] : *managers) {
      if (id.manager != "a" || id.operation != Operation::Apply) {
        others = FieldSet::united(others, seen(owned.fields));
      }
    }
    json::value less = full;
    for (const char* field : {"name", "labels", "items", "tags", "free", "whole"}) {
      if (test::any_below(2) == 0) {
        less.as_object().erase(field);
      }
    }
    const FieldSet before = world.fields();
    // Without force: what b took since and a says again would be a conflict.
    if (!world.apply_as("a", less, Conflicts::Refused)) {
      return;
    }
    const FieldSet kept = tracked(world, less);
    const FieldSet gone = FieldSet::without(before, world.fields());
    const FieldSet alone = FieldSet::without(FieldSet::without(last, others), kept);
    gone.each([&](const Path& path) { RC_ASSERT(alone.has(path)); });
    alone.each([&](const Path& path) {
      // An element or key stays as long as somebody owns something in it.
      const FieldSet* below = &others;
      for (const PathElement& element : path) {
        below = &below->under(element);
      }
      if (below->empty()) {
        RC_ASSERT(!world.fields().has(path));
      }
    });
  }));
}

TEST(Laws, ConflictsAreWhereAnotherOwnsADifferentValue) {
  EXPECT_TRUE(rc::check([] {
    World world;
    any_prior(world);
    const json::value object = test::any_toy();
    json::value live = world.live();
    remove_managed_fields(live);
    FieldSet others;
    const auto managers = read_managed_fields(world.live());
    for (const auto& [id, owned] : *managers) {
      others = FieldSet::united(others, owned.fields);
    }
    if (managers->empty()) {
      others = tracked(world, live); // "before-first-apply" owns it
    }
    const Comparison change =
        compare_typed(world.type(), live, merge_typed(world.type(), live, object));
    const bool expected = !FieldSet::common(others, change.modified).empty();
    RC_ASSERT(world.apply_as("a", object, Conflicts::Refused) == !expected);
  }));
}

} // namespace
} // namespace berth::patch
