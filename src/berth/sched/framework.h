// One scheduler profile, ready to run: its plugins in order with weights. Built from a Profile
// (names, weights, args) and a Registry (name -> factory), both values.
#pragma once

#include <array>
#include <bit>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

/// Minor version whose arithmetic and wording are matched, e.g. {34} for 1.34.
struct KubernetesVersion {
  int minor = 36;

  auto operator<=>(const KubernetesVersion&) const = default;
};

/// What a factory gets. `args` is the plugin's args object as KubeSchedulerConfiguration writes it;
/// null: defaults.
struct PluginConfig {
  boost::json::value args;
  KubernetesVersion version;
};

using PluginFactory = std::function<Result<std::unique_ptr<Plugin>>(const PluginConfig&)>;

/// Name -> factory. A value: copy it and add to it.
class Registry {
 public:
  /// Error AlreadyExists if the name is taken.
  Result<void> add(std::string_view name, PluginFactory factory);
  const PluginFactory* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::vector<std::string> names() const;

 private:
  std::map<std::string, PluginFactory, std::less<>> factories_;
};

/// Every plugin of this room.
Registry builtin_plugins();

struct ProfilePlugin {
  std::string name;
  std::int64_t weight = 1; ///< of its score; 0 means 1
  boost::json::value args;
  Points points = kEveryPoint; ///< where it is enabled; it takes part where it can as well
};

/// The plugins in order; the order is that of every extension point.
struct Profile {
  std::string scheduler_name = "default-scheduler";
  KubernetesVersion kubernetes_version;
  std::vector<ProfilePlugin> plugins;
  /// Further names that pods may ask for this profile by.
  std::vector<std::string> other_names = {};
  /// kube-scheduler's percentageOfNodesToScore (see sampling.h); none: all nodes are looked at.
  std::optional<std::int64_t> percentage_of_nodes = {};
};

/// Kubernetes' default plugins and weights, as far as this room has them (spec 2.1).
Profile default_profile(KubernetesVersion version = {});

/// Owns the plugins of one profile. Not copyable. Exactly one plugin sorts the queue (the first
/// that can and is enabled there).
class Framework {
 public:
  struct Entry {
    std::unique_ptr<Plugin> plugin;
    std::int64_t weight = 1;
    std::vector<EventInterest> events;
    Points points = 0; ///< where it takes part
    bool has(Point point) const { return (points & static_cast<Points>(point)) != 0; }
  };

  /// Errors: unknown plugin (names the known ones), repeated plugin, no QueueSort plugin, negative
  /// weight, bad args.
  static Result<Framework> make(const Profile& profile, const Registry& registry);

  const std::string& scheduler_name() const { return scheduler_name_; }
  /// Do pods with this spec.schedulerName ask for this profile?
  bool is_for(std::string_view name) const;
  std::optional<std::int64_t> percentage_of_nodes() const { return percentage_of_nodes_; }
  /// Does some plugin take part in the point?
  bool uses(Point point) const;
  KubernetesVersion version() const { return version_; }
  std::vector<Entry>& entries() { return entries_; }
  const std::vector<Entry>& entries() const { return entries_; }
  /// Those that take part in the point, in order.
  std::span<Plugin* const> at(Point point) const {
    return by_point_[static_cast<std::size_t>(std::countr_zero(static_cast<Points>(point)))];
  }
  /// Those whose prepare() is asked for every pod (Plugin::looks_beyond_shape).
  std::span<const Plugin* const> beyond_shape() const { return beyond_shape_; }
  /// Those that tell pods of one shape apart (Plugin::sees_shades).
  std::span<const Plugin* const> seeing_shades() const { return seeing_shades_; }
  const Plugin& queue_sort() const { return *queue_sort_; }
  const Entry* find(std::string_view name) const;

  /// PreEnqueue of all plugins in order; the first rejection, with its plugin, or Success.
  Status pre_enqueue(const PodInfo& pod) const;
  /// Should the event wake a pod that `plugin` rejected? Skip if the plugin did not register for
  /// it.
  Hint hint(std::string_view plugin, const PodInfo& pod, const ClusterEvent& event) const;
  /// Did the plugin register for the event?
  bool interested(std::string_view plugin, const ClusterEvent& event) const;
  /// Unreserve of all plugins, in reverse order.
  Effects unreserve(const PodPtr& pod, NodeId node, const ClusterState& state);
  void post_bind(const PodPtr& pod, NodeId node, const ClusterState& state);

 private:
  Framework() = default;
  void enlist(const Entry& entry);

  std::string scheduler_name_;
  std::vector<std::string> other_names_;
  KubernetesVersion version_;
  std::optional<std::int64_t> percentage_of_nodes_;
  static constexpr std::size_t kPoints = 10;

  std::vector<Entry> entries_;
  std::array<std::vector<Plugin*>, kPoints> by_point_; ///< by bit of Point
  std::vector<const Plugin*> beyond_shape_;
  std::vector<const Plugin*> seeing_shades_;
  const Plugin* queue_sort_ = nullptr;
};

} // namespace berth::sched
