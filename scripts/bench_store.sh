#!/usr/bin/env bash
# How fast objects are created, in one run and on one disk: etcd's own puts, Berth over etcd, Berth over its journal. Each with
# one client that waits for every answer, and with eight.
# usage: scripts/bench_store.sh [N]   (N creates each; default 2000)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

berth=$PWD/build/release/berth
for tool in etcd node; do
  command -v "$tool" >/dev/null || { echo "error: $tool is not at hand; try ./dev setup test" >&2; exit 1; }
done
count=${1:-2000}
base=${BERTH_BENCH_PORT:-17230}
work=$(mktemp -d)
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
etcd_url=http://127.0.0.1:$base

etcd --data-dir "$work/etcd" --listen-client-urls "$etcd_url" --advertise-client-urls "$etcd_url" \
  --listen-peer-urls "http://127.0.0.1:$((base + 1))" --initial-advertise-peer-urls "http://127.0.0.1:$((base + 1))" \
  --initial-cluster "default=http://127.0.0.1:$((base + 1))" >"$work/etcd.log" 2>&1 &
pids+=($!)
for _ in $(seq 100); do
  curl -sf "$etcd_url/health" >/dev/null && break
  sleep 0.1
done

serve() { # serve NAME PORT FLAGS...
  BERTH_HOME=$work/$1 "$berth" apiserver --port "$2" "${@:3}" >"$work/$1.log" 2>&1 &
  pids+=($!)
  for _ in $(seq 100); do
    grep -q ready "$work/$1.log" && return 0
    sleep 0.1
  done
  cat "$work/$1.log" >&2
  exit 1
}
serve etcd-store $((base + 2)) --store etcd --etcd-endpoints "$etcd_url"
serve journal $((base + 3))

cat >"$work/bench.mjs" <<'JS'
import { Agent, request } from 'node:https';
import * as http from 'node:http';
import { readFileSync } from 'node:fs';

const [count, work, etcd, overEtcd, overJournal] = process.argv.slice(2);
const filler = 'x'.repeat(1000);

function sender(send, agent, options) {
  return (path, body) => new Promise((done, failed) => {
    const asked = send({ ...options, agent, path, method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) } }, (answer) => {
      answer.resume();
      answer.on('end', () => answer.statusCode < 300 ? done() : failed(new Error(`${path}: ${answer.statusCode}`)));
    });
    asked.on('error', failed);
    asked.end(body);
  });
}
const berth = (home, port) => {
  const pki = (name) => readFileSync(`${work}/${home}/pki/${name}`);
  const agent = new Agent({ keepAlive: true, maxSockets: 64, ca: pki('ca.crt'), cert: pki('admin.crt'), key: pki('admin.key') });
  const send = sender(request, agent, { host: '127.0.0.1', port });
  return (name) => send('/api/v1/namespaces/default/configmaps',
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { filler } }));
};
const puts = (() => {
  const send = sender(http.request, new http.Agent({ keepAlive: true, maxSockets: 64 }), { host: '127.0.0.1', port: etcd });
  const base64 = (text) => Buffer.from(text).toString('base64');
  return (name) => send('/v3/kv/put', JSON.stringify({ key: base64(`/bench/${name}`), value: base64(filler + filler.slice(0, 400)) }));
})();

async function measure(title, create, clients) {
  let next = 0;
  const client = async () => {
    while (next < count) await create(`${clients}-${next++}`);
  };
  await create(`${clients}-first`);
  const begin = process.hrtime.bigint();
  await Promise.all(Array.from({ length: clients }, client));
  const seconds = Number(process.hrtime.bigint() - begin) / 1e9;
  console.log(`${title.padEnd(28)}${String(clients).padStart(2)} clients ${(count / seconds).toFixed(0).padStart(7)}/s`);
}
for (const clients of [1, 8]) {
  await measure("etcd's own puts (JSON)", puts, clients);
  await measure('berth over etcd', berth('etcd-store', overEtcd), clients);
  await measure('berth over its journal', berth('journal', overJournal), clients);
}
JS
node "$work/bench.mjs" "$count" "$work" "$base" $((base + 2)) $((base + 3))
