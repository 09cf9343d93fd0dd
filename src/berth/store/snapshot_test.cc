// A cluster's data saved, damaged, foreign, and brought back.
#include "berth/store/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "berth/base/virtual_loop.h"
#include "berth/store/journaled_store.h"
#include "berth/store/registry.h"

namespace berth::store {
namespace {

using testing::HasSubstr;

const GroupKind kMaps{"", "ConfigMap"};

class Snapshots : public testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::path(testing::TempDir()) / "snapshots" /
             testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    database = (folder / "berth.db").string();
    file = (folder / "saved").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void create(Store& store, const std::string& name) {
    Registry registry(store, Rng(1));
    ASSERT_TRUE(registry.create(
        *api::Object::parse(fmt::format(
            R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"}}}})", name)),
        loop.now()));
    loop.run_until(loop.now());
  }

  /// Made and closed.
  void made() {
    const auto store = *JournaledStore::open(loop, database);
    create(*store, "a");
  }

  /// Another byte at a place.
  void damage(std::streamoff at) const {
    std::fstream bytes(file, std::ios::binary | std::ios::in | std::ios::out);
    bytes.seekg(at);
    const char was = static_cast<char>(bytes.get());
    bytes.seekp(at);
    bytes.put(static_cast<char>(was ^ 1));
  }

  std::filesystem::path folder;
  std::string database;
  std::string file;
  VirtualLoop loop{TimePoint::from_unix_seconds(1'700'000'000)};
};

TEST_F(Snapshots, WhatIsSavedWhileItIsServedComesBack) {
  const auto store = *JournaledStore::open(loop, database);
  create(*store, "a");
  create(*store, "b");
  const auto saved = save_snapshot(database, {{"nodes", "dgx-h100:4"}}, file);
  ASSERT_TRUE(saved.has_value()) << to_string(saved.error());
  EXPECT_EQ(saved->objects, 3u); // with the namespace
  EXPECT_EQ(saved->revision, store->revision());
  create(*store, "later");

  const std::string other = (folder / "other.db").string();
  const auto restored = restore_snapshot(file, other);
  ASSERT_TRUE(restored.has_value()) << to_string(restored.error());
  EXPECT_EQ(restored->objects, 3u);
  EXPECT_THAT(restored->files, testing::ElementsAre(testing::Pair("nodes", "dgx-h100:4")));
  const auto again = *JournaledStore::open(loop, other);
  EXPECT_TRUE(again->get(kMaps, {"default", "a"}).has_value());
  EXPECT_TRUE(again->get(kMaps, {"default", "b"}).has_value());
  EXPECT_FALSE(again->get(kMaps, {"default", "later"}).has_value());
}

TEST_F(Snapshots, WatchesFromBeforeAreTooOldAfterwards) {
  made();
  const auto saved = save_snapshot(database, {}, file);
  ASSERT_TRUE(saved.has_value());
  ASSERT_TRUE(restore_snapshot(file, database));
  const auto store = *JournaledStore::open(loop, database);
  EXPECT_EQ(store->revision(), saved->revision + kRevisionBump);
  for (const std::uint64_t since : {saved->revision, saved->revision + 1000}) {
    const auto watch = store->watch({.what = {.kind = kMaps}, .since = since}, {});
    ASSERT_FALSE(watch.has_value());
    EXPECT_EQ(watch.error().code, Code::Expired);
  }
}

TEST_F(Snapshots, ADatabaseInUseIsNotReplaced) {
  made();
  ASSERT_TRUE(save_snapshot(database, {}, file));
  const auto store = *JournaledStore::open(loop, database);
  const auto refused = restore_snapshot(file, database);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(to_string(refused.error()), HasSubstr("another berth uses this data directory"));
}

TEST_F(Snapshots, ADamagedDatabaseIsReplaced) {
  made();
  ASSERT_TRUE(save_snapshot(database, {}, file));
  std::ofstream(database, std::ios::trunc) << std::string(8192, 'x');
  ASSERT_FALSE(Journal::open(database).has_value());
  ASSERT_TRUE(restore_snapshot(file, database));
  EXPECT_TRUE((*JournaledStore::open(loop, database))->get(kMaps, {"default", "a"}).has_value());
}

TEST_F(Snapshots, DamageIsFoundWhereverItIs) {
  made();
  ASSERT_TRUE(save_snapshot(database, {}, file));
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(file));
  for (const std::streamoff at : {std::streamoff{0}, size / 2, size - 49, size - 1}) {
    damage(at);
    const auto refused = restore_snapshot(file, (folder / "other.db").string());
    ASSERT_FALSE(refused.has_value()) << at;
    EXPECT_EQ(refused.error().code, Code::Invalid);
    damage(at); // as it was
  }
  EXPECT_TRUE(restore_snapshot(file, (folder / "other.db").string()));
}

TEST_F(Snapshots, ForeignAndMissingFilesAreExplained) {
  std::ofstream(file) << "a text";
  EXPECT_THAT(to_string(restore_snapshot(file, database).error()),
              HasSubstr("this is no snapshot of berth"));
  EXPECT_EQ(restore_snapshot(file + "x", database).error().code, Code::NotFound);
  EXPECT_EQ(save_snapshot(database, {}, file).error().code, Code::AlreadyExists);
  EXPECT_EQ(save_snapshot(database, {}, file + "x").error().code, Code::NotFound);
  EXPECT_FALSE(std::filesystem::exists(database));
}

} // namespace
} // namespace berth::store
