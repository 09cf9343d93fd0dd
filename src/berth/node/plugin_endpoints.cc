#include "berth/node/plugin_endpoints.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "berth/base/log.h"

namespace berth::node {

namespace {

constexpr std::string_view kLog = "device-manager";

struct Resource {
  DevicePool pool;
  std::shared_ptr<Endpoint> endpoint; ///< none: never connected in this life, or stopped
  std::unique_ptr<deviceplugin::DeviceStream> stream;
  bool expected = false; ///< see expect()
};

// Begins and ends with an `edge`; has edges and characters of `inner` between.
template <class Edge> bool framed(std::string_view text, Edge edge, std::string_view inner) {
  return !text.empty() && edge(text.front()) && edge(text.back()) &&
         std::ranges::all_of(
             text, [&](char c) { return edge(c) || inner.find(c) != std::string_view::npos; });
}

} // namespace

struct PluginEndpoints::State : std::enable_shared_from_this<State> {
  Loop* loop;
  Duration grace;
  std::function<void()> on_change;
  std::map<std::string, Resource, std::less<>> resources;
  std::set<std::string, std::less<>> departed; ///< dropped after the grace
  std::uint64_t next_generation = 1;
  Timer expiry;

  State(Loop& on, Duration stop_grace, std::function<void()> changed)
      : loop(&on), grace(stop_grace), on_change(std::move(changed)), expiry(on) {}

  void connect(const std::shared_ptr<Endpoint>& endpoint);
  void on_list(const Endpoint& from, std::vector<deviceplugin::Device> devices);
  void on_end(const Endpoint& from, const Error& error);
  void drop_expired();
  void schedule_expiry();

  // The resource, if this generation is still its plugin.
  Resource* current(const Endpoint& endpoint) {
    const auto it = resources.find(endpoint.resource);
    const bool mine = it != resources.end() && it->second.endpoint &&
                      it->second.endpoint->generation == endpoint.generation;
    return mine ? &it->second : nullptr;
  }
};

void PluginEndpoints::State::connect(const std::shared_ptr<Endpoint>& endpoint) {
  Resource& resource = resources[endpoint->resource];
  if (resource.endpoint && resource.endpoint->generation > endpoint->generation) {
    return;
  }
  departed.erase(endpoint->resource);
  // The old stream goes first: what it still had to say is of another life.
  resource.stream.reset();
  resource.endpoint = endpoint;
  resource.expected = false;
  resource.pool.start();
  const std::weak_ptr<State> weak = weak_from_this();
  resource.stream = endpoint->plugin->list_and_watch(
      [weak, endpoint](std::vector<deviceplugin::Device> devices) {
        if (const auto state = weak.lock()) {
          state->on_list(*endpoint, std::move(devices));
        }
      },
      [weak, endpoint](const Error& error) {
        if (const auto state = weak.lock()) {
          state->on_end(*endpoint, error);
        }
      });
  schedule_expiry();
}

void PluginEndpoints::State::on_list(const Endpoint& from,
                                     std::vector<deviceplugin::Device> devices) {
  if (Resource* resource = current(from)) {
    resource->pool.update(std::move(devices));
    on_change();
  }
}

void PluginEndpoints::State::on_end(const Endpoint& from, const Error& error) {
  if (Resource* resource = current(from)) {
    log(LogLevel::Info, kLog,
        fmt::format("endpoint {} has been stopped: {}", from.resource, error.message));
    resource->pool.stop(loop->now());
    resource->endpoint.reset();
    schedule_expiry();
    on_change();
  }
}

void PluginEndpoints::State::drop_expired() {
  const TimePoint now = loop->now();
  const auto expired = [&](const auto& entry) {
    const auto at = entry.second.pool.expires(grace);
    return at && *at <= now;
  };
  for (const auto& entry : resources) {
    if (expired(entry)) {
      departed.insert(entry.first);
    }
  }
  std::erase_if(resources, expired);
  schedule_expiry();
  on_change();
}

void PluginEndpoints::State::schedule_expiry() {
  std::optional<TimePoint> first;
  for (const auto& [name, resource] : resources) {
    if (const auto at = resource.pool.expires(grace); at && (!first || *at < *first)) {
      first = at;
    }
  }
  expiry.cancel();
  if (first) {
    expiry.set(*first - loop->now(), [this] { drop_expired(); });
  }
}

bool is_extended_resource(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.starts_with("requests.") ||
      name.find("kubernetes.io/") != std::string_view::npos) {
    return false;
  }
  // As the name of a quota: "requests." goes before it.
  constexpr std::size_t kLongestDomain = 253 - std::string_view("requests.").size();
  constexpr std::size_t kLongestBase = 63;
  const std::string_view domain = name.substr(0, slash);
  const std::string_view base = name.substr(slash + 1);
  const auto lower = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto any = [&](char c) { return lower(c) || (c >= 'A' && c <= 'Z'); };
  const bool good_base = base.size() <= kLongestBase && framed(base, any, "-_.");
  if (!good_base || domain.size() > kLongestDomain) {
    return false;
  }
  for (std::string_view rest = domain;;) {
    const std::size_t dot = rest.find('.');
    if (!framed(rest.substr(0, dot), lower, "-")) {
      return false;
    }
    if (dot == std::string_view::npos) {
      return true;
    }
    rest.remove_prefix(dot + 1);
  }
}

