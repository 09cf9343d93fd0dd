// A control plane and the agent of one machine that has folders, images and probes as a real one
// has. Its containers are simulated; what they are made of, and what commands in them answer, a
// test sees and says.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/base/background.h"
#include "berth/cdi/registry.h"
#include "berth/client/token_source.h"
#include "berth/deviceplugin/local_kubelet_socket.h"
#include "berth/node/agent.h"
#include "berth/node/checkpoint_store.h"
#include "berth/node/contents/contents.h"
#include "berth/node/probes/network.h"
#include "berth/node/volumes/mounts.h"
#include "berth/runtime/simulated_runtime.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"
#include "berth/testing/temp_files.h"

namespace berth::test {

/// Images of a machine: there, or pulled in a second, or not to be had.
class FakeImages final : public runtime::Images {
 public:
  explicit FakeImages(Loop& loop) : loop_(&loop) {}

  void find(const std::string& image, runtime::Done<std::optional<std::string>> done) override {
    loop_->post([this, image, done = std::move(done)] {
      const auto found = there.find(image);
      done(found == there.end() ? std::nullopt : std::optional(found->second));
    });
  }
  void pull(const std::string& image, const runtime::RegistryLogin& login,
            runtime::Done<std::string> done) override {
    logins.push_back(login.username);
    loop_->after(Duration::seconds(1), [this, image, done = std::move(done)] {
      if (broken) {
        done(fail(Code::Unavailable, "no route to the registry"));
        return;
      }
      there[image] = "id-of-" + image;
      done(there[image]);
    });
  }
  void user_of(const std::string&, runtime::Done<runtime::ImageUser> done) override {
    loop_->post([this, done = std::move(done)] { done(user); });
  }

  std::map<std::string, std::string> there; ///< name to id
  std::vector<std::string> logins;          ///< of pulls; "" for nobody
  runtime::ImageUser user;
  bool broken = false;

 private:
  Loop* loop_;
};

/// Simulated containers in which commands can be run, as a test answers them.
class OpenRuntime final : public runtime::Runtime {
 public:
  OpenRuntime(Loop& loop, const cdi::Registry& cdi)
      : store(loop), loop_(&loop),
        inner_(loop, cdi, {.machine = "n1", .default_run_for = Duration::max()}) {}

  std::string boot_id() const override { return inner_.boot_id(); }
  void run_pod_sandbox(runtime::SandboxConfig config,
                       runtime::Done<runtime::SandboxStatus> done) override {
    sandboxes.push_back(config);
    inner_.run_pod_sandbox(std::move(config),
                           [this, done = std::move(done)](Result<runtime::SandboxStatus> made) {
                             if (made && only_loopback) {
                               made->ip = "127.0.0.1";
                               made->network_namespace = "/netns/of/pod";
                             }
                             done(std::move(made));
                           });
  }
  void stop_pod_sandbox(const std::string& id, runtime::Done<void> done) override {
    inner_.stop_pod_sandbox(id, std::move(done));
  }
  void remove_pod_sandbox(const std::string& id, runtime::Done<void> done) override {
    inner_.remove_pod_sandbox(id, std::move(done));
  }
  void create_container(const std::string& sandbox_id, runtime::ContainerConfig config,
                        runtime::Done<std::string> done) override {
    containers.push_back(config);
    inner_.create_container(sandbox_id, std::move(config), std::move(done));
  }
  void start_container(const std::string& id, runtime::Done<void> done) override {
    inner_.start_container(id, std::move(done));
  }
  void stop_container(const std::string& id, Duration grace, runtime::Done<void> done) override {
    stops.emplace_back(loop_->now(), grace);
    inner_.stop_container(id, grace, std::move(done));
  }
  void remove_container(const std::string& id, runtime::Done<void> done) override {
    inner_.remove_container(id, std::move(done));
  }
  void set_cpus(const std::string& id, const std::string& cpus, runtime::Done<void> done) override {
    inner_.set_cpus(id, cpus, std::move(done));
  }
  void list(runtime::Done<runtime::Listing> done) override { inner_.list(std::move(done)); }
  void container_status(const std::string& id,
                        runtime::Done<runtime::ContainerStatus> done) override {
    inner_.container_status(id, std::move(done));
  }
  std::unique_ptr<runtime::EventStream>
  events(std::function<void(const runtime::ContainerEvent&)> on_event) override {
    return inner_.events(std::move(on_event));
  }
  runtime::Images* images() override { return &store; }
  void exec_sync(const std::string&, const std::vector<std::string>& command, Duration,
                 runtime::Done<runtime::ExecResult> done) override {
    commands.emplace_back(loop_->now(), command);
    loop_->after(exec_takes, [this, command, done = std::move(done)] { done(on_exec(command)); });
  }

