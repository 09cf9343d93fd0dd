#include "berth/api/manifest.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"

namespace berth::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kPod = R"(apiVersion: v1
kind: Pod
metadata:
  name: a
  labels: {app.kubernetes.io/name: x}
spec:
  containers:
  - name: main
    image: nginx
)";

std::string error_of(std::string_view text, std::string_view file = "f.yaml") {
  const auto manifests = read_manifests(text, file);
  return manifests ? "no error" : berth::to_string(manifests.error());
}

TEST(LenientManifests, JsonKeysGivenTwice) {
  const std::string text = R"({"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "name": "b"},
   "spec": {"x": {"y": 1}, "z": 2, "x": 3, "x": {"y": 4}}}
]}
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "c"}, "spec": {"q": 1, "q": 2}})";
  const auto read = read_manifests_leniently(text, "f.json");
  ASSERT_TRUE(read.has_value()) << berth::to_string(read.error());
  ASSERT_EQ(read->manifests.size(), 2U);
  EXPECT_EQ(read->manifests[0].object.meta().name, "b");
  EXPECT_EQ(to_json(read->manifests[0].object.json().at("spec")), R"({"x":{"y":4},"z":2})");
  EXPECT_THAT(read->duplicates, ElementsAre(DuplicateKey{"items[0].metadata.name", 2, 65, 2, 52},
                                            DuplicateKey{"items[0].spec.x", 3, 44, 3, 13},
                                            DuplicateKey{"spec.q", 5, 81, 5, 73}));
  EXPECT_EQ(read->manifests[0].locate("spec.x.y").column, 55) << "the one that counts";
  EXPECT_EQ(read->manifests[0].locate("spec.z").column, 33);
  EXPECT_EQ(error_of(text), "f.yaml:2:65: key \"name\" is given twice, first at line 2 column 52");
}

TEST(LenientManifests, KeysWithEscapesAreTheSameKeys) {
  const auto read = read_manifests_leniently(
      R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
  "spec": {"b": 1, "\u0061": 2, "a": 3}})",
      "f.json");
  ASSERT_TRUE(read.has_value()) << berth::to_string(read.error());
  EXPECT_EQ(to_json(read->manifests[0].object.json().at("spec")), R"({"b":1,"a":3})");
  ASSERT_EQ(read->duplicates.size(), 1U);
  EXPECT_EQ(read->duplicates[0].field, "spec.a");
  EXPECT_EQ(read->manifests[0].locate("spec.b").column, 17) << "not mistaken for the dropped one";
}

std::vector<std::string> names_in(std::string_view text) {
  const auto manifests = read_manifests(text, "f");
  if (!manifests) {
    return {berth::to_string(manifests.error())};
  }
  std::vector<std::string> out;
  for (const Manifest& manifest : *manifests) {
    out.push_back(resource_name(manifest.object.gvk(), manifest.object.meta().name) + "@" +
                  std::to_string(manifest.where.line));
  }
  return out;
}

TEST(Manifest, ReadsEveryDocumentOfAStream) {
  const std::string text = "# header\n---\n" + std::string(kPod) +
                           "---\n---\napiVersion: apps/v1\nkind: Deployment\n"
                           "metadata: {name: d}\n";
  EXPECT_THAT(names_in(text), ElementsAre("pod/a@3", "deployment.apps/d@14"));
}

TEST(Manifest, ReadsConcatenatedJson) {
  const std::string one = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}})";
  EXPECT_THAT(names_in(one + "\n\n" + one + one), ElementsAre("pod/a@1", "pod/a@3", "pod/a@3"));
}

TEST(Manifest, ReadsYamlInBraces) {
  EXPECT_THAT(names_in("{apiVersion: v1, kind: Pod, metadata: {name: a}}"), ElementsAre("pod/a@1"));
}

TEST(Manifest, OpensLists) {
  EXPECT_THAT(
      names_in(
          "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n"
          "- apiVersion: v1\n  kind: Node\n  metadata: {name: n1}\n"),
      ElementsAre("pod/a@4", "node/n1@5"));
  EXPECT_THAT(
      names_in(R"({"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"a"}}]})"),
      ElementsAre("pod/a@1"))
      << "items of a typed list need no kind";
  EXPECT_THAT(names_in("{apiVersion: v1, kind: List, items: []}"), ElementsAre());
  EXPECT_THAT(
      names_in("apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n"
               "  - {apiVersion: v1, kind: Pod, metadata: {name: a}}\n"),
      ElementsAre("pod/a@7"));
  EXPECT_THAT(names_in("{apiVersion: example.com/v1, kind: WaitingList, metadata: {name: w}}"),
              ElementsAre("waitinglist.example.com/w@1"))
      << "a kind that only sounds like a list";
}

