// What outlives a process, and what is said of files that cannot be used.
#include "berth/store/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/virtual_loop.h"
#include "berth/store/journaled_store.h"
#include "berth/store/registry.h"

namespace berth::store {
namespace {

using testing::HasSubstr;

class Journals : public testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::path(testing::TempDir()) /
             testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    file = (folder / "berth.db").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  static api::Object config_map(const std::string& name, const std::string& value) {
    return *api::Object::parse(fmt::format(
        R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"}},"data":{{"a":"{}"}}}})",
        name, value));
  }

  std::filesystem::path folder;
  std::string file;
  VirtualLoop loop{TimePoint::from_unix_seconds(1'700'000'000)};
};

TEST_F(Journals, ObjectsAndRevisionOutliveTheStore) {
  const GroupKind kind{"", "ConfigMap"};
  std::uint64_t revision = 0;
  {
    const auto store = *JournaledStore::open(loop, file);
    Registry registry(*store, Rng(1));
    ASSERT_TRUE(registry.create(config_map("kept", "1"), loop.now()));
    ASSERT_TRUE(registry.create(config_map("gone", "1"), loop.now()));
    auto kept = registry.get(kind, {"default", "kept"})->edit([](api::json::object& document) {
      api::object_at(document, "data")["a"] = "2";
    });
    ASSERT_TRUE(registry.update(kept, Subresource::None, loop.now()));
    ASSERT_TRUE(registry.remove(kind, {"default", "gone"}, {}, loop.now()));
    revision = store->revision();
  }
  const auto store = *JournaledStore::open(loop, file);
  EXPECT_EQ(store->revision(), revision);
  EXPECT_FALSE(store->get(kind, {"default", "gone"}).has_value());
  const auto kept = store->get(kind, {"default", "kept"});
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(api::string_at(kept->json(), "data.a"), "2");
  const auto old = store->watch({.what = {.kind = kind, .labels = {}}, .since = revision - 1}, {});
  ASSERT_FALSE(old.has_value());
  EXPECT_EQ(old.error().code, Code::Expired);
}

TEST_F(Journals, WritesOfATurnBecomeDurableTogether) {
  const auto store = *JournaledStore::open(loop, file);
  Registry registry(*store, Rng(1));
  std::vector<std::string> order;
  ASSERT_TRUE(registry.create(config_map("a", "1"), loop.now()));
  store->when_durable([&](const Result<void>& kept) {
    EXPECT_TRUE(kept.has_value());
    order.emplace_back("durable");
  });
  order.emplace_back("written");
  loop.run_until(loop.now());
  EXPECT_THAT(order, testing::ElementsAre("written", "durable"));
  store->when_durable([&](const Result<void>&) { order.emplace_back("at once"); });
  EXPECT_EQ(order.back(), "at once");
}

TEST_F(Journals, ASecondProcessIsTurnedAway) {
  const auto store = *JournaledStore::open(loop, file);
  const auto second = Journal::open(file);
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(to_string(second.error()), HasSubstr("another berth uses this data directory"));
}

TEST_F(Journals, DamagedFilesAreExplained) {
  std::ofstream(file) << std::string(8192, 'x');
  EXPECT_THAT(to_string(Journal::open(file).error()), HasSubstr("damaged"));
  EXPECT_THAT(to_string(Journal::open((folder / "no/berth.db").string()).error()),
              HasSubstr("cannot be opened"));
}

TEST_F(Journals, NumbersLostInACrashAreNotGivenAgain) {
  const auto journal = *Journal::open(file);
  (void)journal->load();
  const GroupKind kind{"", "ConfigMap"};
  auto object = config_map("a", "1").edit([](api::json::object& document) {
    api::object_at(document, "metadata")["resourceVersion"] = "7";
  });
  Batch batch;
  batch.put(object, {});
  ASSERT_TRUE(journal->write(batch));
  // As a crash leaves it: what the other process has is not closed.
  const std::string crashed = (folder / "crashed.db").string();
  std::filesystem::copy_file(file, crashed);
  std::filesystem::copy_file(file + "-wal", crashed + "-wal");
  const auto found = (*Journal::open(crashed))->load();
  ASSERT_TRUE(found.has_value()) << to_string(found.error());
  EXPECT_EQ(found->objects.size(), 1u);
  EXPECT_GT(found->revision, 1000u);
}

TEST_F(Journals, RoomOfWhatHasGoneIsGivenBack) {
  const std::string text(100'000, 'x');
  {
    const auto store = *JournaledStore::open(loop, file);
    Registry registry(*store, Rng(1));
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(registry.create(config_map(fmt::format("m{}", i), text), loop.now()));
    }
    loop.run_until(loop.now());
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(
          registry.remove({"", "ConfigMap"}, {"default", fmt::format("m{}", i)}, {}, loop.now()));
    }
    loop.run_until(loop.now());
    for (int i = 0; i < 500; ++i) { // a quiet life goes on
      ASSERT_TRUE(registry.create(config_map(fmt::format("s{}", i), "1"), loop.now()));
      loop.run_until(loop.now());
    }
  }
  EXPECT_LT(std::filesystem::file_size(file), 6u * 1024 * 1024);
}

/// A disk that is full until there is room.
class FullDisk final : public Journal {
 public:
  explicit FullDisk(std::shared_ptr<bool> room) : room_(std::move(room)) {}
  Result<Journaled> load() override { return Journaled(); }
  Result<void> write(const Batch&) override { return try_room(); }
  Result<void> try_room() override {
    return *room_ ? Result<void>() : fail(Code::Unavailable, "the disk is full");
  }

