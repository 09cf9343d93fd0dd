// Applies every manifest of a folder with kubectl and compares what comes back with what went in.
//   node inputs.mjs KUBECTL DIR
// A manifest that the API refuses for what it says is listed; exit 1 when a step fails that should not.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

const [kubectl, dir] = process.argv.slice(2);

const run = (args, input) => {
  const { status, stdout, stderr } = spawnSync(kubectl, args, { input, encoding: "utf8", maxBuffer: 1 << 28 });
  return { ok: status === 0, out: stdout, err: stderr.trim() };
};

const files = (folder) =>
  readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? files(join(folder, entry.name)) : [join(folder, entry.name)]))
    .filter((file) => /\.ya?ml$/.test(file))
    .sort();

// Quantities, durations and times may come back in their normal form; those are compared as kubectl diff does: by the API.
const isScalarForm = (given, got) => typeof given !== "object" && typeof got !== "object" && given !== undefined && got !== undefined;

// The first path where `got` lacks what `given` has; "" when there is none.
const lost = (given, got, path) => {
  if (given === null) return "";
  if (Array.isArray(given)) {
    if (!Array.isArray(got) || got.length < given.length) return given.length === 0 ? "" : path;
    for (const [i, item] of given.entries()) {
      const where = lost(item, got[i], `${path}[${i}]`);
      if (where !== "") return where;
    }
    return "";
  }
  if (typeof given === "object") {
    for (const [key, value] of Object.entries(given)) {
      const nothing = value === null || value === "" || value === 0 || value === false ||
        (typeof value === "object" && Object.keys(value).length === 0);
      if (got === undefined || got === null || !(key in got)) {
        if (nothing) continue;
        return `${path}.${key}`;
      }
      const where = lost(value, got[key], `${path}.${key}`);
      if (where !== "") return where;
    }
    return "";
  }
  if (given === got || isScalarForm(given, got)) return "";
  return path;
};

const items = (text) => {
  const document = JSON.parse(text);
  return document.kind === "List" ? document.items : [document];
};

// kubectl prints one JSON document an object, one after the other.
const documents = (text) =>
  text
    .split(/^(?=\{$)/m)
    .filter((part) => part.trim() !== "")
    .flatMap(items);

let applied = 0;
let failures = 0;
const refused = [];
const fail = (file, step, text) => {
  failures += 1;
  console.log(`FAIL  ${file}: ${step}: ${text.split("\n").slice(0, 4).join("\n        ")}`);
};

const namespaces = new Set(["default"]);
const make_namespace = (name) => {
  if (name && !namespaces.has(name)) {
    namespaces.add(name);
    run(["create", "namespace", name]);
  }
};

const definitions = join(dir, "crds");
if (existsSync(definitions)) {
  for (const file of files(definitions)) {
    const made = run(["apply", "--server-side", "--force-conflicts", "-f", file]);
    // Another project's definition of the same name, with other versions, cannot replace what objects are stored in.
    if (!made.ok && made.err.includes("status.storedVersions")) refused.push(`${relative(dir, file)}: ${made.err.split("\n")[0]}`);
    else if (!made.ok) fail(relative(dir, file), "CRD", made.err);
  }
  const established = run(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
  if (!established.ok) fail("crds", "wait", established.err);
}

for (const file of files(dir).filter((name) => !name.startsWith(definitions))) {
  const name = relative(dir, file);
  const text = readFileSync(file, "utf8");
  if (!/^apiVersion:/m.test(text) || !/^kind:/m.test(text)) continue;
  const read = run(["create", "--dry-run=client", "--validate=false", "-o", "json", "-f", file]);
  if (!read.ok) {
    refused.push(`${name}: ${read.err.split("\n")[0]}`);
    continue;
  }
  const given = documents(read.out);
  if (given.some((object) => !object.metadata?.name)) {
    const made = run(["create", "-f", file]);
    made.ok ? (applied += 1) : refused.push(`${name}: ${made.err.split("\n")[0]}`);
    continue;
  }
  given.forEach((object) => make_namespace(object.metadata.namespace));
  const first = run(["apply", "-f", file]);
  if (!first.ok) {
    refused.push(`${name}: ${first.err.split("\n").filter((line) => !line.startsWith("Warning")).slice(0, 3).join(" | ")}`);
    run(["delete", "--wait=false", "--ignore-not-found", "-f", file]);
    continue;
  }
  applied += 1;
  const again = run(["diff", "-f", file]);
  if (!again.ok) fail(name, "diff after apply", again.out + again.err);
  const server_side = run(["apply", "--server-side", "--force-conflicts", "-f", file]);
  if (!server_side.ok) fail(name, "server-side apply", server_side.err);
  const back = run(["get", "-o", "json", "-f", file]);
  if (!back.ok) fail(name, "get", back.err);
  else {
    const got = items(back.out);
    for (const [i, object] of given.entries()) {
      delete object.metadata.annotations?.["kubectl.kubernetes.io/last-applied-configuration"];
      delete object.status;
      const where = lost(object, got[i], "");
      if (where !== "") fail(name, "round trip", `${object.kind} ${object.metadata.name}${where} did not come back`);
    }
  }
  const gone = run(["delete", "--ignore-not-found", "--timeout=20s", "-f", file]);
  if (!gone.ok) fail(name, "delete", gone.err);
}

for (const line of refused) console.log(`refused  ${line}`);
console.log(`${applied} files applied, ${refused.length} refused, ${failures} failures`);
process.exit(failures === 0 && applied > 0 ? 0 : 1);
