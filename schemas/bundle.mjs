// Turns the models of @kubernetes/client-node and our tables into one JSON text, which is compiled into the program.
// usage: node bundle.mjs OUT.json
//
//   packages.json   which Go package a model belongs to (class names hide it), and its group and version
//   facts.json      type -> field -> what the models do not say, in words (see below)
//   resources.json  what is served: kinds, plurals, verbs, subresources, in the order of discovery
//   wire.json       the numbers of fields in protobuf bodies, as the descriptors in kubectl 1.34 have them:
//                   "NUMBER NAME TYPE, ..."; s text, B bytes, i integer, b boolean, d double, else a message's name;
//                   * before a type: repeated; %: a map of text to it
//
// Words of facts.json; "" instead of a field speaks of the type itself:
//   map(a,b) set                x-kubernetes-list-type and its keys; lists are atomic otherwise
//   merge merge(key) retainKeys x-kubernetes-patch-strategy and patch-merge-key
//   atomic granular             x-kubernetes-map-type
//   quantity                    the text is a resource.Quantity, or each of them is
//   default("TCP")              OpenAPI's default
//   go(v1.Protocol)             the Go type of a text or a map; of the elements of a list
//   named(io.k8s...)            the type's name where the model has `any`
//   pointer                     a Go pointer: 0, "" and false are kept as given
//   zero emit                   written even when empty: 0, "", {}
//   null                        written as null when absent
//   omitempty                   required, and left out when empty
//
// The bundle: {"version", "packages": {name: [group, version]}, "resources", "wire", "types": {name: [description, words, [[field, words, spec, description], ...]]}}.
// Words of a field: "r" required, then what becomes of an empty value: k kept, d dropped, z zero, n null.
// A spec is a form and words: "[]#io.k8s.api.core.v1.Container map(name) merge(name)"; "{}" is a map, "#" a type's name.
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const models = path.join(here, 'node_modules/@kubernetes/client-node/dist/gen/models');
const read = name => JSON.parse(fs.readFileSync(path.join(here, name), 'utf8'));

function die(message) {
  console.error(`error: ${message}`);
  process.exit(1);
}

if (!fs.existsSync(models)) die('schemas/node_modules has no @kubernetes/client-node; try ./dev setup');

const packages = read('packages.json');
const facts = read('facts.json');
const classes = new Map(); // "V1Pod" -> "io.k8s.api.core.v1.Pod"
for (const [name, {models: lines}] of Object.entries(packages)) {
  for (const word of lines.join(' ').split(' ')) {
    classes.set(/V\d/.test(word) ? word : `V1${word}`, `${name}.${word.replace(/^.*V\d/, '')}`);
  }
}

const scalars = {
  'string/': 'string', 'string/byte': 'string/byte', 'Date/date-time': '#io.k8s.apimachinery.pkg.apis.meta.v1.Time',
  'V1MicroTime/date-time-micro': '#io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime', 'boolean/': 'boolean', 'any/': 'any',
  'number/int32': 'int32', 'number/int64': 'int64', 'number/double': 'double',
  'IntOrString/int-or-string': '#io.k8s.apimachinery.pkg.util.intstr.IntOrString',
};

function spec(type, format, owner) {
  const list = /^Array<(.*)>$/.exec(type);
  if (list) return '[]' + spec(list[1], format, owner);
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type);
  if (map) return '{}' + spec(map[1], format, owner);
  const scalar = scalars[`${type}/${format}`];
  if (scalar) return scalar;
  if (!classes.has(type)) die(`${owner}: type ${type} (format "${format}") is in no package of packages.json`);
  return '#' + classes.get(type);
}

const plain = text => text.replace(/\\(['"\\])/g, '$1').replace(/\s*\n\s*/g, ' ').trim();

// Field name -> {optional, description}, and the class's own description.
function declarations(name) {
  const text = fs.readFileSync(path.join(models, `${name}.d.ts`), 'utf8');
  const about = /\/\*\*\n((?:(?!\*\/)[\s\S])*)\*\/\nexport declare class/.exec(text)?.[1] ?? '';
  const fields = new Map();
  for (const [, comment, field, optional] of text.matchAll(
    /(?:\/\*\*\n((?:(?!\*\/)[\s\S])*)\*\/\n\s*)?'([^'\n]+)'(\??): /g)) {
    fields.set(field, {optional: optional === '?', description: plain((comment ?? '').replace(/^\s*\* ?/gm, ''))});
  }
  return {description: plain(about.replace(/^\* ?/gm, '')), fields};
}

const kScalar = /^(string|boolean|int|double)/;
const kTypeWords = ['quantity', 'pointer', 'zero', 'emit', 'null', 'omitempty'];

function when_empty(form, required, words, field) {
  if (words.includes('pointer')) return 'k';
  if (words.includes('null')) return 'n';
  if (words.includes('omitempty')) return 'd';
  if (words.includes('zero') || words.includes('emit')) return 'z';
  const container = form.startsWith('[]') || form.startsWith('{}');
  if (required) return container || /Time$|^any/.test(form) ? 'n' : 'z';
  if (field === 'metadata') return 'z';
  return container || kScalar.test(form) ? 'd' : 'k';
}

async function type_of(name, full) {
  const module = await import(pathToFileURL(path.join(models, `${name}.js`)));
  const {description, fields} = declarations(name);
  const [, owner, short] = /^(.*)\.(\w+)$/.exec(full);
  const known = {...facts[owner]?.[short]};
  const out = [];
  for (const {name: js, baseName, type, format} of module[name].attributeTypeMap) {
    const declared = fields.get(js) ?? die(`${name}.d.ts does not declare ${js}`);
    const words = (known[baseName] ?? '').split(' ').filter(Boolean);
    delete known[baseName];
    let form = spec(type, format, `${full}.${baseName}`);
    if (words.includes('quantity')) form = form.replace('string', '#io.k8s.apimachinery.pkg.api.resource.Quantity');
    const named = words.find(w => w.startsWith('named('));
    if (named) form = form.replace('any', '#' + named.slice(6, -1));
    const said = words.filter(w => !kTypeWords.includes(w) && w !== named);
    out.push([baseName, (declared.optional ? '' : 'r') + when_empty(form, !declared.optional, words, baseName),
      [form, ...said].join(' '), declared.description]);
  }
  const own = known[''] ?? '';
  delete known[''];
  for (const field of Object.keys(known)) die(`facts.json: ${full} has no field "${field}"`);
  return [description, own, out.sort((a, b) => (a[0] < b[0] ? -1 : 1))];
}

const types = {};
for (const [name, full] of [...classes].sort((a, b) => (a[1] < b[1] ? -1 : 1))) {
  if (!fs.existsSync(path.join(models, `${name}.js`))) die(`packages.json: the package has no model ${name}`);
  types[full] = await type_of(name, full);
}
for (const [owner, of] of Object.entries(facts)) {
  for (const short of Object.keys(of)) {
    if (!types[`${owner}.${short}`]) die(`facts.json: ${owner}.${short} is in no package of packages.json`);
  }
}

const kubernetes = /spec version: v?(?:release-)?([\d.]+)/.exec(fs.readFileSync(path.join(models, 'V1Pod.js'), 'utf8'))[1];
const groups = Object.fromEntries(Object.entries(packages).map(([name, {group, version}]) => [name, [group, version]]));
const bundle = {version: kubernetes, packages: groups, resources: read('resources.json'), types, wire: read('wire.json')};
if (!process.argv[2]) die('usage: node bundle.mjs OUT.json');
fs.writeFileSync(process.argv[2], JSON.stringify(bundle));
