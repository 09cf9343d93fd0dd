#!/usr/bin/env bash
# Real containers: a cluster of `berth up`, a `berth agent` on this machine with four simulated GPUs whose device files are
# real character devices (major 195), containerd and runc. What a container sees is asked from inside; then agent, plugin and
# containerd are killed in turn. Needs root; prints one line a check, exit 0 when all hold, SKIPPED with the reason where
# containers cannot be run.
. "$(dirname "${BASH_SOURCE[0]}")/lib/cluster.sh"
. scripts/e2e/lib/containerd.sh
want_tools 35
want_containers

agent_pid='' plugin_pid=''
end_all() {
  for pid in $agent_pid $plugin_pid; do kill "$pid" 2>/dev/null; done
  end_containers
  cleanup
}
trap end_all EXIT

dev=$work/devices/dev
mkdir -p "$dev"
for i in 0 1 2 3; do mknod "$dev/nvidia$i" c 195 "$i"; done
mknod "$dev/nvidiactl" c 195 255

start_agent() {
  "$berth" agent --hostname-override worker-1 --container-runtime-endpoint "unix://$socket" --platform hgx-a100-4 \
    --root-dir "$work/kubelet" --pod-logs-dir "$work/pod-logs" --cdi-dir "$work/cdi" --nvidia-dev-root "$work/devices" \
    --listen 127.0.0.1:0 "$@" >>"$work/agent.log" 2>&1 &
  agent_pid=$!
}
kill_hard() {
  kill -9 "$1" 2>/dev/null
  wait "$1" 2>/dev/null
}
# Which GPUs a container can see, and which its device cgroup lets it open: a device without a driver says "No such device
# or address" to whom may open it, and "Operation not permitted" to whom may not.
seen() { "$k" exec "$1" -c "$2" -- sh -c 'cd /dev; echo $(ls -d nvidia[0-9]* 2>/dev/null)'; }
open_to() {
  "$k" exec "$1" -c "$2" -- sh -c '
    for i in 0 1 2 3; do
      [ -e /tmp/probe$i ] || mknod /tmp/probe$i c 195 $i
      head -c 1 /tmp/probe$i 2>&1 | grep -q "No such device" && printf "nvidia%s " $i
    done; true' | sed 's/ $//'
}
same() { # same WHAT A B
  if [ "$2" = "$3" ]; then echo "ok    $1 ($2)"; else
    echo "FAIL  $1: \"$2\" is not \"$3\""
    failed=1
  fi
}
running() { "$k" get pod "$1" -o 'jsonpath={range .status.containerStatuses[*]}{.containerID}{" "}{end}'; }

namespaces=$(ls /var/run/netns 2>/dev/null | grep -c ^cni-)
start_containerd
make_image pause '["/bin/sleep", "2147483647"]'
make_image busybox '["/bin/sh"]'
cat >"$work/two.yaml" <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {greeting: hello, file.txt: "from a file\n"}
---
apiVersion: v1
kind: Pod
metadata: {name: two, labels: {app: two}}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: settings, configMap: {name: settings}}, {name: scratch, emptyDir: {}}]
  containers:
  - name: a
    image: local/busybox:1
    imagePullPolicy: IfNotPresent
    command: [sh, -c, 'echo "$GREETING $NVIDIA_VISIBLE_DEVICES"; cat /settings/file.txt; echo shared >/scratch/note; sleep 100000']
    env: [{name: GREETING, valueFrom: {configMapKeyRef: {name: settings, key: greeting}}}]
    volumeMounts: [{name: settings, mountPath: /settings}, {name: scratch, mountPath: /scratch}]
    resources: {limits: {nvidia.com/gpu: '2', memory: 64Mi}}
  - name: b
    image: local/busybox:1
    command: [sh, -c, 'sleep 100000']
    volumeMounts: [{name: scratch, mountPath: /scratch}]
    resources: {limits: {nvidia.com/gpu: '1'}}
YAML
gpu_pod() { # gpu_pod NAME GPUS
  cat <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: local/busybox:1, command: [sleep, '100000'], resources: {limits: {nvidia.com/gpu: '$2'}}}]
YAML
}

