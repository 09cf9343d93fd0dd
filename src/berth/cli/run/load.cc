#include "berth/cli/run/load.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/kinds.h"
#include "berth/cli/run/manifest_files.h"
#include "berth/cli/run/remarks.h"
#include "berth/cli/run/scheduler_file.h"
#include "berth/cli/run/topology_files.h"
#include "berth/report/text.h"

namespace berth::cli {
namespace {

namespace json = api::json;

bool is_node(const api::Manifest& manifest) {
  return manifest.object.gvk().group.empty() && manifest.object.gvk().kind == "Node";
}

std::string key_of(const api::Object& object) {
  const api::GroupVersionKind& gvk = object.gvk();
  return fmt::format("{}/{} {}", gvk.group, gvk.kind, object.key().to_string());
}

// What only a server sets. Owners go with the uids they name, which do not exist here; without this
// the garbage collector would rightly delete the object.
api::Object as_submitted(const api::Object& object, const std::string& default_ns) {
  const bool wants_ns =
      api::scope_of(object.gvk()) == api::Scope::Namespaced && object.meta().ns.empty();
  const bool dumped = !object.meta().uid.empty() || object.meta().resource_version != 0;
  if (!wants_ns && !dumped) {
    return object;
  }
  return object.edit([&](json::object& document) {
    json::object& meta = document["metadata"].as_object();
    if (wants_ns) {
      meta["namespace"] = default_ns;
    }
    if (dumped) {
      for (const char* field :
           {"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
            "deletionGracePeriodSeconds", "ownerReferences", "managedFields", "selfLink"}) {
        if (const auto it = meta.find(field); it != meta.end()) {
          meta.stable_erase(it);
        }
      }
      if (const auto it = document.find("status"); it != document.end()) {
        document.stable_erase(it);
      }
    }
  });
}

/// Objects by name, so that the same object in two files is noticed.
class Gathered {
 public:
  void add(api::Manifest manifest, const std::string& default_ns, Load& load) {
    manifest.object = as_submitted(manifest.object, default_ns);
    if (manifest.object.meta().name.empty()) { // generateName: each one is an object of its own
      load.objects.push_back(std::move(manifest));
      return;
    }
    const auto [it, is_new] = seen_.try_emplace(key_of(manifest.object), manifest);
    if (is_new) {
      load.objects.push_back(std::move(manifest));
      return;
    }
    if (it->second.object.bytes() != manifest.object.bytes()) {
      load.errors.push_back(
          {.code = Code::AlreadyExists,
           .message = fmt::format("{} {} is defined differently at {}", manifest.object.gvk().kind,
                                  manifest.object.key().to_string(), to_string(it->second.where)),
           .where = manifest.where});
    }
  }

