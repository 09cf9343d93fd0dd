// Manifest reading in MB/s, against the raw parsers below it, and what an object version costs.
#include <string>

#include <benchmark/benchmark.h>

#include "berth/api/json.h"
#include "berth/api/manifest.h"
#include "berth/api/quantity.h"

namespace berth::api {
namespace {

/// A training pod of about 2 KB of JSON, with what real ones carry.
std::string pod_yaml(int i) {
  const std::string n = std::to_string(i);
  return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: worker-" + n +
         "\n  namespace: training\n  labels:\n    app.kubernetes.io/name: llm\n    "
         "batch.kubernetes.io/job-name: "
         "llm-pretrain\n    batch.kubernetes.io/job-completion-index: \"" +
         n +
         "\"\n    scheduling.x-k8s.io/pod-group: llm\n  annotations:\n    berth.dev/run-for: 2h\n  "
         "  note: \"a line of "
         "text that someone left here, with: colons and # marks\"\nspec:\n  schedulerName: berth\n "
         " restartPolicy: "
         "Never\n  priorityClassName: training-high\n  nodeSelector:\n    nvidia.com/gpu.product: "
         "NVIDIA-H100-80GB-HBM3\n  tolerations:\n  - key: nvidia.com/gpu\n    operator: Exists\n   "
         " effect: NoSchedule\n "
         " containers:\n  - name: trainer\n    image: registry.example.com/team/trainer:2024.06\n  "
         "  command: [torchrun, "
         "--nnodes=4, --nproc-per-node=8]\n    args:\n    - train.py\n    - --config\n    - "
         "/etc/config/train.yaml\n    "
         "env:\n    - name: NCCL_DEBUG\n      value: INFO\n    - name: NCCL_IB_HCA\n      value: "
         "\"=mlx5_0,mlx5_1\"\n    "
         "- name: POD_IP\n      valueFrom:\n        fieldRef:\n          fieldPath: status.podIP\n "
         "   resources:\n      "
         "requests:\n        cpu: \"96\"\n        memory: 1Ti\n      limits:\n        "
         "nvidia.com/gpu: 8\n        "
         "rdma/hca: 1\n    volumeMounts:\n    - name: shm\n      mountPath: /dev/shm\n    - name: "
         "data\n      "
         "mountPath: /data\n      readOnly: true\n  volumes:\n  - name: shm\n    emptyDir:\n      "
         "medium: Memory\n      "
         "sizeLimit: 64Gi\n  - name: data\n    persistentVolumeClaim:\n      claimName: dataset\n";
}

std::string yaml_stream(int pods) {
  std::string out;
  for (int i = 0; i < pods; ++i) {
    out += "---\n" + pod_yaml(i);
  }
  return out;
}

/// `kubectl get pods -o json` of the same pods.
std::string json_list(int pods) {
  const auto documents = parse_yaml(yaml_stream(pods), "");
  json::object list{{"apiVersion", "v1"}, {"kind", "List"}};
  json::array& items = list["items"].emplace_array();
  for (const YamlDocument& document : *documents) {
    items.push_back(document.value);
  }
  return to_pretty_json(list);
}

void report(benchmark::State& state, const std::string& text) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(text.size()));
}

void manifests_yaml(benchmark::State& state) {
  const std::string text = yaml_stream(1000);
  for (auto _ : state) {
    benchmark::DoNotOptimize(read_manifests(text, "pods.yaml"));
  }
  report(state, text);
}
BENCHMARK(manifests_yaml)->Unit(benchmark::kMillisecond);

void manifests_json(benchmark::State& state) {
  const std::string text = json_list(1000);
  for (auto _ : state) {
    benchmark::DoNotOptimize(read_manifests(text, "pods.json"));
  }
  report(state, text);
}
BENCHMARK(manifests_json)->Unit(benchmark::kMillisecond);

void json_text(benchmark::State& state) {
  const std::string text = json_list(1000);
  for (auto _ : state) {
    benchmark::DoNotOptimize(parse_json(text));
  }
  report(state, text);
}
BENCHMARK(json_text)->Unit(benchmark::kMillisecond);

Object one_pod() {
  return read_manifests(pod_yaml(1), "")->front().object;
}

void object_parse(benchmark::State& state) {
  const std::string bytes = one_pod().bytes();
  for (auto _ : state) {
    benchmark::DoNotOptimize(Object::parse(bytes));
  }
  report(state, bytes);
}
BENCHMARK(object_parse);

void object_write(benchmark::State& state) {
  const Object pod = one_pod();
  for (auto _ : state) {
    benchmark::DoNotOptimize(to_json(pod.json()));
  }
  report(state, pod.bytes());
}
BENCHMARK(object_write);

void object_edit(benchmark::State& state) {
  const Object pod = one_pod();
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        pod.edit([](json::object& document) { object_at(document, "spec")["nodeName"] = "n"; }));
  }
}
BENCHMARK(object_edit);

void quantity_parse(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(Quantity::parse("1500m"));
    benchmark::DoNotOptimize(Quantity::parse("1.5Gi"));
    benchmark::DoNotOptimize(Quantity::parse("8"));
  }
}
BENCHMARK(quantity_parse);

} // namespace
} // namespace berth::api
