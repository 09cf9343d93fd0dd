#!/usr/bin/env bash
# A cluster of `berth up`, driven by unmodified kubectl and helm (of the npm package that carries both). Prints one line a
# check; exit 0 when all hold, and SKIPPED with the reason when the tools cannot be had here.
. "$(dirname "${BASH_SOURCE[0]}")/lib/cluster.sh"
want_tools 35

cat >"$work/app.yaml" <<'YAML'
apiVersion: batch/v1
kind: Job
metadata: {name: train, labels: {team: a}}
spec:
  completions: 2
  parallelism: 2
  template:
    metadata: {annotations: {berth.dev/run-for: 2s}}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: train, resources: {limits: {nvidia.com/gpu: '4'}}}]
---
apiVersion: v1
kind: Service
metadata: {name: train}
spec: {selector: {job-name: train}, ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
YAML
cat >"$work/crd.yaml" <<'YAML'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rings.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: rings, singular: ring, kind: Ring, shortNames: [rg]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, required: [size], properties: {size: {type: integer, minimum: 1}}}}
YAML

check 'up' 'API https://127\.0\.0\.1:[0-9]+ ready in .* 3 nodes, 24 GPUs' "$berth" up --port 0 --nodes dgx-h100:2 --nodes l40s-pcie-8:1
check 'status' 'API https' "$berth" status
refused 'a second up' 'running already' "$berth" up --port 0
check 'version' 'Server Version: v1\.34' "$k" version
check 'nodes become ready' 'condition met' "$k" wait --for=condition=Ready node --all --timeout=60s
check 'nodes with their GPUs' 'dgx-h100-1 +Ready .*NVIDIA-H100' "$k" get nodes -L nvidia.com/gpu.product
check 'wide nodes' 'GPUS' "$k" get nodes -o wide
check 'create' 'namespace/team created' "$k" create namespace team
check 'apply' 'job.batch/train created' "$k" apply -f "$work/app.yaml"
check 'apply again' 'job.batch/train unchanged' "$k" apply -f "$work/app.yaml"
check 'diff of nothing' '^$' "$k" diff -f "$work/app.yaml"
check 'pods are scheduled and run' 'condition met' "$k" wait --for=condition=complete job/train --timeout=60s
check 'get all' 'job.batch/train +Complete' "$k" get all
check 'wide pods' 'GPU-INDICES' "$k" get pods -o wide
check 'describe' 'Scheduled .*Successfully assigned' "$k" describe pods -l job-name=train
check 'events' 'Scheduled' "$k" get events
check 'explain' 'FIELD: tolerations' "$k" explain pod.spec.tolerations
check 'label' 'labeled' "$k" label job train x=y
check 'annotate' 'annotated' "$k" annotate job train note=1
check 'patch, strategic' 'patched' "$k" patch configmap settings -p '{"data":{"c":"d"}}'
check 'patch, merge' 'patched' "$k" patch configmap settings --type=merge -p '{"data":{"c":null}}'
check 'patch, JSON' 'patched' "$k" patch configmap settings --type=json -p '[{"op":"add","path":"/data/e","value":"f"}]'
check 'round trip' 'e: f' "$k" get configmap settings -o yaml
check 'server-side apply' 'serverside-applied' "$k" apply --server-side --force-conflicts -f "$work/app.yaml"
check 'create from literals' 'secret/s created' "$k" create secret generic s --from-literal=a=b
check 'who am I' 'system:masters' "$k" auth whoami
check 'can I' '^yes$' "$k" auth can-i create pods
refused 'others may not' '^no$' "$k" auth can-i create pods --as bob
refused 'strict decoding' 'unknown field "spec.gpus"' "$k" create -f - <<<'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"gpus":8,"containers":[{"name":"c","image":"x"}]}}'
check 'cordon' 'cordoned' "$k" cordon dgx-h100-1
check 'cordoned' 'SchedulingDisabled' "$k" get node dgx-h100-1
check 'drain' 'drained' "$k" drain dgx-h100-1 --ignore-daemonsets --force --timeout=30s
check 'uncordon' 'uncordoned' "$k" uncordon dgx-h100-1
check 'taint' 'tainted' "$k" taint node dgx-h100-1 a=b:NoSchedule
check 'a CRD' 'created' "$k" apply -f "$work/crd.yaml"
check 'a CRD is established' 'condition met' "$k" wait --for=condition=Established crd/rings.example.com --timeout=10s
check 'a custom resource' 'ring.example.com/one created' "$k" apply -f - <<<'{"apiVersion":"example.com/v1","kind":"Ring","metadata":{"name":"one"},"spec":{"size":3}}'
check 'its columns' 'one +3' "$k" get rg
refused 'its schema' 'should be greater than or equal to 1' "$k" create -f - <<<'{"apiVersion":"example.com/v1","kind":"Ring","metadata":{"name":"two"},"spec":{"size":0}}'
check 'every kind lists' '' bash -c "for r in \$('$k' api-resources --verbs=list -o name); do '$k' get \$r -A >/dev/null || exit 1; done"
check 'helm' 'STATUS: deployed' "$helm" install demo scripts/e2e/chart
check 'helm upgrade' 'REVISION: 2' "$helm" upgrade demo scripts/e2e/chart --set replicas=2
check 'helm rollback' 'Rollback was a success' "$helm" rollback demo 1
check 'rollout' 'successfully rolled out' "$k" rollout status deployment/demo-inference --timeout=60s
check 'scale' 'scaled' "$k" scale deployment demo-inference --replicas=3
check 'a new image' 'image updated' "$k" set image deployment/demo-inference server=registry.example/inference:2.0
check 'rollout of it' 'successfully rolled out' "$k" rollout status deployment/demo-inference --timeout=60s
check 'rollout history' '^2 ' "$k" rollout history deployment/demo-inference
check 'rollout undo' 'rolled back' "$k" rollout undo deployment/demo-inference
check 'rollout back' 'successfully rolled out' "$k" rollout status deployment/demo-inference --timeout=60s
check 'three pods serve' '3/3 +3 +3' "$k" get deployment demo-inference
check 'helm uninstall' 'uninstalled' "$helm" uninstall demo
check 'delete' 'deleted' "$k" delete -f "$work/app.yaml" --timeout=60s
check 'down' 'stopped' "$berth" down
check 'up again' 'ready' "$berth" up --port 0
check 'everything is still there' 'e: f|kind: Ring' "$k" get rings -o yaml
exit $failed