 private:
  std::map<std::string, api::Manifest> seen_;
};

constexpr std::string_view kSystemNamespaces[] = {"default", "kube-node-lease", "kube-public",
                                                  "kube-system"};

// A real server refuses objects of a namespace that does not exist; here that would only be in the
// way.
void add_namespaces(Load& load) {
  std::set<std::string> wanted;
  std::set<std::string> defined(std::begin(kSystemNamespaces), std::end(kSystemNamespaces));
  for (const api::Manifest& manifest : load.objects) {
    if (manifest.object.gvk().group.empty() && manifest.object.gvk().kind == "Namespace") {
      defined.insert(manifest.object.meta().name);
    } else if (!manifest.object.meta().ns.empty()) {
      wanted.insert(manifest.object.meta().ns);
    }
  }
  std::vector<std::string> added;
  std::ranges::set_difference(wanted, defined, std::back_inserter(added));
  std::vector<api::Manifest> front;
  for (const std::string& name : added) {
    auto object = api::Object::from_json(
        {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::object{{"name", name}}}});
    if (object) { // a name that is no namespace name is the server's to refuse
      front.push_back({.object = *std::move(object), .where = {}});
    }
  }
  if (!added.empty()) {
    load.notes.push_back({.message = fmt::format("made {} that no manifest defines: {}",
                                                 added.size() == 1 ? "the namespace" : "namespaces",
                                                 fmt::join(added, ", "))});
  }
  std::ranges::move(load.objects, std::back_inserter(front));
  load.objects = std::move(front);
}

void join(cluster::ClusterSpec& spec, cluster::ClusterSpec more) {
  std::ranges::move(more.groups, std::back_inserter(spec.groups));
  std::ranges::move(more.nodes, std::back_inserter(spec.nodes));
  std::ranges::move(more.faults, std::back_inserter(spec.faults));
}

void read_cluster_files(const RunOptions& options, Load& load) {
  if (options.cluster_files.empty()) {
    return;
  }
  ManifestFiles files =
      read_manifest_files(options.cluster_files, Depth::Folder, api::Duplicates::Refuse);
  std::ranges::move(files.errors, std::back_inserter(load.errors));
  if (!load.errors.empty()) {
    return; // what is missing is in the file that was not read
  }
  auto spec = cluster::read_cluster_spec(files.manifests, options.catalogue);
  if (!spec) {
    load.errors.push_back(std::move(spec).error());
    return;
  }
  join(load.spec, *std::move(spec));
}

void read_scheduler_config(const RunOptions& options, Load& load) {
  if (options.scheduler_config.empty()) {
    return;
  }
  auto file = read_scheduler_file(options.scheduler_config, options.cluster.gpu_policy);
  if (!file) {
    load.errors.push_back(std::move(file).error());
    return;
  }
  load.scheduler = std::move(file->options);
  std::ranges::move(file->notes, std::back_inserter(load.notes));
}

// Two --nodes of one platform continue counting instead of clashing: dgx-h100:2 twice is dgx-h100-1
// to -4.
void merge_equal_groups(std::vector<cluster::NodeGroup>& groups) {
  std::vector<cluster::NodeGroup> merged;
  for (cluster::NodeGroup& group : groups) {
    const auto same = [&](const cluster::NodeGroup& other) {
      return other.platform == group.platform && other.prefix == group.prefix &&
             other.labels.empty() && group.labels.empty() && other.taints.empty() &&
             group.taints.empty() && !other.numa.active() && !group.numa.active();
    };
    if (const auto it = std::ranges::find_if(merged, same); it != merged.end()) {
      it->count += group.count;
    } else {
      merged.push_back(std::move(group));
    }
  }
  groups = std::move(merged);
}

void settle_cluster(const RunOptions& options, Load& load) {
  join(load.spec, {.groups = options.nodes, .faults = options.faults});
  merge_equal_groups(load.spec.groups);
  if (load.spec.groups.empty() && load.spec.nodes.empty() && options.cluster_files.empty()) {
    load.spec.groups.push_back(
        {.platform = "dgx-h100", .count = 2, .prefix = "", .labels = {}, .taints = {}});
    load.notes.push_back(
        {.message = "no --nodes and no --cluster: running on 2 dgx-h100 nodes (16 GPUs)"});
  }
  if (auto valid = cluster::validate(load.spec); !valid) {
    load.errors.push_back(std::move(valid).error());
  }
}

} // namespace

Load load_run(const RunOptions& options) {
  Load load;
  load.spec.catalogue = options.catalogue;
  ManifestFiles files =
      read_manifest_files(options.files, options.depth, api::Duplicates::TakeLast);
  load.errors = std::move(files.errors);
  load.notes = std::move(files.warnings);
  Gathered gathered;
  for (api::Manifest& manifest : files.manifests) {
    if (is_node(manifest)) {
      load.spec.nodes.push_back(std::move(manifest));
    } else {
      gathered.add(std::move(manifest), options.ns, load);
    }
  }
  read_cluster_files(options, load);
  read_scheduler_config(options, load);
  if (load.errors.empty()) {
    settle_cluster(options, load);
    read_topology_files(options, load);
  }
  if (load.errors.empty() && load.objects.empty() && load.spec.nodes.empty()) {
    load.errors.push_back(
        {.code = Code::Invalid,
         .message = fmt::format("nothing to run: no objects in {}", fmt::join(options.files, ", ")),
         .where = {}});
  }
  if (load.errors.empty()) {
    std::ranges::move(remarks_on(load.objects), std::back_inserter(load.notes));
    add_namespaces(load);
  }
  return load;
}

} // namespace berth::cli
