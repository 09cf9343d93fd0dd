// What operators and dashboards written in JavaScript do, with the client library as it comes. One line a check; exit 1 when one
// fails. KUBECONFIG names the cluster.
import { createRequire } from "node:module";
import { setTimeout as pause } from "node:timers/promises";
import assert from "node:assert/strict";

const require = createRequire(new URL("../../../schemas/package.json", import.meta.url));
const k8s = require("@kubernetes/client-node");

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const leases = config.makeApiClient(k8s.CoordinationV1Api);
const objects = k8s.KubernetesObjectApi.makeApiClient(config);

let failed = false;
const check = async (what, body) => {
  try {
    await body();
    console.log(`ok    ${what}`);
  } catch (error) {
    failed = true;
    console.log(`FAIL  ${what}: ${error.message ?? error}`);
  }
};

// Asks again until `holds`, for half a minute at most.
const eventually = async (what, holds) => {
  for (let i = 0; i < 300; ++i) {
    if (await holds()) return;
    await pause(100);
  }
  throw new Error(`never came true: ${what}`);
};

const refusal = async (call) => {
  try {
    await call();
  } catch (error) {
    return { code: error.code, status: JSON.parse(error.body) };
  }
  throw new Error("was not refused");
};

const namespace = "javascript";
const pod = (name, gpus, annotations = {}) => ({
  metadata: { name, labels: { app: "train" }, annotations },
  spec: {
    restartPolicy: "Never",
    containers: [{ name: "main", image: "registry.example/train:1", resources: { limits: { "nvidia.com/gpu": `${gpus}` } } }],
  },
});

await check("lists nodes with their GPUs", async () => {
  const { items } = await core.listNode();
  assert.deepEqual(items.map((node) => node.status.capacity["nvidia.com/gpu"]), ["8", "8"]);
});
await check("creates a namespace", () => core.createNamespace({ body: { metadata: { name: namespace } } }));

const seen = { add: [], update: [], delete: [] };
const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/pods`, () => core.listNamespacedPod({ namespace }));
await check("an informer follows pods to their end", async () => {
  informer.on("add", (object) => seen.add.push(object.metadata.name));
  informer.on("update", (object) => seen.update.push(`${object.metadata.name} ${object.status.phase}`));
  informer.on("delete", (object) => seen.delete.push(object.metadata.name));
  await core.createNamespacedPod({ namespace, body: pod("early", 1) });
  await informer.start();
  await core.createNamespacedPod({ namespace, body: pod("late", 8, { "berth.dev/run-for": "1s" }) });
  await eventually("late succeeds", () => seen.update.includes("late Succeeded"));
  await core.deleteNamespacedPod({ name: "early", namespace });
  await eventually("early is gone", () => seen.delete.includes("early"));
  assert.deepEqual([...new Set(seen.add)], ["early", "late"]);
  assert.ok(informer.get("late", namespace));
});

const patched = async (strategy, body) => {
  const after = await core.patchNamespacedPod(
    { name: "late", namespace, body, fieldManager: "e2e", force: strategy === k8s.PatchStrategy.ServerSideApply ? true : undefined },
    k8s.setHeaderOptions("Content-Type", strategy),
  );
  return after.metadata;
};
await check("a strategic merge patch", async () => {
  const { labels } = await patched(k8s.PatchStrategy.StrategicMergePatch, { metadata: { labels: { tier: "gpu" } } });
  assert.deepEqual(labels, { app: "train", tier: "gpu" });
});
await check("a merge patch", async () => {
  const { labels } = await patched(k8s.PatchStrategy.MergePatch, { metadata: { labels: { tier: null } } });
  assert.deepEqual(labels, { app: "train" });
});
await check("a JSON patch", async () => {
  const { labels } = await patched(k8s.PatchStrategy.JsonPatch, [{ op: "add", path: "/metadata/labels/tier", value: "cpu" }]);
  assert.equal(labels.tier, "cpu");
});
await check("server-side apply", async () => {
  const { labels } = await patched(k8s.PatchStrategy.ServerSideApply, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "late", labels: { owner: "e2e" } },
  });
  assert.equal(labels.owner, "e2e");
});
await check("objects of any kind", async () => {
  const spec = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "any", namespace }, data: { a: "b" } };
  await objects.create(spec);
  await objects.patch({ ...spec, data: { a: "c" } });
  assert.equal((await objects.read(spec)).data.a, "c");
  await objects.delete(spec);
  const { code, status } = await refusal(() => objects.read(spec));
  assert.deepEqual([code, status.reason], [404, "NotFound"]);
});
await check("a refusal says why", async () => {
  const { code, status } = await refusal(() => core.createNamespacedPod({ namespace, body: pod("Bad_Name", 1) }));
  assert.deepEqual([code, status.reason], [422, "Invalid"]);
  assert.equal(status.details.causes[0].field, "metadata.name");
});
await check("events tell of the schedule", async () => {
  const { items } = await core.listNamespacedEvent({ namespace, fieldSelector: "involvedObject.name=late,reason=Scheduled" });
  assert.equal(items.length, 1);
});

// Two candidates stand for one lease: whoever writes first has it, the other is told of the conflict.
await check("of two candidates one leads, and the other follows when it stops", async () => {
  const lease = { metadata: { name: "operator", namespace }, spec: { holderIdentity: "", leaseDurationSeconds: 15 } };
  await leases.createNamespacedLease({ namespace, body: lease });
  const take = async (identity, free) => {
    const current = await leases.readNamespacedLease({ name: "operator", namespace });
    if (current.spec.holderIdentity !== free) return false;
    current.spec.holderIdentity = identity;
    current.spec.renewTime = new k8s.V1MicroTime();
    await leases.replaceNamespacedLease({ name: "operator", namespace, body: current });
    return true;
  };
  const outcomes = await Promise.allSettled([take("a", ""), take("b", "")]);
  const won = outcomes.filter((outcome) => outcome.status === "fulfilled" && outcome.value);
  assert.equal(won.length, 1);
  for (const { status, reason } of outcomes) {
    if (status === "rejected") assert.equal(reason.code, 409);
  }
  const leader = (await leases.readNamespacedLease({ name: "operator", namespace })).spec.holderIdentity;
  assert.equal(await take(leader === "a" ? "b" : "a", leader), true);
});

await informer.stop();
process.exit(failed ? 1 : 0);