PluginEndpoints::PluginEndpoints(Loop& loop, Duration stop_grace, std::function<void()> on_change)
    : state_(std::make_shared<State>(loop, stop_grace, std::move(on_change))) {}

PluginEndpoints::~PluginEndpoints() = default;

void PluginEndpoints::restore(const std::string& resource) {
  if (!state_->resources.contains(resource)) {
    state_->resources[resource].pool.stop(state_->loop->now());
    state_->schedule_expiry();
  }
}

void PluginEndpoints::expect(const std::string& resource) {
  if (!knows(resource)) {
    restore(resource);
    state_->resources[resource].expected = true;
  }
}

void PluginEndpoints::restore_departed(const std::string& resource) {
  state_->departed.insert(resource);
}

void PluginEndpoints::forget_departed(const std::string& resource) {
  if (state_->departed.erase(resource) > 0) {
    state_->on_change();
  }
}

void PluginEndpoints::register_plugin(deviceplugin::RegisterRequest request,
                                      deviceplugin::Done<void> done) {
  const auto refuse = [&](Code code, std::string message) {
    state_->loop->post([done, error = fail(code, std::move(message))] { done(error); });
  };
  if (request.version != deviceplugin::kVersion) {
    refuse(Code::Invalid, fmt::format("requested API version \"{}\" is not supported by kubelet. "
                                      "Supported version is \"{}\"",
                                      request.version, deviceplugin::kVersion));
    return;
  }
  if (!is_extended_resource(request.resource_name)) {
    refuse(Code::Invalid, fmt::format("the ResourceName \"{}\" is invalid", request.resource_name));
    return;
  }
  if (!request.endpoint) {
    refuse(Code::Internal, "failed to dial device plugin: no such endpoint");
    return;
  }
  // What the request says of options does not count; what the plugin answers does.
  auto endpoint = std::make_shared<Endpoint>(Endpoint{.generation = state_->next_generation++,
                                                      .resource = std::move(request.resource_name),
                                                      .plugin = std::move(request.endpoint)});
  endpoint->plugin->get_options([weak = std::weak_ptr(state_), endpoint, done = std::move(done)](
                                    Result<deviceplugin::DevicePluginOptions> options) {
    const auto state = weak.lock();
    if (!state) {
      return;
    }
    if (!options) {
      const char* what = options.error().code == Code::Unavailable
                             ? "failed to dial device plugin"
                             : "failed to get device plugin options";
      done(fail(Code::Internal, fmt::format("{}: {}", what, options.error().message)));
      return;
    }
    endpoint->options = *options;
    state->connect(endpoint);
    done({});
  });
}

const DevicePool* PluginEndpoints::pool(std::string_view resource) const {
  const auto it = state_->resources.find(resource);
  return it == state_->resources.end() ? nullptr : &it->second.pool;
}

std::shared_ptr<const Endpoint> PluginEndpoints::live(std::string_view resource) const {
  const auto it = state_->resources.find(resource);
  const bool ready =
      it != state_->resources.end() && it->second.pool.live() && it->second.pool.listed();
  return ready ? it->second.endpoint : nullptr;
}

bool PluginEndpoints::knows(std::string_view resource) const {
  return state_->resources.contains(resource) || state_->departed.contains(resource);
}

std::map<std::string, DeviceCount> PluginEndpoints::accounting() const {
  std::map<std::string, DeviceCount> counts;
  for (const auto& [name, resource] : state_->resources) {
    counts[name] = resource.pool.count();
  }
  return counts;
}

std::vector<std::string> PluginEndpoints::resources() const {
  std::vector<std::string> names;
  for (const auto& [name, resource] : state_->resources) {
    names.push_back(name);
  }
  return names;
}

std::vector<std::string> PluginEndpoints::departed() const {
  return {state_->departed.begin(), state_->departed.end()};
}

bool PluginEndpoints::complete() const {
  return std::ranges::all_of(state_->resources, [](const auto& entry) {
    const Resource& resource = entry.second;
    return resource.expected || (resource.pool.live() && resource.pool.listed());
  });
}

} // namespace berth::node
