#!/usr/bin/env bash
# Three replicas of `berth up` over one etcd under load; the leader is killed without warning. Another takes over within the
# lease's time, no acknowledged write is lost, no pod is bound twice. Prints one line a check; exit 0 when all hold, and
# SKIPPED with the reason when the tools cannot be had here.
. "$(dirname "${BASH_SOURCE[0]}")/lib/cluster.sh"
for tool in etcd curl node; do
  command -v "$tool" >/dev/null || { echo "SKIPPED: $tool is not at hand"; exit 0; }
done

lease_seconds=15 # and the seconds that a look at it, a new cluster and its first binding may take
patience=$((lease_seconds + 15))
base=${BERTH_E2E_PORT:-17210}
etcd_url=http://127.0.0.1:$base
pids=()

stop_all() {
  kill -9 "${pids[@]}" 2>/dev/null
  wait 2>/dev/null
  rm -rf "$work"
}
trap stop_all EXIT

etcd --data-dir "$work/etcd" --listen-client-urls "$etcd_url" --advertise-client-urls "$etcd_url" \
  --listen-peer-urls "http://127.0.0.1:$((base + 1))" --initial-advertise-peer-urls "http://127.0.0.1:$((base + 1))" \
  --initial-cluster "default=http://127.0.0.1:$((base + 1))" >"$work/etcd.log" 2>&1 &
pids+=($!)

# within SECONDS COMMAND...: it succeeds within that time.
within() {
  local until=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $until ] || return 1
    sleep 0.2
  done
}

# api REPLICA METHOD PATH [BODY]: the answer's status, a line break, its body.
api() {
  local home=$work/replica$1
  curl -sS --max-time 10 --cacert "$home/pki/ca.crt" --cert "$home/pki/admin.crt" --key "$home/pki/admin.key" -X "$2" \
    -H 'Content-Type: application/json' ${4:+--data-binary "$4"} -w '\n%{http_code}' "https://127.0.0.1:$((base + 10 + $1))$3"
}
status_of() { api "$@" | tail -1; }
answers() { [ "$(status_of "$1" GET /readyz)" = 200 ]; }

leader_pid() { # as replica $1 sees it
  api "$1" GET /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berth | head -n -1 |
    node -p 'JSON.parse(require("fs").readFileSync(0)).spec.holderIdentity.replace(/.*_/, "")'
}
# count REPLICA EXPRESSION: of the pods p whose EXPRESSION holds.
count() {
  api "$1" GET /api/v1/namespaces/default/pods | head -n -1 |
    node -p "JSON.parse(require('fs').readFileSync(0)).items.filter(p => $2).length"
}
at_least() { [ "$(count "$1" "$2")" -ge "$3" ]; }

check 'etcd is well' '' within 20 curl -sf "$etcd_url/health"
for i in 1 2 3; do
  BERTH_HOME=$work/replica$i "$berth" up --foreground --port $((base + 10 + i)) --store etcd --etcd-endpoints "$etcd_url" \
    --nodes dgx-h100:4 --default-run-for forever >"$work/replica$i.log" 2>&1 &
  pids+=($!)
  replica[i]=$!
done
for i in 1 2 3; do check "replica $i answers" '' within 30 answers "$i"; done
led_by() { [ -n "$(leader_pid "$1")" ]; }
check 'one leads' '' within 30 led_by 1

pod() {
  printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s"},"spec":{"containers":[{"name":"c","image":"x","resources":{"limits":{"nvidia.com/gpu":"%s"}}}]}}' "$1" "$2"
}

# Everybody writes to every replica; what was answered with 201 is noted.
writer() { # writer REPLICA COUNT
  local n
  for ((n = 0; n < $2; n++)); do
    [ "$(status_of "$1" POST /api/v1/namespaces/default/pods "$(pod "p$1-$n" 0)" 2>/dev/null)" = 201 ] && echo "p$1-$n" >>"$work/acknowledged$1"
  done
}

# What bindings anybody ever saw: a watch by way of each replica.
watcher() { # watcher REPLICA
  local home=$work/replica$1
  curl -sSN --cacert "$home/pki/ca.crt" --cert "$home/pki/admin.crt" --key "$home/pki/admin.key" \
    "https://127.0.0.1:$((base + 10 + $1))/api/v1/namespaces/default/pods?watch=1&resourceVersion=0" >>"$work/watched$1" 2>/dev/null
}
leader=$(leader_pid 1)
others=()
for i in 1 2 3; do
  if [ "${replica[i]}" = "$leader" ]; then led=$i; else others+=("$i"); fi