TEST(Manifest, KeepsUnknownFieldsAndTheirOrder) {
  const auto manifests = read_manifests(
      R"({"kind":"Pod","apiVersion":"v1","zeta":{"b":1.5,"a":[null]},"metadata":{"name":"a","odd":true}})",
      "f");
  ASSERT_TRUE(manifests.has_value());
  EXPECT_EQ(
      manifests->at(0).object.bytes(),
      R"({"kind":"Pod","apiVersion":"v1","zeta":{"b":1.5,"a":[null]},"metadata":{"name":"a","odd":true}})");
}

struct BadCase {
  std::string name;
  std::string given;
  std::string want;
};

class ManifestBad : public testing::TestWithParam<BadCase> {};

TEST_P(ManifestBad, NamesPlaceAndField) {
  EXPECT_EQ(error_of(GetParam().given), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ManifestBad,
    testing::Values(
        BadCase{"Values", "replicas: 1\nimage: nginx\n",
                "f.yaml:1:1: no Kubernetes object: it has neither apiVersion nor kind; is this a "
                "configuration or "
                "values file?"},
        BadCase{"NoKind", "apiVersion: v1\nmetadata:\n  name: a\n",
                "f.yaml:1:1: kind: a Kubernetes object needs kind"},
        BadCase{"NoApiVersion", "kind: Pod\n",
                "f.yaml:1:1: apiVersion: a Kubernetes object needs apiVersion"},
        BadCase{"NumericKind", "apiVersion: v1\nkind: 3\n",
                "f.yaml:2:7: kind: expected a string, got a number: 3"},
        BadCase{"NoName", "apiVersion: v1\nkind: Pod\nmetadata:\n  labels: {}\n",
                "f.yaml:4:3: metadata.name: a Pod needs a name"},
        BadCase{"Configuration",
                "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
                "f.yaml:1:1: a KubeSchedulerConfiguration configures a program and is no object of "
                "a cluster; give it to the flag that reads it"},
        BadCase{"NumericName", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: 8\n",
                "f.yaml:4:9: metadata.name: expected a string, got a number: 8"},
        BadCase{"NumericLabel",
                "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels:\n    a/b.c: 8\n",
                "f.yaml:6:12: metadata.labels[a/b.c]: expected a string, got a number: 8"},
        BadCase{"BooleanAnnotation",
                "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations:\n    on: yes\n",
                "f.yaml:6:9: metadata.annotations.true: expected a string, got a boolean: true"},
        BadCase{"MetadataList", "apiVersion: v1\nkind: Pod\nmetadata: [a]\n",
                "f.yaml:3:11: metadata: expected a map, got a list"},
        BadCase{"Text", "# Title\n\nSome prose here.\n",
                "f.yaml:3:1: a Kubernetes object is a map with apiVersion, kind and metadata, this "
                "is plain text"},
        BadCase{"Csv", "name,gpus\na,1\n",
                "f.yaml:1:1: a Kubernetes object is a map with apiVersion, kind and metadata, this "
                "is plain text"},
        BadCase{"Sequence", "- a\n- b\n",
                "f.yaml:1:1: a Kubernetes object is a map with apiVersion, kind and metadata, this "
                "is a list"},
        BadCase{"ItemInList",
                "apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n  apiVersion: v1\n  metadata: "
                "{name: 1}\n",
                "f.yaml:6:20: metadata.name: expected a string, got a number: 1"},
        BadCase{"NullItem", "apiVersion: v1\nkind: List\nitems: [null]\n",
                "f.yaml:3:9: a Kubernetes object is a map with apiVersion, kind and metadata, this "
                "is a single value"},
        BadCase{"ItemsMap", "apiVersion: v1\nkind: List\nitems: {}\n",
                "f.yaml:3:8: items: items must be a list"},
        BadCase{"Binary", std::string("apiVersion: v1\nki\0nd", 20),
                "f.yaml:2:3: binary data where yaml or json was expected"},
        BadCase{"TruncatedJson", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a")",
                "f.yaml:1:55: the json text ends too early"},
        BadCase{"JsonLabel",
                "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\n "
                "\"metadata\":{\"name\":\"a\",\"labels\":{\"x\": 1}}}",
                "f.yaml:2:40: metadata.labels.x: expected a string, got a number: 1"},
        BadCase{
            "SecondJson",
            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}\n{\"kind\": 4}",
            "f.yaml:2:10: kind: expected a string, got a number: 4"}),
    [](const auto& given) { return given.param.name; });

TEST(Manifest, LocatesFieldsOfItsObject) {
  const auto manifests = read_manifests("---\n" + std::string(kPod), "dir/f.yaml");
  ASSERT_TRUE(manifests.has_value());
  const Manifest& pod = manifests->at(0);
  EXPECT_EQ(berth::to_string(pod.locate("spec.containers[0].image")),
            "dir/f.yaml:10:12: spec.containers[0].image");
  EXPECT_EQ(berth::to_string(pod.locate("metadata.labels[app.kubernetes.io/name]")),
            "dir/f.yaml:6:36: metadata.labels[app.kubernetes.io/name]");
  EXPECT_EQ(pod.locate("spec.containers[0].resources.limits").line, 9) << "the nearest parent";
  Error error{.code = Code::Invalid,
              .message = "no",
              .where = Where{.file = "", .line = 0, .column = 0, .field = "kind"},
              .causes = {}};
  EXPECT_EQ(berth::to_string(pod.locate(error)), "dir/f.yaml:3:7: kind: no");
}

TEST(Manifest, LocatesInListsAndJson) {
  const auto manifests = read_manifests("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n{"
                                        "\"apiVersion\":\"v1\",\"kind\":\"Pod\","
                                        "\"metadata\":{\"name\":\"a\"}},\n{\"apiVersion\":\"v1\","
                                        "\"kind\":\"Pod\",\"metadata\":{\"name\":"
                                        "\"b\"},\n \"spec\":{\"x\\u0041\":[1,\n2]}}]}",
                                        "f.json");
  ASSERT_TRUE(manifests.has_value());
  EXPECT_EQ(manifests->at(1).pointer, "/items/1");
  EXPECT_EQ(manifests->at(1).where.line, 3);
  EXPECT_EQ(manifests->at(1).locate("spec.xA[1]").line, 5);
}

struct PointerCase {
  std::string path;
  std::string want;
};

class PointerOf : public testing::TestWithParam<PointerCase> {};

TEST_P(PointerOf, Translates) {
  EXPECT_EQ(pointer_of(GetParam().path), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, PointerOf,
    testing::Values(PointerCase{"", ""}, PointerCase{"spec", "/spec"},
                    PointerCase{"spec.containers[0].image", "/spec/containers/0/image"},
                    PointerCase{"metadata.labels[a/b.c]", "/metadata/labels/a~1b.c"},
                    PointerCase{"a[0][1]", "/a/0/1"}, PointerCase{"[2].x", "/2/x"},
                    PointerCase{"a~b", "/a~0b"}, PointerCase{"a[", "/a/"}));

class ManifestPath : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(testing::TempDir()) /
                 testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_ / "below");
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string write(const std::string& name, std::string_view text) {
    std::ofstream(directory_ / name, std::ios::binary) << text;
    return (directory_ / name).string();
  }
  std::filesystem::path directory_;
};

