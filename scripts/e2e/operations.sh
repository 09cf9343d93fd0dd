#!/usr/bin/env bash
# What an operator of `berth up` does beside plain objects: logs, top, chaos, metrics, health, status, events, down and up
# again; with unmodified kubectl. Prints one line a check; exit 0 when all hold, and SKIPPED with the reason when the tools
# cannot be had here.
. "$(dirname "${BASH_SOURCE[0]}")/lib/cluster.sh"
want_tools 35

cat >"$work/pods.yaml" <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers: [{name: c, image: train:1, command: [python, train.py], resources: {limits: {nvidia.com/gpu: '2', cpu: '4', memory: 8Gi}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: short, annotations: {berth.dev/run-for: 1s, berth.dev/exit-code: '3'}}
spec:
  restartPolicy: Never
  containers: [{name: c, image: short}]
---
apiVersion: v1
kind: Pod
metadata: {name: again, annotations: {berth.dev/run-for: 1s, berth.dev/fail-times: '1'}}
spec:
  restartPolicy: OnFailure
  containers: [{name: c, image: again}]
---
apiVersion: v1
kind: Pod
metadata: {name: two}
spec:
  containers: [{name: a, image: a}, {name: b, image: b}]
---
apiVersion: v1
kind: Pod
metadata: {name: huge}
spec:
  containers: [{name: c, image: c, resources: {limits: {nvidia.com/gpu: '64'}}}]
YAML

# eventually WHAT EXPECTED COMMAND...: the command's output has the expected text within half a minute.
eventually() {
  local what=$1 expected=$2
  shift 2
  for _ in $(seq 60); do
    "$@" 2>&1 | grep -qE -- "$expected" && break
    sleep 0.5
  done
  check "$what" "$expected" "$@"
}

check 'up' 'ready' "$berth" up --port 0 --nodes dgx-h100:2
check 'nodes become ready' 'condition met' "$k" wait --for=condition=Ready node --all --timeout=60s
check 'pods' 'created' "$k" create -f "$work/pods.yaml"
check 'they run' 'condition met' "$k" wait --for=condition=Ready pod/train pod/two --timeout=60s

check 'logs' 'started container c of image train:1: python train.py' "$k" logs train
check 'logs name the GPUs' 'sees 2 GPUs: /dev/nvidia' "$k" logs train
eventually 'logs of one that ended' 'ended after 1[0-9.]*s with exit code 3' "$k" logs short
check 'the last line, with its time' '^[0-9T:.-]+Z ended' "$k" logs short --tail=1 --timestamps
check 'follow one that ended' 'exit code 3' "$k" logs -f short
eventually 'the container before' 'exit code 1' "$k" logs again --previous
refused 'which container' 'a container name must be specified for pod two, choose one of: \[a b\]' "$k" get --raw /api/v1/namespaces/default/pods/two/log
check 'all containers' 'image b' "$k" logs two --all-containers --prefix
refused 'no such container' 'container x is not valid for pod two' "$k" logs two -c x
refused 'a wrong number' 'must be greater than' "$k" logs train --since=-5s
refused 'exec says why not' 'containers of this cluster are simulated' "$k" exec train -- ls
refused 'attach says why not' 'containers of this cluster are simulated' "$k" attach train
refused 'port-forward says why not' 'containers of this cluster are simulated' "$k" port-forward train 8080:80

check 'top nodes' 'dgx-h100-1 +[0-9]+m +[0-9]+% +[0-9]+Mi' "$k" top nodes
check 'top pods' 'train +[0-9]+m +[0-9]+Mi' "$k" top pods
check 'top containers' 'two +b +[0-9]+m' "$k" top pods --containers
check 'GPUs as a resource' 'NVIDIA.*Healthy +default +train' "$k" get gpus
check 'berth top nodes' 'dgx-h100-1 .* 8 ' "$berth" top nodes
check 'berth top pods' 'default +train +[0-9]+m +[0-9]+Mi +[0-9,-]+ +[0-9]+%' "$berth" top pods
check 'berth top gpus' 'dgx-h100-[12] +[0-9] .*Healthy +default +train' "$berth" top gpus
check 'as JSON' '"utilizationPercent":[1-9]' "$berth" top gpus -o json

check 'a GPU fails' 'GPU 7 .* is unhealthy: Xid 79' "$berth" chaos gpu dgx-h100-2 7
eventually 'allocatable falls' '^7$' "$k" get node dgx-h100-2 -o 'jsonpath={.status.allocatable.nvidia\.com/gpu}{"\n"}'
check 'it is listed' 'dgx-h100-2-gpu-7 +GpuXid +dgx-h100-2 +7 +Active' "$k" get faults
eventually 'events tell it' 'GpuUnhealthy' "$k" get events --field-selector involvedObject.kind=Node
refused 'twice' 'is broken already' "$berth" chaos gpu dgx-h100-2 7 --lost
check 'it heals' 'is healed' "$berth" chaos gpu dgx-h100-2 7 --heal
eventually 'allocatable is back' '^8$' "$k" get node dgx-h100-2 -o 'jsonpath={.status.allocatable.nvidia\.com/gpu}{"\n"}'
refused 'no such node' 'did you mean "dgx-h100-1"\? \(nodes: dgx-h100-1, dgx-h100-2\)' "$berth" chaos node dgx-h100-3 --down
refused 'no such GPU' 'it has 0 to 7' "$berth" chaos gpu dgx-h100-1 9
check 'a node goes down' 'is without power' "$berth" chaos node dgx-h100-2 --down
check 'NotReady' 'condition met' "$k" wait --for=condition=Ready=Unknown node/dgx-h100-2 --timeout=90s
check 'a node comes up' 'is healed' "$berth" chaos node dgx-h100-2 --up
check 'Ready again' 'condition met' "$k" wait --for=condition=Ready node/dgx-h100-2 --timeout=60s

check 'status' 'nodes +2, 2 ready' "$berth" status
check 'status: why Pending' 'Pending: 0/2 nodes are available' "$berth" status
check 'status as JSON' '"gpus":\{"count":16' "$berth" status -o json
check 'describe shows events' 'Successfully assigned' "$k" describe pod train
check 'kubectl events' 'Scheduled' "$k" events --for pod/train
check 'events of both groups' 'Scheduled' "$k" get events.events.k8s.io
check 'readyz' '\[\+\]informer-sync ok' "$k" get --raw '/readyz?verbose'
check 'one check' '^ok$' "$k" get --raw /livez/etcd
check 'metrics of requests' 'apiserver_request_total\{.*resource="pods"' "$k" get --raw /metrics
check 'metrics of objects' 'apiserver_storage_objects\{resource="nodes"\} 2' "$k" get --raw /metrics
check 'metrics of the process' 'process_resident_memory_bytes [0-9.e+]+' "$k" get --raw /metrics
check 'metrics of the scheduler' 'scheduler_schedule_attempts_total' "$k" get --raw /metrics
refused 'metrics are not for all' 'forbidden' "$k" get --raw /metrics --as bob
"$k" get pods --watch >"$work/watched" 2>&1 &
watcher=$!
sleep 1
check 'a snapshot of a running cluster' 'saved .*: [0-9]+ objects, revision [0-9]+' "$berth" snapshot save "$work/saved"
refused 'not under a running cluster' 'a cluster is running on this data' "$berth" snapshot restore "$work/saved" --force
check 'what comes after it' 'deleted' "$k" delete pod two --now
check 'down' 'stopped' "$berth" down
check 'a watch ends with the server' 'ended' bash -c "timeout 10 tail --pid=$watcher -f /dev/null && echo ended"
check 'up again' 'ready' "$berth" up --port 0
eventually 'pods run again' 'train +1/1 +Running' "$k" get pods
refused 'what was deleted is gone' 'pods "two" not found' "$k" get pod two
check 'down for good' 'stopped' "$berth" down
refused 'not over what is there' 'the data directory is not empty' "$berth" snapshot restore "$work/saved"
check 'the snapshot comes back' 'restored .*; writes go on from revision [0-9]+' "$berth" snapshot restore "$work/saved" --force
check 'up from it' 'ready .* 2 nodes, 16 GPUs' "$berth" up --port 0
eventually 'with what it had' 'two +2/2 +Running' "$k" get pods
exit $failed