done
echo "      replica $led leads as process $leader"
for i in "${others[@]}"; do
  watcher "$i" &
  pids+=($!)
done
for i in 1 2 3; do
  writer "$i" 60 &
  writers[i]=$!
done
bound_some() { at_least "${others[0]}" 'p.spec.nodeName' 20; }
check 'pods are bound' '' within 60 bound_some

kill -9 "$leader"
killed=$SECONDS
taken_over() {
  local now
  now=$(leader_pid "${others[0]}") && [ -n "$now" ] && [ "$now" != "$leader" ]
}
check "another leads within ${patience}s of a kill" '' within "$patience" taken_over
echo "      after $((SECONDS - killed))s"
wait "${writers[@]}"
check 'a pod for eight GPUs is accepted' '^201$' status_of "${others[0]}" POST /api/v1/namespaces/default/pods "$(pod after 8)"
echo after >>"$work/acknowledged${others[0]}"
runs() { at_least "${others[0]}" 'p.metadata.name == "after" && p.status.phase == "Running"' 1; }
check 'it schedules and runs what comes' '' within "$patience" runs
all_bound() { [ "$(count "${others[0]}" '!p.spec.nodeName')" = 0 ]; }
check 'everything is bound' '' within 60 all_bound


# Whoever leads has the simulated nodes; the others pass on what is written to them, and say whom to ask for the rest.
leader=$(leader_pid "${others[0]}")
for i in "${others[@]}"; do
  if [ "${replica[i]}" = "$leader" ]; then led=$i; else follows=$i; fi
done
log=/api/v1/namespaces/default/pods/after/log
check 'the new leader tells what a container prints' 'started container c' api "$led" GET $log
check 'the other one says whom to ask' 'simulated by the replica that leads' api "$follows" GET $log
check 'the new leader has its scheduler'"'"'s metrics' 'scheduler_pending_pods' api "$led" GET /metrics
check 'a fault is told to the other one' '' env BERTH_HOME="$work/replica$follows" "$berth" chaos gpu dgx-h100-4 0 --xid 79
lacks_a_gpu() {
  [ "$(api "$follows" GET /api/v1/nodes/dgx-h100-4 | head -n -1 |
    node -p 'JSON.parse(require("fs").readFileSync(0)).status.allocatable["nvidia.com/gpu"]')" = 7 ]
}
check 'and made true by the leader' '' within 20 lacks_a_gpu

sort -u "$work"/acknowledged? >"$work/acknowledged"
for i in "${others[@]}"; do
  api "$i" GET /api/v1/namespaces/default/pods | head -n -1 |
    node -p 'JSON.parse(require("fs").readFileSync(0)).items.map(p => p.metadata.name).join("\n")' | sort >"$work/there"
  check "no acknowledged write is lost (of $(wc -l <"$work/acknowledged"), by replica $i)" '^$' comm -23 "$work/acknowledged" "$work/there"
done
cat >"$work/twice.mjs" <<'JS'
// Names the pods that were seen on two nodes.
import { readFileSync } from 'node:fs';
const nodes = new Map();
for (const file of process.argv.slice(2)) {
  for (const line of readFileSync(file, 'utf8').split('\n').filter((text) => text.endsWith('}'))) {
    const { object } = JSON.parse(line);
    if (!object?.spec?.nodeName) continue;
    const seen = nodes.get(object.metadata.uid) ?? nodes.set(object.metadata.uid, new Set()).get(object.metadata.uid);
    seen.add(object.spec.nodeName);
    if (seen.size > 1) console.log(object.metadata.name, [...seen].join(' '));
  }
}
console.error(`${nodes.size} bound pods were seen`);
JS
check 'no pod is bound twice' '^[0-9]+ bound pods were seen$' node "$work/twice.mjs" "$work/watched${others[0]}" "$work/watched${others[1]}"
twice=$(node "$work/twice.mjs" "$work/watched${others[0]}" "$work/watched${others[1]}" 2>/dev/null)
check 'and none is named' '^$' printf '%s' "$twice"
[ $failed = 0 ] || tail -n 5 "$work"/replica?.log
exit $failed