  FakeImages store;
  bool only_loopback = false;                        ///< is what pods get
  std::vector<runtime::SandboxConfig> sandboxes;     ///< as asked for
  std::vector<runtime::ContainerConfig> containers;  ///< as asked for
  std::vector<std::pair<TimePoint, Duration>> stops; ///< when, with what grace
  std::vector<std::pair<TimePoint, std::vector<std::string>>> commands;
  Duration exec_takes = Duration::millis(10);
  std::function<Result<runtime::ExecResult>(const std::vector<std::string>&)> on_exec =
      [](const std::vector<std::string>&) { return runtime::ExecResult(); };

 private:
  Loop* loop_;
  runtime::SimulatedRuntime inner_;
};

/// Every address answers as the test says.
class FakeNetwork final : public node::ProbeNetwork {
 public:
  explicit FakeNetwork(Loop& loop) : loop_(&loop) {}
  void get(const node::HttpCheck& what, Duration, std::function<void(Result<int>)> done) override {
    note(what.url(), what.network_namespace);
    loop_->post([this, done = std::move(done)] { done(status); });
  }
  void connect(const node::TcpCheck& where, Duration,
               std::function<void(Result<void>)> done) override {
    note(fmt::format("{}:{}", where.host, where.port), where.network_namespace);
    loop_->post([this, done = std::move(done)] {
      done(open ? Result<void>() : fail(Code::Unavailable, "connect: connection refused"));
    });
  }

  void ask_health(const node::GrpcCheck& what, Duration,
                  std::function<void(Result<std::string>)> done) override {
    note(what.address() + " " + what.service, what.network_namespace);
    loop_->post([this, done = std::move(done)] { done(health); });
  }

  std::vector<std::string> asked; ///< "WHERE", or "NAMESPACE WHERE"
  Result<std::string> health = std::string("SERVING");
  Result<int> status = 200;
  bool open = true;

 private:
  void note(const std::string& what, const std::string& network_namespace) {
    asked.push_back(network_namespace.empty() ? what : network_namespace + " " + what);
  }
  Loop* loop_;
};

/// Issues tokens "token-1", "token-2", ... for an hour, or for what is asked.
class FakeTokens final : public client::TokenSource {
 public:
  explicit FakeTokens(Loop& loop) : loop_(&loop) {}
  void request_token(const client::TokenRequest& request,
                     std::function<void(Result<client::Token>)> done) override {
    asked.push_back(request);
    loop_->post([this, life = Duration::seconds(request.expiration_seconds),
                 text = fmt::format("token-{}", asked.size()), done = std::move(done)] {
      done(away ? Result<client::Token>(fail(Code::Unavailable, "nobody answers"))
                : client::Token{.text = text, .expires = loop_->now() + life, .life = life});
    });
  }

  std::vector<client::TokenRequest> asked;
  bool away = false;

 private:
  Loop* loop_;
};

/// Node "n1" with 8 CPUs and 64 GiB of memory; its folders are gone after the test.
class FurnishedMachine : public TempFiles {
 protected:
  void SetUp() override {
    TempFiles::SetUp();
    runtime = std::make_unique<OpenRuntime>(plane.loop, cdi);
    contents = std::make_unique<node::Contents>(
        node::ContentsPlace{.loop = &plane.loop,
                            .client = &plane.client,
                            .runtime = runtime.get(),
                            .background = &background,
                            .tokens = &tokens,
                            .network = &network},
        node::ContentsOptions{.kubelet_root = path("kubelet"), .log_root = path("logs")});
    start_agent();
    run(Duration::seconds(1));
  }
  void TearDown() override {
    agent.reset();
    EXPECT_TRUE(node::unmount_below(root())); // sub-paths of pods that still ran
    TempFiles::TearDown();
  }