check 'up' 'API https' "$berth" up --port 0
start_agent
for _ in $(seq 100); do "$k" get node worker-1 >/dev/null 2>&1 && break; sleep 0.1; done
check 'the machine becomes a node' 'condition met' "$k" wait --for=condition=Ready node/worker-1 --timeout=30s
check 'with its runtime' 'worker-1 +Ready.*containerd://' "$k" get nodes -o wide
check 'and its GPUs' 'condition met' "$k" wait --for='jsonpath={.status.allocatable.nvidia\.com/gpu}=4' node/worker-1 --timeout=30s

check 'apply' 'pod/two created' "$k" apply -f "$work/two.yaml"
check 'two containers run' 'condition met' "$k" wait --for=condition=Ready pod/two --timeout=60s
check 'on the GPUs that the scheduler chose' 'two .* 3 +0,1,2' "$k" get pod two -o wide
check 'logs' 'hello GPU-.*,GPU-' "$k" logs two -c a
check 'a mounted ConfigMap' 'from a file' "$k" logs two -c a
check 'a volume between containers' 'shared' "$k" exec two -c b -- cat /scratch/note
check 'exec with input' 'typed' sh -c "echo typed | '$k' exec -i two -c a -- cat"
refused 'an exit code comes back' 'exit code 3' "$k" exec two -c a -- sh -c 'exit 3'
a=$(seen two a) b=$(seen two b)
same 'two GPUs for the first' "$(wc -w <<<"$a")" 2
same 'one for the second' "$(wc -w <<<"$b")" 1
same 'none in both' "$(tr ' ' '\n' <<<"$a $b" | sort | uniq -d)" ''
same 'the device cgroup opens what is seen to the first' "$(open_to two a)" "$a"
same 'and to the second' "$(open_to two b)" "$b"
check 'the control device' 'nvidiactl' "$k" exec two -c a -- ls /dev
check 'a memory limit is a cgroup limit' '67108864' "$k" exec two -c a -- sh -c \
  'cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max'

# What real containers and this machine use, through the agent's port.
"$k" exec two -c b -- sh -c 'dd if=/dev/zero of=/dev/null >/dev/null 2>&1 </dev/null & echo $! >/tmp/busy'
check 'what the node uses' 'worker-1 +[1-9][0-9]*m .*[1-9][0-9]*Mi' "$k" top node worker-1
check 'what each container uses' 'two +a +[0-9]+m +[0-9]+Mi' "$k" top pod two --containers
check 'a busy one uses CPU time' 'two +b +[1-9][0-9]*m' sh -c \
  "for i in \$(seq 20); do '$k' top pod two --containers | grep -E 'b +[1-9][0-9]*m' && break; sleep 1; done"
"$k" exec two -c b -- sh -c 'kill $(cat /tmp/busy)' >/dev/null 2>&1
check 'in berth top too' 'worker-1' "$berth" top nodes
check 'and who has the GPUs' 'worker-1.*two' "$berth" top gpus
check 'GPUs for dashboards' 'DCGM_FI_DEV_XID_ERRORS.*Hostname="worker-1".*pod="two"' "$k" get --raw /metrics/gpus

# What a pod says of its resolver, kernel and disk.
cat >"$work/wishes.yaml" <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: wishes}
spec:
  terminationGracePeriodSeconds: 1
  restartPolicy: Never
  dnsPolicy: None
  dnsConfig: {nameservers: [192.0.2.7], searches: [shop.example], options: [{name: ndots, value: '2'}]}
  securityContext: {sysctls: [{name: kernel.shm_rmid_forced, value: '1'}]}
  volumes: [{name: scratch, emptyDir: {sizeLimit: 1Mi}}]
  containers:
  - name: c
    image: local/busybox:1
    command: [sleep, '100000']
    volumeMounts: [{name: scratch, mountPath: /scratch}]
YAML
"$k" apply -f "$work/wishes.yaml" >/dev/null
check 'a pod with wishes' 'condition met' "$k" wait --for=condition=Ready pod/wishes --timeout=60s
check 'its resolver' 'nameserver 192.0.2.7' "$k" exec wishes -- cat /etc/resolv.conf
check 'and its options' 'ndots:2' "$k" exec wishes -- cat /etc/resolv.conf
check 'a sysctl of its own' '^1$' "$k" exec wishes -- cat /proc/sys/kernel/shm_rmid_forced
"$k" exec wishes -- dd if=/dev/zero of=/scratch/big bs=1048576 count=3 >/dev/null 2>&1
check 'a full emptyDir evicts' 'Evicted: Usage of EmptyDir volume "scratch" exceeds the limit "1Mi"' sh -c "
  for i in \$(seq 100); do
    '$k' get pod wishes -o 'jsonpath={.status.reason}: {.status.message}' | grep Evicted && break; sleep 0.3; done"