 private:
  std::shared_ptr<bool> room_;
};

/// A slow disk: work waits until it is let go on.
class Held final : public Background {
 public:
  struct Job {
    Task work;
    Task then;
  };
  explicit Held(std::vector<Job>& jobs) : jobs_(&jobs) {}
  ~Held() override {
    for (const Job& job : *jobs_) {
      job.work();
    }
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  void run(Task work, Task then) override { jobs_->push_back({std::move(work), std::move(then)}); }

 private:
  std::vector<Job>* jobs_;
};

/// A store on a slow disk, and what was told to whom waits for it.
class SlowDisk : public Journals {
 protected:
  std::unique_ptr<JournaledStore> open(std::unique_ptr<Journal> journal) {
    const auto found = journal->load();
    return std::make_unique<JournaledStore>(loop, std::move(journal), found.value(),
                                            std::make_unique<Held>(jobs));
  }
  void write(Registry& registry, const std::string& name) {
    ASSERT_TRUE(registry.create(config_map(name, "1"), loop.now()));
    loop.run_until(loop.now());
  }
  void wait_for(Store& store, const std::string& name) {
    store.when_durable([this, name](const Result<void>& kept) {
      told.push_back(name + (kept ? " kept" : " lost"));
    });
  }
  void finish_one() {
    ASSERT_FALSE(jobs.empty());
    const Held::Job job = std::move(jobs.front());
    jobs.erase(jobs.begin());
    job.work();
    job.then();
    loop.run_until(loop.now());
  }