  void start_agent() {
    agent = std::make_unique<node::Agent>(
        node::AgentPlace{.loop = &plane.loop,
                         .client = &plane.client,
                         .runtime = runtime.get(),
                         .socket = &socket,
                         .checkpoint = &disk,
                         .contents = contents.get()},
        node::AgentOptions{.node_document = api::parse_json(R"({"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": "n1"}, "status": {
                  "capacity": {"cpu": "8", "memory": "64Gi", "pods": "110"},
                  "allocatable": {"cpu": "8", "memory": "60Gi", "pods": "110"},
                  "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}})")
                                                .value(),
                           .status_wait = Duration::seconds(0)});
  }
  void run(Duration span) { plane.run_for(span); }

  /// A pod bound to the machine. Containers get members by `edit` of the first one.
  static PodBuilder bound(std::string_view name) {
    PodBuilder builder(name);
    builder.image("r.io/app:1").on_node("n1");
    return builder;
  }
  /// Sets members of the pod's first container, as JSON.
  static void with(PodBuilder& builder, std::string_view members) {
    merge(builder, "containers", members);
  }
  static void with_spec(PodBuilder& builder, std::string_view members) {
    builder.edit([&](json::object& document) {
      api::merge_patch(document["spec"], api::parse_json(members).value());
    });
  }

  api::Object stored(std::string_view name) const {
    return plane.find(client::kPods, {"default", std::string(name)});
  }
  std::string uid(std::string_view name) const { return stored(name).meta().uid; }
  std::string pod_path(std::string_view name, std::string_view below) const {
    return path(fmt::format("kubelet/pods/{}/{}", uid(name), below));
  }
  /// A field of the first container's status, "state.waiting.reason"; "absent" if it is not there.
  std::string container(std::string_view name, std::string_view field) const {
    const json::value* list = api::find_path(stored(name).json(), "status.containerStatuses");
    if (!list || list->get_array().empty()) {
      return "absent";
    }
    const json::value* found = api::find_path(list->get_array()[0], field);
    return !found               ? "absent"
           : found->is_string() ? std::string(found->get_string())
                                : api::to_json(*found);
  }
  std::string condition(std::string_view name, std::string_view type) const {
    const json::value* list = api::find_path(stored(name).json(), "status.conditions");
    for (const json::value& each : list ? list->get_array() : json::array()) {
      if (api::string_at(each, "type") == type) {
        return fmt::format("{} {}", api::string_at(each, "status"), api::string_at(each, "reason"));
      }
    }
    return "absent";
  }
  std::vector<std::string> events(std::string_view about) const {
    std::vector<std::string> lines;
    for (const api::Object& event : plane.all(client::kEvents)) {
      if (api::string_at(event.json(), "involvedObject.name") == about) {
        lines.push_back(fmt::format("{}: {}", api::string_at(event.json(), "reason"),
                                    api::string_at(event.json(), "message")));
      }
    }
    return lines;
  }
  void create(std::string_view document) { plane.create(api::parse_json(document).value()); }

  mutable ControlPlane plane;
  Foreground background{plane.loop};
  cdi::Registry cdi;
  FakeNetwork network{plane.loop};
  FakeTokens tokens{plane.loop};
  deviceplugin::LocalKubeletSocket socket{plane.loop};
  node::MemoryCheckpointStore disk;
  std::unique_ptr<OpenRuntime> runtime;
  std::unique_ptr<node::Contents> contents;
  std::unique_ptr<node::Agent> agent;

 private:
  static void merge(PodBuilder& builder, std::string_view list, std::string_view members) {
    builder.edit([&](json::object& document) {
      api::merge_patch(document["spec"].as_object()[list].as_array()[0],
                       api::parse_json(members).value());
    });
  }
};

} // namespace berth::test