sed -e 's/name: wishes/name: unsafe/' -e 's/kernel.shm_rmid_forced/kernel.msgmax/' "$work/wishes.yaml" | "$k" apply -f - >/dev/null
check 'an unsafe sysctl is refused' 'SysctlForbidden' sh -c \
  "for i in \$(seq 50); do '$k' get pod unsafe -o 'jsonpath={.status.reason}' | grep . && break; sleep 0.2; done"
"$k" delete pod wishes unsafe >/dev/null

# A token of its service account, as long as the pod is there.
cat >"$work/bearer.yaml" <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: bearer}
spec:
  terminationGracePeriodSeconds: 1
  serviceAccountName: default
  securityContext: {runAsUser: 1000, fsGroup: 2000}
  volumes:
  - name: id
    projected: {sources: [{serviceAccountToken: {path: token, expirationSeconds: 600}},
                          {serviceAccountToken: {path: for-vault, audience: vault}}]}
  containers:
  - name: c
    image: local/busybox:1
    command: [sleep, '100000']
    volumeMounts: [{name: id, mountPath: /id}]
YAML
review() { # review TOKEN [AUDIENCE]
  printf '{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "%s", "audiences": [%s]}}' \
    "$1" "${2:+\"$2\"}" | "$k" create --raw /apis/authentication.k8s.io/v1/tokenreviews -f -
}
"$k" apply -f "$work/bearer.yaml" >/dev/null
check 'a pod with tokens' 'condition met' "$k" wait --for=condition=Ready pod/bearer --timeout=60s
check 'which its user and group alone may read' '^640 1000 2000$' "$k" exec bearer -- stat -L -c '%a %u %g' /id/token
token=$("$k" exec bearer -- cat /id/token)
check 'it is its account'"'"'s' '"authenticated":true.*"username":"system:serviceaccount:default:default"' review "$token"
check 'for the pod' 'authentication.kubernetes.io/pod-name":\["bearer"\]' review "$token"
api=$(sed -n 's/.*server: \(https:.*\)/\1/p' "$KUBECONFIG")
check 'the API server takes it' 'system:serviceaccount:default:default' \
  "$k" --kubeconfig /dev/null --server "$api" --insecure-skip-tls-verify --token "$token" auth whoami
vault=$("$k" exec bearer -- cat /id/for-vault)
check 'another is for another' '"authenticated":true.*"audiences":\["vault"\]' review "$vault" vault
refused 'and nobody else' 'Unauthorized|must be logged in' \
  "$k" --kubeconfig /dev/null --server "$api" --insecure-skip-tls-verify --token "$vault" auth whoami
"$k" delete pod bearer >/dev/null
same 'it ends with the pod' "$(review "$token" | grep -c '"authenticated":true')" 0

before=$(running two)
kill_hard "$agent_pid"
start_agent
check 'a killed agent comes back' 'condition met' "$k" wait --for=condition=Ready node/worker-1 --timeout=30s
gpu_pod more 2 | "$k" apply -f - >/dev/null
check 'a pod that does not fit waits' 'Insufficient nvidia.com/gpu' sh -c \
  "for i in \$(seq 50); do '$k' describe pod more | grep Insufficient && break; sleep 0.2; done"
"$k" delete pod more >/dev/null
gpu_pod third 1 | "$k" apply -f - >/dev/null
check 'one that fits gets what is left' 'condition met' "$k" wait --for=condition=Ready pod/third --timeout=60s
same 'no GPU twice after the kill' "$(tr ' ' '\n' <<<"$a $b $(seen third c)" | sort -u | wc -l)" 4
same 'no container was lost with the agent' "$(running two)" "$before"

kill_hard "$containerd_pid"
check 'without containerd the node goes on' 'two +2/2 +Running' "$k" get pod two
start_containerd
check 'containers outlive containerd' "$b" sh -c \
  "for i in \$(seq 50); do '$k' exec two -c b -- ls /dev && break; sleep 0.2; done"
same 'the same ones' "$(running two)" "$before"

check 'a pod is deleted' 'deleted' "$k" delete pod two third --timeout=60s
gpu_pod all 4 | "$k" apply -f - >/dev/null
check 'its GPUs are free again' 'condition met' "$k" wait --for=condition=Ready pod/all --timeout=60s
same 'all four' "$(seen all c)" 'nvidia0 nvidia1 nvidia2 nvidia3'
check 'and gone' 'deleted' "$k" delete pod all --timeout=60s

