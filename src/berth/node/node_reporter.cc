#include "berth/node/node_reporter.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "berth/base/assert.h"
#include "berth/base/log.h"
#include "berth/client/informer.h"
#include "berth/node/startup_taint.h"

namespace berth::node {
namespace {

constexpr Duration kFirstBackoff = Duration::seconds(1);
constexpr Duration kLastBackoff = Duration::seconds(30);
// What others undo is written again, but not at the speed at which they do it.
constexpr Duration kPause = Duration::seconds(10);

} // namespace

struct NodeReporter::State : std::enable_shared_from_this<State> {
  Loop* loop;
  client::Client* client;
  api::json::value base;
  std::function<NodeFacts()> facts;
  std::function<void(const api::Object&)> on_node;
  std::unique_ptr<client::Informer> informer;
  api::Object node;
  bool opened = false;
  bool registered = false; ///< it existed in this agent's life
  bool busy = false;
  bool dirty = true;       ///< the facts may have changed since the last write
  bool untainting = false; ///< the write under way takes the startup taint away
  bool taints_refused = false;
  Timer retry;
  std::uint64_t written_over = 0; ///< the version that the last write was to change
  TimePoint quiet_until;          ///< what others changed is not put right before
  Duration backoff = kFirstBackoff;

  State(Loop& on, client::Client& to, api::json::value document, std::function<NodeFacts()> ask,
        std::function<void(const api::Object&)> tell)
      : loop(&on), client(&to), base(std::move(document)), facts(std::move(ask)),
        on_node(std::move(tell)), retry(on) {}

  api::Key key() const { return {"", std::string(api::string_at(base, "metadata.name"))}; }

  void watch() {
    const client::ListOptions what{.kind = client::kNodes, .name = key().name};
    informer = std::make_unique<client::Informer>(
        *client, *loop, what,
        [weak = weak_from_this()](const api::Object&, const api::Object& now) {
          const auto state = weak.lock();
          if (state && now) {
            state->take(now);
            state->step();
          }
        });
    informer->on_sync([weak = weak_from_this()] {
      if (const auto state = weak.lock()) {
        state->step();
      }
    });
  }

  void take(const api::Object& stored) {
    registered = true;
    if (!node || node.meta().uid != stored.meta().uid ||
        stored.meta().resource_version > node.meta().resource_version) {
      node = stored;
      on_node(node);
    }
  }

  void step() {
    if (!opened || busy || retry.armed() || !informer->synced()) {
      return;
    }
    if (!node) {
      if (!registered) {
        create();
      }
      return;
    }
    const NodePatches patches = node_patches(node.json(), base, facts());
    const bool untaints = patches.taints && !taints_refused;
    if (!patches.metadata && !patches.status && !untaints) {
      dirty = false;
      return;
    }
    if (!dirty && loop->now() < quiet_until) {
      retry.set(quiet_until - loop->now(), [this] { step(); });
      return;
    }
    dirty = false;
    if (patches.metadata) {
      write(*patches.metadata, client::Subresource::None);
    } else if (patches.status) {
      write(*patches.status, client::Subresource::Status);
    } else {
      untainting = true;
      write(*patches.taints, client::Subresource::None);
    }
  }

  // Where the agent is known as the node itself, an API server with the admission plugin
  // NodeRestriction lets it register taints and not take them away. Asking again is of no use.
  bool refused(const Error& error) {
    const bool taints = std::exchange(untainting, false) && error.code == Code::Forbidden;
    if (taints) {
      taints_refused = true;
      log(LogLevel::Error, "agent",
          fmt::format("node {}: its GPUs are there, but the startup taint {}={}:{} stays: {}; try "
                      "kubectl taint node {} {}:{}-, and --startup-taint false for other agents",
                      key().name, kStartupTaintKey, kStartupTaintValue, kStartupTaintEffect,
                      error.message, key().name, kStartupTaintKey, kStartupTaintEffect));
    }
    return taints;
  }

  void create() {
    auto made = api::Object::from_json(make_new_node(base, facts()));
    BERTH_ASSERT(made.has_value(), to_string(made.error()));
    busy = true;
    dirty = false;
    client->create(*std::move(made), [weak = weak_from_this()](const Result<api::Object>& result) {
      if (const auto state = weak.lock()) {
        state->busy = false;
        state->created(result);
      }
    });
  }

  void created(const Result<api::Object>& result) {
    if (result) {
      answered(result);
    } else if (result.error().code == Code::AlreadyExists) {
      read(); // the watch has not told of it yet
    } else {
      answered(result);
    }
  }

  void read() {
    busy = true;
    client->get(client::kNodes, key(),
                [weak = weak_from_this()](const Result<api::Object>& result) {
                  if (const auto state = weak.lock()) {
                    state->busy = false;
                    state->answered(result);
                  }
                });
  }

  void write(api::json::value patch, client::Subresource subresource) {
    busy = true;
    written_over = node.meta().resource_version;
    quiet_until = loop->now() + kPause;
    client->patch(client::kNodes, key(), std::move(patch), subresource,
                  [weak = weak_from_this()](const Result<api::Object>& result) {
                    if (const auto state = weak.lock()) {
                      state->busy = false;
                      state->answered(result);
                    }
                  });
  }

  void answered(const Result<api::Object>& result) {
    if (!result && refused(result.error())) {
      step();
      return;
    }
    if (result) {
      untainting = false;
      backoff = kFirstBackoff;
      // A metadata write may be followed by one of the status. What changes nothing would do so for
      // ever: a server may see it otherwise.
      dirty = result->meta().resource_version != written_over;
      take(*result);
      step();
      return;
    }
    if (result.error().code == Code::NotFound && registered) {
      log(LogLevel::Warn, "agent", fmt::format("node {} was deleted", key().name));
      return;
    }
    log(LogLevel::Info, "agent",
        fmt::format("node {}: {}; trying again", key().name, result.error().message));
    dirty = true;
    retry.set(backoff, [this] { step(); });
    backoff = std::min(backoff * 2, kLastBackoff);
  }
};

NodeReporter::NodeReporter(Loop& loop, client::Client& client, api::json::value base,
                           std::function<NodeFacts()> facts,
                           std::function<void(const api::Object&)> on_node)
    : state_(std::make_shared<State>(loop, client, std::move(base), std::move(facts),
                                     std::move(on_node))) {
  state_->watch();
}

NodeReporter::~NodeReporter() {
  state_->retry.cancel();
  state_->informer.reset();
}

void NodeReporter::open() {
  state_->opened = true;
  state_->step();
}

void NodeReporter::poke() {
  state_->dirty = true;
  if (state_->loop->now() < state_->quiet_until) {
    state_->retry.cancel(); // what is new does not wait for what others did
  }
  state_->step();
}

const api::Object& NodeReporter::node() const {
  return state_->node;
}

bool NodeReporter::clean() const {
  return state_->opened && !state_->busy && !state_->retry.armed() && state_->registered;
}

} // namespace berth::node
