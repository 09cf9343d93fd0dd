// berth snapshot save and restore as a user calls them: what they say, and what they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "berth/base/virtual_loop.h"
#include "berth/cli/up/home.h"
#include "berth/store/journaled_store.h"
#include "berth/store/registry.h"
#include "berth/testing/berth_run.h"
#include "berth/testing/temp_files.h"

namespace berth::cli {
namespace {

using ::testing::HasSubstr;

class SnapshotCommands : public test::TempFiles {
 protected:
  Home home(const std::string& name) const { return {.folder = path(name)}; }

  /// A home with one object, and the file that says which nodes it has.
  void make_home(const std::string& name) const {
    std::filesystem::create_directories(home(name).data());
    VirtualLoop loop{TimePoint::from_unix_seconds(1'000)};
    const auto store = *store::JournaledStore::open(loop, home(name).database().string());
    store::Registry registry(*store, Rng(1));
    ASSERT_TRUE(registry.create(
        *api::Object::parse(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})"),
        loop.now()));
    loop.run_until(loop.now());
    std::ofstream(home(name).nodes()) << "dgx-h100:2\n";
  }
};

TEST_F(SnapshotCommands, CarryAClusterFromOneHomeToAnother) {
  make_home("one");
  const test::Outcome saved = test::berth({"snapshot", "save", path("s"), "--home", path("one")});
  EXPECT_EQ(saved.code, 0) << saved.err;
  // The object, and the namespace that it stands in.
  EXPECT_EQ(saved.out, "saved " + path("s") + ": 2 objects, revision 3\n");

  const test::Outcome restored =
      test::berth({"snapshot", "restore", path("s"), "--home", path("two")});
  EXPECT_EQ(restored.code, 0) << restored.err;
  EXPECT_THAT(restored.out, HasSubstr("2 objects, revision 3; writes go on from revision 1"));
  VirtualLoop loop{TimePoint::from_unix_seconds(1'000)};
  const auto store = *store::JournaledStore::open(loop, home("two").database().string());
  EXPECT_TRUE(store->get({"", "ConfigMap"}, {"default", "a"}));
  std::string nodes;
  std::getline(std::ifstream(home("two").nodes()), nodes);
  EXPECT_EQ(nodes, "dgx-h100:2");
}

TEST_F(SnapshotCommands, ReplaceNothingUnasked) {
  make_home("one");
  ASSERT_EQ(test::berth({"snapshot", "save", path("s"), "--home", path("one")}).code, 0);
  const test::Outcome again = test::berth({"snapshot", "save", path("s"), "--home", path("one")});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr(path("s")));
  const test::Outcome full = test::berth({"snapshot", "restore", path("s"), "--home", path("one")});
  EXPECT_EQ(full.code, 1);
  EXPECT_THAT(full.err, HasSubstr("the data directory is not empty; choose another, or replace "
                                  "what is in it with --force"));
  EXPECT_EQ(test::berth({"snapshot", "restore", path("s"), "--home", path("one"), "--force"}).code,
            0);
}

TEST_F(SnapshotCommands, SayWhatIsNotThereOrNoSnapshot) {
  const test::Outcome nothing =
      test::berth({"snapshot", "save", path("s"), "--home", path("none")});
  EXPECT_EQ(nothing.code, 1);
  EXPECT_FALSE(std::filesystem::exists(path("s")));
  std::ofstream(path("text")) << "not a snapshot";
  const test::Outcome text =
      test::berth({"snapshot", "restore", path("text"), "--home", path("two")});
  EXPECT_EQ(text.code, 1);
  EXPECT_THAT(text.err, HasSubstr(path("text")));
  EXPECT_FALSE(std::filesystem::exists(home("two").database()));
  const test::Outcome both = test::berth(
      {"snapshot", "save", path("s"), "--home", path("one"), "--data", path("one/data")});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("--data and --home name one folder twice"));
}

} // namespace
} // namespace berth::cli