# Parts of a GPU.
part_pod() { # part_pod NAME FRACTION
  cat <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1, annotations: {gpu-fraction: '$2'}}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: local/busybox:1, command: [sleep, '100000']}]
YAML
}
for name in half other; do part_pod "$name" 0.5 | "$k" apply -f - >/dev/null; done
check 'two halves of a GPU run' 'condition met' "$k" wait --for=condition=Ready pod/half pod/other --timeout=60s
half=$(seen half c)
same 'a container with a part sees one GPU' "$(wc -w <<<"$half")" 1
same 'both see the same' "$(seen other c)" "$half"
same 'the device cgroup opens it and no other' "$(open_to half c)" "$half"
check 'and they are told how much of it is theirs' '^0.5$' "$k" exec half -c c -- sh -c 'echo $GPU_PORTION'
kill_hard "$agent_pid"
start_agent
check 'the agent comes back after a kill' 'condition met' "$k" wait --for=condition=Ready node/worker-1 --timeout=30s
gpu_pod whole 3 | "$k" apply -f - >/dev/null
check 'three whole GPUs are left beside them' 'condition met' "$k" wait --for=condition=Ready pod/whole --timeout=60s
same 'and those are others' "$(tr ' ' '\n' <<<"$half $(seen whole c)" | sort -u | wc -l)" 4
check 'they go' 'deleted' "$k" delete pod half other whole --timeout=60s

# Time slices: four replicas of each GPU.
kill "$agent_pid" 2>/dev/null
wait "$agent_pid" 2>/dev/null
cat >"$work/slices.yaml" <<'YAML'
version: v1
sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
YAML
start_agent --device-plugin-config "$work/slices.yaml"
check 'replicas are advertised' 'condition met' "$k" wait --for='jsonpath={.status.allocatable.nvidia\.com/gpu}=16' \
  node/worker-1 --timeout=30s
check 'and told by GPU' 'nvidia.com/gpu=replicas:0x4,1x4,2x4,3x4' "$k" get node worker-1 \
  -o 'jsonpath={.metadata.annotations.berth\.dev/gpu-devices}'
for name in slice1 slice2; do gpu_pod "$name" 1 | "$k" apply -f - >/dev/null; done
check 'two slices run' 'condition met' "$k" wait --for=condition=Ready pod/slice1 pod/slice2 --timeout=60s
same 'on two GPUs' "$(tr ' ' '\n' <<<"$(seen slice1 c) $(seen slice2 c)" | sort -u | wc -l)" 2
same 'of which each can open its own' "$(open_to slice1 c)" "$(seen slice1 c)"
chosen=$("$k" get pod slice1 -o 'jsonpath={.metadata.annotations.berth\.dev/gpu-slices}')
same 'the one that the scheduler chose' "nvidia.com/gpu=$(seen slice1 c | sed s/nvidia//)x1" "$chosen"
check 'slices go' 'deleted' "$k" delete pod slice1 slice2 --timeout=60s

# The device plugin as a process of its own.
kill "$agent_pid" 2>/dev/null
wait "$agent_pid" 2>/dev/null
start_plugin() {
  "$berth" device-plugin --platform hgx-a100-4 --kubelet-dir "$work/kubelet" --node worker-1 --cdi-dir "$work/cdi" \
    --nvidia-dev-root "$work/devices" --device-list-strategy envvar,cdi-cri >>"$work/plugin.log" 2>&1 &
  plugin_pid=$!
}
start_agent --device-plugin external
start_plugin
check 'a plugin of its own registers' 'condition met' "$k" wait --for='jsonpath={.status.allocatable.nvidia\.com/gpu}=4' \
  node/worker-1 --timeout=30s
gpu_pod own 3 | "$k" apply -f - >/dev/null
check 'a pod gets GPUs from it' 'condition met' "$k" wait --for=condition=Ready pod/own --timeout=60s
own=$(seen own c)
kill_hard "$plugin_pid"
check 'without it nothing is offered' 'condition met' "$k" wait --for='jsonpath={.status.allocatable.nvidia\.com/gpu}=0' \
  node/worker-1 --timeout=30s
