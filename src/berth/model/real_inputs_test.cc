// Every manifest of the shared collection of real inputs parses, or gives one clear error with a
// place.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "berth/api/manifest.h"
#include "berth/model/node.h"
#include "berth/model/requests.h"
#include "berth/model/workload.h"

namespace berth::model {
namespace {

namespace fs = std::filesystem;

std::string inputs_directory() {
  const char* shared = std::getenv("BERTH_SHARED");
  return (shared == nullptr ? fs::path(BERTH_SOURCE_DIR) / ".." / "shared" : fs::path(shared)) /
         "inputs";
}

std::vector<std::string> files_below(const fs::path& directory) {
  std::vector<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) {
      out.push_back(entry.path().string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Decodes what has a typed view; the first error.
std::optional<Error> decode_error(const api::Manifest& manifest) {
  const api::Object& object = manifest.object;
  const auto of = [](const auto& view) {
    return view ? std::nullopt : std::optional(view.error());
  };
  const std::string kind = object.gvk().group + "/" + object.gvk().kind;
  if (kind == "/Pod") {
    const auto pod = pod_view(object);
    if (pod) {
      effective_requests((*pod)->spec);
    }
    return of(pod);
  }
  if (kind == "/Node") {
    return of(node_view(object));
  }
  if (kind == "batch/Job") {
    return of(job_view(object));
  }
  if (kind == "scheduling.x-k8s.io/PodGroup") {
    return of(pod_group_view(object));
  }
  return kind == "scheduling.k8s.io/PriorityClass" ? of(priority_class_view(object)) : std::nullopt;
}

/// Manifests that kubectl refuses too, with what is wrong about them.
struct KnownError {
  std::string file;
  std::string message;
};

const std::vector<KnownError> kKnownErrors = {
    {"kai/e2e-kind-config.yaml", "a Cluster needs a name"},
    {"kai/fairshare-sim-config.yaml", "no Kubernetes object"},
    {"kai/two-queue-sim.yaml", "no Kubernetes object"},
    {"kueue/tas-kind-cluster.yaml", "a Cluster needs a name"},
    {"nodes/aicr-mock-snapshot.yaml", "no Kubernetes object"},
    {"nodes/knavigator-virtual-nodes-template.yaml", "looks like a template"},
    {"nodes/knavigator-virtual-nodes-values.yaml", "no Kubernetes object"},
    {"nodes/vks-vgpu-a100-10c-labels.json", "no Kubernetes object"},
    {"pods/topsail-gpu-burn.yml", "looks like a template"},
    {"training/aicr-h100-runtime.yaml", "looks like a template"},
    {"training/gke-nccl-a4.yaml", "key \"resources\" is given twice, first at line 56 column 7"},
    {"training/gke-nccl-a4x-max-jobset.yaml",
     "key \"restartPolicy\" is given twice, first at line 45 column 15"},
    {"training/knavigator-failed-job.yml", "looks like a template"},
    {"volcano/hypernode.yaml", "no Kubernetes object"},
};

bool is_manifest(const std::string& file) {
  return file.ends_with(".yaml") || file.ends_with(".yml") || file.ends_with(".json");
}

TEST(RealInputs, WorkloadsAndNodesParseUnlessKubectlRefusesThem) {
  const std::string directory = inputs_directory();
  if (!fs::exists(directory)) {
    GTEST_SKIP() << "no shared inputs at " << directory;
  }
  std::size_t objects = 0;
  for (const std::string folder :
       {"pods", "training", "volcano", "kueue", "nodes", "kai", "crds"}) {
    for (const std::string& file : files_below(fs::path(directory) / folder)) {
      if (!is_manifest(file)) {
        continue;
      }
      const auto known =
          std::find_if(kKnownErrors.begin(), kKnownErrors.end(),
                       [&](const KnownError& error) { return file.ends_with("/" + error.file); });
      const auto manifests = api::read_manifest_path(file);
      EXPECT_EQ(manifests.has_value(), known == kKnownErrors.end()) << file;
      if (!manifests) {
        const std::string message = berth::to_string(manifests.error());
        EXPECT_TRUE(known != kKnownErrors.end() &&
                    message.find(known->message) != std::string::npos)
            << message;
        continue;
      }
      for (const api::Manifest& manifest : *manifests) {
        ++objects;
        const auto error = decode_error(manifest);
        EXPECT_FALSE(error.has_value()) << berth::to_string(manifest.locate(*error));
      }
    }
  }
  EXPECT_GT(objects, 150U);
}

TEST(RealInputs, AnyFileParsesOrGivesOneClearError) {
  const std::string directory = inputs_directory();
  if (!fs::exists(directory)) {
    GTEST_SKIP() << "no shared inputs at " << directory;
  }
  for (const std::string& file : files_below(directory)) {
    const auto manifests = api::read_manifest_path(file);
    if (manifests) {
      continue;
    }
    const Error& error = manifests.error();
    ASSERT_TRUE(error.where.has_value()) << file;
    EXPECT_EQ(error.where->file, file);
    EXPECT_GT(error.where->line, 0) << file;
    EXPECT_GT(error.where->column, 0) << file;
    EXPECT_LT(berth::to_string(error).size(), 400U) << berth::to_string(error);
  }
}

} // namespace
} // namespace berth::model
