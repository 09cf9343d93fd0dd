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
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1, x-kubernetes-validations: [{rule: self >= oldSelf, message: rings do not shrink}]}
            x-kubernetes-validations: [{rule: self.size < 10, messageExpression: "'a ring of %d is too large'.format([self.size])"}]
YAML

check 'up' 'API https://127\.0\.0\.1:[0-9]+ ready in .* 3 nodes, 24 GPUs' "$berth" up --port 0 --nodes dgx-h100:2 --nodes l40s-pcie-8:1
check 'status' 'API +https' "$berth" status
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
refused 'a rule of its definition' 'spec: Invalid value: "object": a ring of 12 is too large' "$k" patch rg one --type=merge -p '{"spec":{"size":12}}'
refused 'a rule of what may change' 'spec.size: Invalid value: "integer": rings do not shrink' "$k" patch rg one --type=merge -p '{"spec":{"size":2}}'
refused 'a rule that makes no sense' "undefined field 'colour'" bash -c "sed s/self.size/self.colour/ '$work/crd.yaml' | '$k' apply -f -"
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
workloads() { cat <<'YAML'
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: one}]}}
---
apiVersion: v1
kind: Service
metadata: {name: peers}
spec: {clusterIP: None, selector: {app: db}, ports: [{port: 5432}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: peers
  replicas: 3
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: one}]}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: db}
spec: {minAvailable: 3, selector: {matchLabels: {app: db}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: '0 0 1 1 *'
  timeZone: Europe/Berlin
  jobTemplate: {spec: {template: {metadata: {annotations: {berth.dev/run-for: 1s}}, spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}}
YAML
}
workloads >"$work/workloads.yaml"
check 'untaint' 'untainted' "$k" taint node dgx-h100-1 a-
check 'workloads' 'cronjob.batch/tick created' "$k" apply -f "$work/workloads.yaml"
check 'a DaemonSet is everywhere' 'successfully rolled out' "$k" rollout status daemonset/agent --timeout=60s
check 'its columns' 'agent +3 +3 +3 +3 +3' "$k" get daemonset agent
check 'a StatefulSet is complete' 'partitioned roll out complete|statefulset rolling update complete' "$k" rollout status statefulset/db --timeout=60s
check 'its pods have names' 'db-2 +1/1 +Running' "$k" get pods
check 'endpoints' 'peers-.* 5432 +[0-9.]+,[0-9.]+,[0-9.]+' "$k" get endpointslices -l kubernetes.io/service-name=peers
check 'a budget is counted' 'db +3 +N/A +0' "$k" get pdb db
refused 'a budget holds' "Cannot evict pod as it would violate the pod's disruption budget" "$k" drain -l kubernetes.io/hostname --ignore-daemonsets --force --pod-selector app=db --timeout=3s
check 'uncordon all' 'uncordoned' "$k" uncordon -l kubernetes.io/hostname
check 'a new image for a DaemonSet' 'image updated' "$k" set image daemonset/agent c=two
check 'rolls out' 'successfully rolled out' "$k" rollout status daemonset/agent --timeout=120s
check 'a new image for a StatefulSet' 'image updated' "$k" set image statefulset/db c=two
check 'rolls out too' 'roll out complete|rolling update complete' "$k" rollout status statefulset/db --timeout=120s
check 'history of a StatefulSet' '^2 ' "$k" rollout history statefulset/db
check 'undo a DaemonSet' 'rolled back' "$k" rollout undo daemonset/agent
check 'it is back' 'successfully rolled out' "$k" rollout status daemonset/agent --timeout=120s
check 'with its image' 'one' "$k" get daemonset agent -o 'jsonpath={.spec.template.spec.containers[0].image}'
check 'restart a StatefulSet' 'restarted' "$k" rollout restart statefulset/db
refused 'what may not change' "updates to statefulset spec for fields other than 'replicas'" "$k" patch statefulset db -p '{"spec":{"serviceName":"x"}}'
check 'a CronJob by hand' 'job.batch/now created' "$k" create job now --from=cronjob/tick
check 'its Job' 'condition met' "$k" wait --for=condition=complete job/now --timeout=60s
refused 'a schedule that is none' 'expected exactly 5 fields, found 2' "$k" create cronjob wrong --image=x --schedule='* *'
check 'a namespace to delete' 'created' "$k" create namespace doomed
check 'has an account' 'default' bash -c "for i in 1 2 3 4 5 6 7 8 9 10; do '$k' get serviceaccount default -n doomed && exit 0; done; exit 1"
check 'with something in it' 'created' "$k" create deployment d -n doomed --image=x --replicas=2
check 'goes with all of it' 'deleted' "$k" delete namespace doomed --timeout=60s
refused 'others stay' 'this namespace may not be deleted' "$k" delete namespace default
cat >"$work/policy.yaml" <<'YAML'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: strict}}
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments, deployments/scale]}]
  variables: [{name: replicas, expression: object.spec.replicas}]
  validations: [{expression: 'variables.replicas <= 2', messageExpression: "'at most 2, not ' + string(variables.replicas)"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: few}
spec: {policyName: few, validationActions: [Deny]}
YAML
check 'a strict namespace' 'created' "$k" create namespace strict
check 'a policy and its binding' 'validatingadmissionpolicybinding.admissionregistration.k8s.io/few created' "$k" apply -f "$work/policy.yaml"
check 'policies have columns' 'few +1 +<unset>' "$k" get validatingadmissionpolicies
refused 'a policy denies' "ValidatingAdmissionPolicy 'few' with binding 'few' denied request: at most 2, not 3" "$k" create deployment d -n strict --image=x --replicas=3
check 'what it allows' 'created' "$k" create deployment d -n strict --image=x --replicas=2
check 'its pods' 'condition met' "$k" wait --for=condition=available deployment/d -n strict --timeout=60s
refused 'a policy of scales' 'denied request: at most 2, not 4' "$k" scale deployment d -n strict --replicas=4
check 'pods that are there are told of' 'd-.* .and 1 other pod.: allowPrivilegeEscalation != false' "$k" label namespace strict pod-security.kubernetes.io/enforce=restricted
refused 'pods of a restricted namespace' 'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false .container "p"' "$k" run p -n strict --image=x
check 'templates are warned of' 'would violate PodSecurity "restricted:latest"' "$k" create deployment e -n strict --image=x
check 'and get no pods' 'violates PodSecurity' bash -c "for i in 1 2 3 4 5 6 7 8 9 10; do '$k' get events -n strict | grep violates && exit 0; done; exit 1"
refused 'a level that is none' 'must be one of privileged, baseline, restricted' "$k" label namespace strict pod-security.kubernetes.io/warn=high
check 'policies go' 'deleted' "$k" delete -f "$work/policy.yaml"
check 'workloads go' 'statefulset.apps "db" deleted' "$k" delete -f "$work/workloads.yaml" --timeout=60s
check 'helm uninstall' 'uninstalled' "$helm" uninstall demo
check 'delete' 'deleted' "$k" delete -f "$work/app.yaml" --timeout=60s
check 'down' 'stopped' "$berth" down
check 'up again' 'ready' "$berth" up --port 0
check 'everything is still there' 'e: f|kind: Ring' "$k" get rings -o yaml
exit $failed