same 'its pod goes on' "$(open_to own c)" "$own"
start_plugin
check 'it comes back' 'condition met' "$k" wait --for='jsonpath={.status.allocatable.nvidia\.com/gpu}=4' node/worker-1 --timeout=30s
gpu_pod last 1 | "$k" apply -f - >/dev/null
check 'and gives what is left' 'condition met' "$k" wait --for=condition=Ready pod/last --timeout=60s
same 'no GPU twice after its kill' "$(tr ' ' '\n' <<<"$own $(seen last c)" | sort -u | wc -l)" 4
check 'pods go' 'deleted' "$k" delete pod own last --timeout=60s

# Without CNI, and not on the machine's network.
kill "$agent_pid" 2>/dev/null
wait "$agent_pid" 2>/dev/null
start_agent --device-plugin external --network-without-cni none
gpu_pod alone 0 | sed 's/, resources.*}}}/}/' | "$k" apply -f - >/dev/null
check 'no network of its own without CNI' 'network is not ready' sh -c \
  "for i in \$(seq 100); do '$k' get events | grep -m1 'network is not ready' && break; sleep 0.3; done"
gpu_pod shares 0 | sed -e 's/, resources.*}}}/}/' -e 's/^spec:/spec:\n  hostNetwork: true/' | "$k" apply -f - >/dev/null
check 'but on the machine'"'"'s' 'condition met' "$k" wait --for=condition=Ready pod/shares --timeout=60s
"$k" delete pod alone shares >/dev/null