  const GroupKind kind{"", "ConfigMap"};
  std::vector<Held::Job> jobs;
  std::vector<std::string> told;
};

TEST_F(SlowDisk, WhatIsWrittenMeanwhileIsTheNextBatch) {
  const auto store = open(*Journal::open(file));
  Registry registry(*store, Rng(1));
  write(registry, "a");
  wait_for(*store, "a");
  write(registry, "b");
  write(registry, "c");
  wait_for(*store, "c");
  EXPECT_EQ(jobs.size(), 1u);
  EXPECT_TRUE(told.empty());
  finish_one();
  EXPECT_THAT(told, testing::ElementsAre("a kept"));
  EXPECT_EQ(jobs.size(), 1u);
  wait_for(*store, "nothing since");
  finish_one();
  EXPECT_THAT(told, testing::ElementsAre("a kept", "c kept", "nothing since kept"));
  EXPECT_TRUE(jobs.empty());
}

TEST_F(SlowDisk, ABatchThatIsLostTakesTheNextOneWithIt) {
  const auto room = std::make_shared<bool>(true);
  const auto store = open(std::make_unique<FullDisk>(room));
  Registry registry(*store, Rng(1));
  write(registry, "a");
  finish_one();
  *room = false;
  write(registry, "b");
  wait_for(*store, "b");
  ASSERT_TRUE(registry.remove(kind, {"default", "b"}, {}, loop.now()));
  ASSERT_TRUE(registry.remove(kind, {"default", "a"}, {}, loop.now()));
  write(registry, "c");
  wait_for(*store, "c");
  finish_one();
  EXPECT_THAT(told, testing::ElementsAre("b lost", "c lost"));
  EXPECT_TRUE(jobs.empty());
  EXPECT_TRUE(store->get(kind, {"default", "a"}).has_value());
  EXPECT_FALSE(store->get(kind, {"default", "b"}).has_value());
  EXPECT_FALSE(store->get(kind, {"default", "c"}).has_value());
}

TEST_F(SlowDisk, WhatIsGatheredIsWrittenWhenTheStoreGoes) {
  {
    const auto store = open(*Journal::open(file));
    Registry registry(*store, Rng(1));
    write(registry, "a");
    write(registry, "b");
  }
  jobs.clear();
  const auto again = open(*Journal::open(file));
  EXPECT_TRUE(again->get(kind, {"default", "a"}).has_value());
  EXPECT_TRUE(again->get(kind, {"default", "b"}).has_value());
}

TEST_F(Journals, WhatAFullDiskRefusedIsUndoneAndWritingGoesOnWhenThereIsRoom) {
  const auto room = std::make_shared<bool>(true);
  JournaledStore store(loop, std::make_unique<FullDisk>(room), {});
  Registry registry(store, Rng(1));
  const GroupKind kind{"", "ConfigMap"};
  ASSERT_TRUE(registry.create(config_map("old", "1"), loop.now()));
  ASSERT_TRUE(registry.create(config_map("gone", "1"), loop.now()));
  loop.run_until(loop.now());
  std::vector<std::string> seen;
  const auto watch = *store.watch(
      {.what = {.kind = kind}, .since = store.revision()}, [&](const WatchEvent& event) {
        static constexpr std::string_view kMarks = "+~-.";
        seen.push_back(fmt::format("{}{}", kMarks[static_cast<std::size_t>(event.type)],
                                   event.object.meta().name));
      });

  *room = false;
  ASSERT_TRUE(registry.create(config_map("new", "1"), loop.now()));
  const auto changed =
      registry.get(kind, {"default", "old"})->edit([](api::json::object& document) {
        api::object_at(document, "data")["a"] = "2";
      });
  ASSERT_TRUE(registry.update(changed, Subresource::None, loop.now()));
  ASSERT_TRUE(registry.remove(kind, {"default", "gone"}, {}, loop.now()));
  std::optional<Result<void>> told;
  store.when_durable([&](const Result<void>& kept) { told = kept; });
  loop.run_until(loop.now());
  ASSERT_TRUE(told.has_value());
  EXPECT_FALSE(told->has_value());
  EXPECT_FALSE(store.get(kind, {"default", "new"}).has_value());
  EXPECT_TRUE(store.get(kind, {"default", "gone"}).has_value());
  EXPECT_EQ(api::string_at(store.get(kind, {"default", "old"})->json(), "data.a"), "1");
  EXPECT_THAT(seen, testing::ElementsAre("+new", "~old", "-gone", "+gone", "-new", "~old"));

  const auto refused = registry.create(config_map("b", "1"), loop.now());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Internal);
  EXPECT_EQ(refused.error().message, "the disk is full");

  *room = true;
  loop.run_until(loop.now() + Duration::seconds(1));
  ASSERT_TRUE(registry.create(config_map("b", "1"), loop.now()));
  store.when_durable([&](const Result<void>& kept) { told = kept; });
  loop.run_until(loop.now());
  EXPECT_TRUE(told->has_value());
}

} // namespace
} // namespace berth::store
