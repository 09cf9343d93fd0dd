#include "berth/cli/run/topology_files.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/json.h"
#include "berth/cli/run/manifest_files.h"
#include "berth/cluster/node_names.h"
#include "berth/cluster/topology_file.h"

namespace berth::cli {
namespace {

/// Labels the object has stay as they are.
api::Object with_labels(const api::Object& node, const api::Labels& labels) {
  return node.edit([&](api::json::object& document) {
    api::json::object& target = api::object_at(api::object_at(document, "metadata"), "labels");
    for (const auto& [key, value] : labels) {
      if (!target.contains(key)) {
        target[key] = value;
      }
    }
  });
}

} // namespace

void read_topology_files(const RunOptions& options, Load& load) {
  cluster::NodeLabels& all = load.spec.node_labels;
  for (const std::string& path : options.topology_files) {
    const auto text = read_text(path);
    auto labels = text ? cluster::read_topology(*text, path) : tl::unexpected(text.error());
    if (!labels) {
      load.errors.push_back(std::move(labels).error());
      continue;
    }
    for (auto& [node, of_node] : *labels) {
      for (auto& [key, value] : of_node) {
        all[node].emplace(key, value);
      }
    }
  }
  const cluster::NodeNames names = cluster::node_names(load.spec);
  std::vector<std::string> strangers;
  for (const auto& [node, labels] : all) {
    if (!names.contains(node)) {
      strangers.push_back(node);
    }
  }
  if (!strangers.empty()) {
    constexpr std::size_t kShown = 5;
    const std::size_t count = strangers.size();
    strangers.resize(std::min(count, kShown));
    load.notes.push_back(
        {.message = fmt::format("--topology names {} node{} that the cluster does not have: {}{}",
                                count, count == 1 ? "" : "s", fmt::join(strangers, ", "),
                                count > kShown ? ", ..." : "")});
  }
  for (api::Manifest& node : load.spec.nodes) {
    if (const auto labels = all.find(node.object.meta().name); labels != all.end()) {
      node.object = with_labels(node.object, labels->second);
    }
  }
}

} // namespace berth::cli
