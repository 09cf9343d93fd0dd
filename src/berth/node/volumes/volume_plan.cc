#include "berth/node/volumes/volume_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/node/contents/spec_field.h"
#include "berth/node/volume_path.h"
#include "berth/node/volumes/atomic_writer.h"
#include "berth/node/volumes/config_map.h"
#include "berth/node/volumes/host_path.h"
#include "berth/node/volumes/secret.h"

namespace berth::node {
namespace {

namespace json = boost::json;

std::string kind_of(const json::value& volume) {
  if (volume.is_object()) {
    for (const auto& [member, value] : volume.get_object()) {
      if (member != "name") {
        return std::string(member);
      }
    }
  }
  return "none";
}

// Names are parts of paths here, whoever let them through.
bool is_path_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

// nullopt: a kind that is no set of files.
std::optional<Result<Payload>> files_of(const json::value& volume, const ProjectedFacts& facts) {
  if (const json::value* source = api::find(volume, "configMap")) {
    return config_map_files(*source, default_mode(*source), *facts.sources);
  }
  if (const json::value* source = api::find(volume, "secret")) {
    return secret_files(*source, default_mode(*source), *facts.sources);
  }
  if (const json::value* source = api::find(volume, "downwardAPI")) {
    return downward_files(*source, default_mode(*source), facts.downward);
  }
  if (const json::value* source = api::find(volume, "projected")) {
    return projected_files(*source, facts);
  }
  return std::nullopt;
}

Result<VolumePlan> plan_claim(const json::value& volume, const Result<ClaimedPath>& claimed,
                              VolumePlan plan) {
  if (!claimed) {
    return tl::unexpected(claimed.error());
  }
  plan.path = claimed->path;
  plan.read_only =
      claimed->read_only || bool_at(volume, "persistentVolumeClaim.readOnly").value_or(false);
  plan.what = HostPath{claimed->type};
  return plan;
}

// What a volume of medium HugePages is made of that names no size.
Result<std::string> only_page_size(const model::Pod& pod) {
  constexpr std::string_view kPrefix = "hugepages-";
  std::set<std::string> sizes;
  for (const auto* containers : {&pod.spec.containers, &pod.spec.init_containers}) {
    for (const model::Container& container : *containers) {
      for (const auto& [resource, limit] : container.resources.limits) {
        if (std::string_view(resource).starts_with(kPrefix)) {
          sizes.insert(std::string(std::string_view(resource).substr(kPrefix.size())));
        }
      }
    }
  }
  if (sizes.size() != 1) {
    return fail(Code::Invalid,
                fmt::format("emptyDir of medium HugePages needs a pod that asks for one size of "
                            "huge pages; it asks for {}; try HugePages-SIZE",
                            sizes.size()));
  }
  return *sizes.begin();
}

struct CarryOut {
  const VolumePlan* plan;
  TimePoint now;

  Result<SetUp> operator()(const EmptyDir& wanted) const {
    return set_up_empty_dir(plan->path, wanted);
  }
  Result<SetUp> operator()(const Payload& files) const {
    BERTH_CHECK(write_atomically({plan->path, files, plan->group, now}));
    return SetUp();
  }
  Result<SetUp> operator()(const HostPath& host) const {
    BERTH_CHECK(check_host_path(plan->path, host.type));
    return SetUp();
  }
};

} // namespace

Result<VolumePlan> plan_volume(const json::value& volume, const VolumeFacts& facts) {
  const model::Pod& pod = *facts.projected.downward.pod;
  VolumePlan plan{.name = std::string(api::string_at(volume, "name")),
                  .group = facts.projected.fs_group,
                  .what = HostPath()};
  if (!is_path_name(plan.name) || !is_path_name(pod.meta.uid)) {
    return fail(Code::Invalid,
                fmt::format("volume's name or pod's uid cannot be a name of a folder: {} {}",
                            plan.name, pod.meta.uid));
  }
  if (const auto claim = facts.claims.find(plan.name); claim != facts.claims.end()) {
    return plan_claim(volume, claim->second, std::move(plan));
  }
  plan.path = volume_path(volume, pod.meta.uid, facts.root);
  if (const json::value* source = api::find(volume, "hostPath")) {
    plan.what = HostPath{std::string(api::string_at(*source, "type"))};
    return plan;
  }
  if (const json::value* source = api::find(volume, "emptyDir")) {
    BERTH_TRY(EmptyDir empty, read_empty_dir(*source, facts.projected.fs_group));
    if (empty.medium == EmptyDir::Medium::HugePages && empty.page_size.empty()) {
      BERTH_TRY(empty.page_size, only_page_size(pod));
    }
    plan.what = std::move(empty);
    return plan;
  }
  if (auto files = files_of(volume, facts.projected)) {
    BERTH_TRY(plan.what, *std::move(files));
    plan.read_only = true;
    return plan;
  }
  return fail(
      Code::Invalid,
      fmt::format("volume is of a kind that this node does not have; try emptyDir, hostPath, "
                  "configMap, secret, downwardAPI, projected or a claim of a local volume: {}",
                  kind_of(volume)));
}

Result<SetUp> carry_out(const VolumePlan& plan, TimePoint now) {
  return std::visit(CarryOut{&plan, now}, plan.what);
}

std::vector<const json::value*> used_volumes(const json::value& pod) {
  std::set<std::string_view> used;
  for (const std::string_view list : {"spec.initContainers", "spec.containers"}) {
    for (const json::value& container : list_at(pod, list)) {
      for (const json::value& mount : list_at(container, "volumeMounts")) {
        used.insert(api::string_at(mount, "name"));
      }
    }
  }
  std::vector<const json::value*> volumes;
  for (const json::value& volume : list_at(pod, "spec.volumes")) {
    if (used.contains(api::string_at(volume, "name"))) {
      volumes.push_back(&volume);
    }
  }
  return volumes;
}

} // namespace berth::node