TEST_F(ManifestPath, ReadsTheManifestsOfADirectoryByName) {
  write("b.yml", kPod);
  write("a.yaml", "{apiVersion: v1, kind: Node, metadata: {name: n1}}");
  write("c.json", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"c"}})");
  write("README.md", "# not: a: manifest");
  write("below/d.yaml", "broken: [");
  const auto manifests = read_manifest_path(directory_.string());
  ASSERT_TRUE(manifests.has_value()) << berth::to_string(manifests.error());
  ASSERT_EQ(manifests->size(), 3U);
  EXPECT_EQ(manifests->at(0).object.meta().name, "n1");
  EXPECT_EQ(manifests->at(1).where.file, (directory_ / "b.yml").string());
  EXPECT_EQ(manifests->at(2).object.meta().name, "c");
}

TEST_F(ManifestPath, SaysWhatIsMissing) {
  const auto missing = read_manifest_path((directory_ / "no").string());
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, Code::NotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("no such file or directory"));
  const auto empty = read_manifest_path(directory_.string());
  ASSERT_FALSE(empty.has_value());
  EXPECT_THAT(empty.error().message, HasSubstr("no *.yaml, *.yml or *.json file"));
}

TEST_F(ManifestPath, DoubtsFilesOfOtherKinds) {
  const auto readme = read_manifest_path(write("README.md", "# Title\n*bold*\n"));
  ASSERT_FALSE(readme.has_value());
  EXPECT_THAT(readme.error().message, HasSubstr("; manifests are *.yaml, *.yml or *.json files"));
  const auto named = read_manifest_path(write("pod.txt", kPod));
  EXPECT_TRUE(named.has_value()) << "a file the user names is read whatever its name";
}

TEST_F(ManifestPath, RefusesHugeFiles) {
  const std::string path = write("huge.yaml", "a: ");
  std::filesystem::resize_file(path, (64UL << 20U) + 1);
  const auto huge = read_manifest_path(path);
  ASSERT_FALSE(huge.has_value());
  EXPECT_THAT(huge.error().message, HasSubstr("larger than the 64 MiB"));
}

} // namespace
} // namespace berth::api
