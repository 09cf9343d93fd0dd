#include "berth/cli/run/manifest_files.h"

#include <filesystem>
#include <fstream>
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class ManifestFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(::testing::TempDir()) / ("berth-manifests-" + std::string(info->name()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string write(const std::string& name, const std::string& text) {
    const fs::path path = root_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  std::string root() const { return root_.string(); }

  // The only error, with the test's folder cut off its place.
  std::string error_of(const std::string& path, Depth depth = Depth::Folder) {
    const ManifestFiles files = read_manifest_files({path}, depth, api::Duplicates::TakeLast);
    if (files.errors.size() != 1) {
      return "errors: " + std::to_string(files.errors.size());
    }
    std::string text = to_string(files.errors[0]);
    const std::size_t at = text.find(root() + "/");
    return at == std::string::npos ? text : text.erase(at, root().size() + 1);
  }
  std::vector<std::string> names_in(const std::string& path, Depth depth = Depth::Folder) {
    std::vector<std::string> names;
    for (const api::Manifest& manifest :
         read_manifest_files({path}, depth, api::Duplicates::TakeLast).manifests) {
      names.push_back(manifest.object.meta().name);
    }
    return names;
  }

 private:
  fs::path root_;
};

std::string pod(const std::string& name) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
         "}\nspec: {containers: [{name: c, image: i}]}\n";
}

TEST_F(ManifestFilesTest, ADirectoryIsReadInNameOrder) {
  write("b.yaml", pod("b"));
  write("a.yml", pod("a1") + "---\n" + pod("a2"));
  write("c.json", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"c"}})");
  write("readme.md", "not a manifest");
  write("below/d.yaml", pod("d"));
  EXPECT_THAT(names_in(root()), ElementsAre("a1", "a2", "b", "c"));
  EXPECT_THAT(names_in(root(), Depth::Recursive), ElementsAre("a1", "a2", "b", "d", "c"));
}

TEST_F(ManifestFilesTest, ADirectoryWithoutManifestsSaysSo) {
  write("below/d.yaml", pod("d"));
  EXPECT_THAT(error_of(root()), HasSubstr("no manifests in this directory"));
  EXPECT_THAT(error_of(root()), HasSubstr("try -R"));
}

TEST_F(ManifestFilesTest, AMissingFileSaysSo) {
  EXPECT_EQ(error_of(root() + "/none.yaml"), "none.yaml: no such file or directory");
}

// A directory is no empty file: a process would run with defaults that nobody asked for.
TEST_F(ManifestFilesTest, ADirectoryIsNoText) {
  const auto text = read_text(root());
  ASSERT_FALSE(text);
  EXPECT_EQ(to_string(text.error()), root() + ": is a directory");
}

TEST_F(ManifestFilesTest, StandardInputThatCannotBeReadIsNotEmpty) {
  std::filebuf folder;
  ASSERT_NE(folder.open(root(), std::ios::in), nullptr);
  std::streambuf* const before = std::cin.rdbuf(&folder);
  const auto text = read_text("-");
  std::cin.rdbuf(before);
  std::cin.clear();
  ASSERT_FALSE(text);
  EXPECT_EQ(to_string(text.error()), "standard input: cannot be read; is it a directory?");
}

TEST_F(ManifestFilesTest, OneErrorAFile) {
  write("a.yaml", "a: [1\n");
  write("b.yaml", pod("good"));
  write("c.yaml", "{{{\n");
  const ManifestFiles files =
      read_manifest_files({root()}, Depth::Folder, api::Duplicates::TakeLast);
  ASSERT_EQ(files.errors.size(), 2U);
  EXPECT_THAT(to_string(files.errors[0]), HasSubstr("a.yaml:"));
  EXPECT_THAT(to_string(files.errors[1]), HasSubstr("c.yaml:"));
}

TEST_F(ManifestFilesTest, BinaryAndTruncatedInputIsAnErrorNotACrash) {
  for (const std::string& text :
       {std::string("\x7f"
                    "ELF\x02\x01\x01\0\0\0\0",
                    11),
        std::string("\xff\xfe\0p\0o\0d", 7), std::string(5, '\0'),
        std::string("apiVersion: v1\nkind: Pod\nmetadata:\n  name: 'unfinished"),
        std::string("- - - - -\n"), std::string("just words\n"), std::string("42\n"),
        std::string("apiVersion: v1\nkind: Pod\n")}) {
    const std::string path = write("bad.yaml", text);
    EXPECT_THAT(error_of(path), HasSubstr("bad.yaml")) << ::testing::PrintToString(text);
  }
}

TEST_F(ManifestFilesTest, AWrongTypeIsFoundWithItsPlace) {
  const std::string path =
      write("typed.yaml", pod("fine") + "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: bad\n"
                                        "spec:\n  containers:\n  - name: c\n    image: 7\n");
  const std::string error = error_of(path);
  EXPECT_THAT(error, HasSubstr("typed.yaml:13:")) << error;
  EXPECT_THAT(error, HasSubstr("spec.containers[0].image")) << error;
}

TEST_F(ManifestFilesTest, AWrongTypeInsideAListIsFoundWithItsPlace) {
  const std::string path = write("list.yaml", R"(apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: a}
  spec: {containers: [{name: c}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: b}
  spec:
    containers: 5
)");
  const std::string error = error_of(path);
  EXPECT_THAT(error, HasSubstr("list.yaml:12:")) << error;
  EXPECT_THAT(error, HasSubstr("spec.containers")) << error;
}

constexpr const char* kTwice = R"(apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  restartPolicy: Always
  containers: [{name: c, image: i}]
  restartPolicy: Never
)";

TEST_F(ManifestFilesTest, OfAKeyGivenTwiceTheLastCountsAndIsNamed) {
  const std::string path = write("twice.yaml", kTwice);
  const ManifestFiles files = read_manifest_files({path}, Depth::Folder, api::Duplicates::TakeLast);
  ASSERT_TRUE(files.errors.empty());
  ASSERT_EQ(files.warnings.size(), 1U);
  EXPECT_TRUE(files.warnings[0].warning);
  EXPECT_EQ(to_string(files.warnings[0]),
            path + ":7:3: spec.restartPolicy: given twice, first at line 5 column 3; the last one "
                   "counts, as with kubectl");
}

TEST_F(ManifestFilesTest, OurOwnFilesAreReadStrictly) {
  const std::string path = write("twice.yaml", kTwice);
  const ManifestFiles files = read_manifest_files({path}, Depth::Folder, api::Duplicates::Refuse);
  ASSERT_EQ(files.errors.size(), 1U);
  EXPECT_THAT(to_string(files.errors[0]), HasSubstr("twice.yaml:7:3: key \"restartPolicy\""));
  EXPECT_TRUE(files.warnings.empty());
}

TEST_F(ManifestFilesTest, AFloodOfWarningsIsCutShort) {
  std::string text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n";
  for (int i = 0; i < 100; ++i) {
    text += "  k" + std::to_string(i) + ": x\n  k" + std::to_string(i) + ": y\n";
  }
  const auto warnings =
      read_manifest_files({write("many.yaml", text)}, Depth::Folder, api::Duplicates::TakeLast)
          .warnings;
  ASSERT_EQ(warnings.size(), 21U);
  EXPECT_THAT(to_string(warnings.back()), HasSubstr("80 more keys are given twice"));
}

} // namespace
} // namespace berth::cli