# Without CNI, with nothing but a loopback of their own.
restart_agent() {
  kill "$agent_pid" 2>/dev/null
  wait "$agent_pid" 2>/dev/null
  start_agent --device-plugin external "$@"
  check "the agent with $*" 'condition met' "$k" wait --for=condition=Ready node/worker-1 --timeout=30s
}
cni=$work/containerd/cni
restart_agent --network-without-cni loopback
cat >"$work/lonely.yaml" <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: lonely}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: web
    image: local/busybox:1
    command: [sh, -c, 'echo alone >/tmp/index.html; exec busybox httpd -f -p 8080 -h /tmp']
    readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1}
    livenessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
  - name: peer
    image: local/busybox:1
    command: [sleep, '100000']
    env: [{name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
YAML
"$k" apply -f "$work/lonely.yaml" >/dev/null
check 'a pod with a loopback of its own is ready by its probes' 'condition met' "$k" wait --for=condition=Ready pod/lonely --timeout=60s
check 'and has nothing else' '^lo$' sh -c "echo \$('$k' exec lonely -c peer -- sed -n 's/^ *\\([^:]*\\):.*/\\1/p' /proc/net/dev)"
check 'its containers reach each other' '^alone$' "$k" exec lonely -c peer -- sh -c 'wget -q -O - "http://$POD_IP:8080/"'
port=${api##*:}
check 'what listens on the machine' '^there$' sh -c "busybox nc -w 2 127.0.0.1 $port </dev/null && echo there"
refused 'is not reached from inside' 'exit code 1' "$k" exec lonely -c peer -- sh -c "nc -w 2 127.0.0.1 $port </dev/null"
check 'what it uses is told' 'lonely +web +[0-9]+m' "$k" top pod lonely --containers
same 'nobody is told an address' "$("$k" get pod lonely -o 'jsonpath={.status.podIP}')" ''
"$k" port-forward pod/lonely :8080 >"$work/forward" 2>&1 &
forward_pid=$!
check 'a port is forwarded' '^alone$' sh -c "
  for i in \$(seq 50); do
    port=\$(sed -n 's/Forwarding from 127.0.0.1:\([0-9]*\).*/\1/p' '$work/forward')
    [ -n \"\$port\" ] && busybox wget -q -O - \"http://127.0.0.1:\$port/\" && break
    sleep 0.2
  done"
kill "$forward_pid" 2>/dev/null
wait "$forward_pid" 2>/dev/null
lonely=$(running lonely)
kill_hard "$agent_pid"
restart_agent --network-without-cni host
check 'new pods share the machine'"'"'s network again' 'condition met' sh -c "
  $(declare -f gpu_pod)
  gpu_pod together 0 | sed 's/, resources.*}}}/}/' | '$k' apply -f - >/dev/null
  '$k' wait --for=condition=Ready pod/together --timeout=60s"
check 'and reach it' 'there' "$k" exec together -- sh -c "nc -w 2 127.0.0.1 $port </dev/null && echo there"
check 'one with a loopback alone goes on' 'condition met' "$k" wait --for=condition=Ready pod/lonely --timeout=60s
same 'as it was' "$(running lonely)" "$lonely"
same 'with what its end takes' "$(ls "$cni")" "$(printf 'berth-loopback\nloopback\nzz-berth-loopback-worker-1.conflist')"
check 'it ends' 'deleted' "$k" delete pod lonely together --timeout=60s
for _ in $(seq 50); do [ -z "$(ls "$cni")$(ctr -a "$socket" -n k8s.io containers ls -q)" ] && break; sleep 0.1; done # sandboxes outlast objects
same 'and the configuration with it' "$(ls "$cni")" ''
same 'no sandbox is left' "$(ctr -a "$socket" -n k8s.io containers ls -q)" ''
same 'nor a network namespace of one' "$(ls /var/run/netns 2>/dev/null | grep -c ^cni-)" "$namespaces"

# CPUs of a container's own, on a machine that has two.
if [ "$(nproc)" -ge 2 ]; then
  kill "$plugin_pid" "$agent_pid" 2>/dev/null
  wait "$plugin_pid" "$agent_pid" 2>/dev/null
  plugin_pid=
  all=$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)
  first=${all%%[-,]*}
  refused 'a machine without reserved CPUs gives none away' 'the static policy requires systemreserved.cpu' \
    timeout 20 "$berth" agent --hostname-override worker-1 --container-runtime-endpoint "unix://$socket" --root-dir "$work/kubelet" \
    --pod-logs-dir "$work/pod-logs" --listen 127.0.0.1:0 --cpu-manager-policy static
  start_agent --cpu-manager-policy static --memory-manager-policy Static --topology-manager-policy restricted --reserved-cpus "$first"
  cpus_of() { "$k" exec "$1" -- sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status; }
  pinned_pod() { # pinned_pod NAME RESOURCES
    cat <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: local/busybox:1, command: [sleep, '100000'], resources: {$2}}]
YAML
  }
  pinned_pod shared '' | "$k" apply -f - >/dev/null
  check 'a pod that shares CPUs' 'condition met' "$k" wait --for=condition=Ready pod/shared --timeout=60s
  same 'runs on all of them' "$(cpus_of shared)" "$all"
  pinned_pod own 'limits: {cpu: 1, memory: 64Mi}' | "$k" apply -f - >/dev/null
  check 'a pod that asks for a whole CPU' 'condition met' "$k" wait --for=condition=Ready pod/own --timeout=60s
  check 'has one of its own' '^[0-9]+$' cpus_of own
  check 'the other makes room while it runs' 'moved' sh -c "
    for i in \$(seq 50); do
      '$k' exec shared -- sed -n 's/^Cpus_allowed_list:.//p' /proc/1/status | grep -qxF '$all' || { echo moved; break; }; sleep 0.2; done"
  if [ "$(cpus_of own)" = "$(cpus_of shared)" ]; then
    echo "FAIL  both run on $(cpus_of own)"
    failed=1
  fi
  check 'and is deleted' 'deleted' "$k" delete pod own --timeout=60s
  check 'its CPU is shared again' 'back' sh -c "
    for i in \$(seq 50); do
      '$k' exec shared -- sed -n 's/^Cpus_allowed_list:.//p' /proc/1/status | grep -qxF '$all' && { echo back; break; }; sleep 0.2; done"
  check 'a pod with more than there is, is turned away' 'OutOfcpu' sh -c "
    $(declare -f pinned_pod)
    pinned_pod big 'limits: {cpu: 64, memory: 64Mi}' | sed 's/^spec:/spec:\n  nodeName: worker-1/' | '$k' apply -f - >/dev/null
    for i in \$(seq 50); do '$k' get pod big -o 'jsonpath={.status.reason}' | grep OutOfcpu && break; sleep 0.2; done"
  check 'they go' 'deleted' "$k" delete pod shared big --timeout=60s
fi
for _ in $(seq 50); do [ -z "$(ctr -a "$socket" -n k8s.io containers ls -q)" ] && break; sleep 0.1; done # sandboxes outlast objects
same 'nothing is left in containerd' "$(ctr -a "$socket" -n k8s.io containers ls -q)" ''

if [ "$failed" -ne 0 ]; then
  echo "---- agent"
  tail -20 "$work/agent.log"
  [ ! -f "$work/plugin.log" ] || tail -20 "$work/plugin.log"
fi
exit "$failed"
