#include "berth/sched/framework.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::sched {

void Effects::merge(Effects other) {
  const auto append = [](std::vector<std::string>& into, std::vector<std::string>& from) {
    into.insert(into.end(), std::make_move_iterator(from.begin()),
                std::make_move_iterator(from.end()));
  };
  append(allow, other.allow);
  append(reject, other.reject);
  append(activate, other.activate);
}

Result<void> Registry::add(std::string_view name, PluginFactory factory) {
  if (!factories_.emplace(name, std::move(factory)).second) {
    return fail(Code::AlreadyExists,
                fmt::format("a scheduler plugin of this name is registered already: {}", name));
  }
  return {};
}

const PluginFactory* Registry::find(std::string_view name) const {
  const auto it = factories_.find(name);
  return it == factories_.end() ? nullptr : &it->second;
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> names;
  for (const auto& [name, factory] : factories_) {
    names.push_back(name);
  }
  return names;
}

namespace {

constexpr Points kPrepared = Point::Filter | Point::Score | Point::Reserve;

Error about_args(Error error, const Profile& profile, std::string_view plugin) {
  error.message = fmt::format("profile \"{}\": args of plugin {}: {}", profile.scheduler_name,
                              plugin, error.message);
  return error;
}

} // namespace

Result<Framework> Framework::make(const Profile& profile, const Registry& registry) {
  Framework framework;
  framework.scheduler_name_ = profile.scheduler_name;
  framework.other_names_ = profile.other_names;
  framework.version_ = profile.kubernetes_version;
  framework.percentage_of_nodes_ = profile.percentage_of_nodes;
  std::set<std::string_view> seen;
  for (const ProfilePlugin& wanted : profile.plugins) {
    const PluginFactory* factory = registry.find(wanted.name);
    if (factory == nullptr) {
      return fail(Code::Invalid,
                  fmt::format("profile \"{}\": unknown scheduler plugin \"{}\"; known are {}",
                              profile.scheduler_name, wanted.name,
                              fmt::join(registry.names(), ", ")));
    }
    if (!seen.insert(wanted.name).second) {
      return fail(Code::Invalid, fmt::format("profile \"{}\": plugin is listed twice: {}",
                                             profile.scheduler_name, wanted.name));
    }
    if (wanted.weight < 0) {
      return fail(Code::Invalid,
                  fmt::format("profile \"{}\": weight of plugin {} must not be negative: {}",
                              profile.scheduler_name, wanted.name, wanted.weight));
    }
    auto plugin = (*factory)({.args = wanted.args, .version = profile.kubernetes_version});
    if (!plugin) {
      return tl::unexpected(about_args(std::move(plugin).error(), profile, wanted.name));
    }
    Entry entry{.plugin = *std::move(plugin),
                .weight = wanted.weight == 0 ? 1 : wanted.weight,
                .events = {},
                .points = 0};
    entry.events = entry.plugin->events();
    entry.points = entry.plugin->points() & wanted.points;
    framework.enlist(entry);
    framework.entries_.push_back(std::move(entry));
  }
  if (framework.queue_sort_ == nullptr) {
    return fail(Code::Invalid,
                fmt::format("profile \"{}\": no plugin sorts the queue; try adding PrioritySort",
                            profile.scheduler_name));
  }
  return framework;
}

void Framework::enlist(const Entry& entry) {
  Plugin* plugin = entry.plugin.get();
  for (std::size_t bit = 0; bit < kPoints; ++bit) {
    if ((entry.points >> bit & 1) != 0) {
      by_point_[bit].push_back(plugin);
    }
  }
  if ((entry.points & kPrepared) != 0) {
    if (plugin->looks_beyond_shape()) {
      beyond_shape_.push_back(plugin);
    }
    if (plugin->sees_shades()) {
      seeing_shades_.push_back(plugin);
    }
  }
  if (queue_sort_ == nullptr && entry.has(Point::QueueSort)) {
    queue_sort_ = plugin;
  }
}

const Framework::Entry* Framework::find(std::string_view name) const {
  const auto it =
      std::ranges::find(entries_, name, [](const Entry& entry) { return entry.plugin->name(); });
  return it == entries_.end() ? nullptr : &*it;
}

bool Framework::is_for(std::string_view name) const {
  return name == scheduler_name_ || std::ranges::find(other_names_, name) != other_names_.end();
}

bool Framework::uses(Point point) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.has(point); });
}

Status Framework::pre_enqueue(const PodInfo& pod) const {
  for (const Entry& entry : entries_) {
    if (entry.has(Point::PreEnqueue)) {
      if (Status status = entry.plugin->pre_enqueue(pod); !status.ok()) {
        status.plugin = entry.plugin->name();
        return status;
      }
    }
  }
  return Status::success();
}

bool Framework::interested(std::string_view plugin, const ClusterEvent& event) const {
  const Entry* entry = find(plugin);
  return event.resource == EventResource::Wildcard || entry == nullptr ||
         std::ranges::any_of(entry->events,
                             [&](const EventInterest& interest) { return interest.covers(event); });
}

Hint Framework::hint(std::string_view plugin, const PodInfo& pod, const ClusterEvent& event) const {
  if (!interested(plugin, event)) {
    return Hint::Skip;
  }
  const Entry* entry = find(plugin);
  return event.resource == EventResource::Wildcard || entry == nullptr
             ? Hint::Queue
             : entry->plugin->hint(pod, event);
}

Effects Framework::unreserve(const PodPtr& pod, NodeId node, const ClusterState& state) {
  Effects effects;
  for (auto it = entries_.rbegin(); it != entries_.rend(); ++it) {
    if (it->has(Point::Reserve)) {
      effects.merge(it->plugin->unreserve(pod, node, state));
    }
  }
  return effects;
}

void Framework::post_bind(const PodPtr& pod, NodeId node, const ClusterState& state) {
  for (Entry& entry : entries_) {
    if (entry.has(Point::PostBind)) {
      entry.plugin->post_bind(pod, node, state);
    }
  }
}

} // namespace berth::sched
