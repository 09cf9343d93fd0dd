// A runtime that has what a test says it has, and runs nothing: for those who only look.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/loop.h"
#include "berth/runtime/runtime.h"

namespace berth::test {

class ListedRuntime final : public runtime::Runtime {
 public:
  explicit ListedRuntime(Loop& loop) : loop_(&loop) {}

  /// A container that runs.
  runtime::ContainerStatus& add(const std::string& id, const std::string& pod,
                                const std::string& name) {
    runtime::ContainerStatus container{
        .id = id,
        .sandbox_id = "sandbox-" + pod,
        .pod_uid = "uid-" + pod,
        .name = name,
        .attempt = 0,
        .state = runtime::ContainerState::Running,
        .labels = {{std::string(runtime::kPodNamespaceLabel), "default"},
                   {std::string(runtime::kPodNameLabel), pod}}};
    container.image = "image";
    container.created_at =
        TimePoint::from_unix_seconds(static_cast<std::int64_t>(listing.containers.size()));
    listing.containers.push_back(std::move(container));
    return listing.containers.back();
  }
  void add_sandbox(const std::string& pod) {
    listing.sandboxes.push_back({.id = "sandbox-" + pod,
                                 .name = pod,
                                 .ns = "default",
                                 .uid = "uid-" + pod,
                                 .ip = "10.0.0.1"});
  }
  /// Tells who listens that it has ended.
  void end(const std::string& id) {
    for (runtime::ContainerStatus& one : listing.containers) {
      if (one.id == id) {
        one.state = runtime::ContainerState::Exited;
        const auto all = listeners_;
        for (const auto* listener : all) {
          (*listener)({.type = runtime::ContainerEvent::Type::Stopped, .status = one});
        }
      }
    }
  }

  std::string boot_id() const override { return "boot"; }
  void list(runtime::Done<runtime::Listing> done) override {
    loop_->post([this, done = std::move(done)] { done(listing); });
  }
  void usages(runtime::Done<runtime::Usages> done) override {
    loop_->post([this, done = std::move(done)] {
      ++usages_asked;
      if (on_usages) {
        on_usages();
      }
      usage_error ? done(tl::unexpected(*usage_error)) : done(used);
    });
  }
  void container_status(const std::string& id,
                        runtime::Done<runtime::ContainerStatus> done) override {
    loop_->post([this, id, done = std::move(done)] {
      const auto found = std::ranges::find(listing.containers, id, &runtime::ContainerStatus::id);
      found == listing.containers.end() ? done(fail(Code::NotFound, "no container " + id))
                                        : done(*found);
    });
  }
  std::unique_ptr<runtime::EventStream>
  events(std::function<void(const runtime::ContainerEvent&)> on_event) override {
    return std::make_unique<Listener>(listeners_, std::move(on_event));
  }
  void set_cpus(const std::string& id, const std::string& cpus, runtime::Done<void> done) override {
    moved.push_back(id + " " + cpus);
    loop_->post([this, done = std::move(done)] {
      move_error ? done(tl::unexpected(*move_error)) : done({});
    });
  }
  void exec_url(const std::string& id, const std::vector<std::string>& command,
                const runtime::StreamWish& wish, runtime::Done<std::string> done) override {
    asked.push_back("exec " + id + " " + command.front() + (wish.in ? " in" : "") +
                    (wish.tty ? " tty" : ""));
    tell_url(std::move(done));
  }
  void attach_url(const std::string& id, const runtime::StreamWish&,
                  runtime::Done<std::string> done) override {
    asked.push_back("attach " + id);
    tell_url(std::move(done));
  }
  void port_forward_url(const std::string& sandbox_id, const std::vector<std::int32_t>& ports,
                        runtime::Done<std::string> done) override {
    asked.push_back("ports " + sandbox_id + " " + std::to_string(ports.size()));
    tell_url(std::move(done));
  }

  // What nobody who only looks asks for.
  void run_pod_sandbox(runtime::SandboxConfig,
                       runtime::Done<runtime::SandboxStatus> done) override {
    done(not_here());
  }
  void stop_pod_sandbox(const std::string&, runtime::Done<void> done) override { done(not_here()); }
  void remove_pod_sandbox(const std::string&, runtime::Done<void> done) override {
    done(not_here());
  }
  void create_container(const std::string&, runtime::ContainerConfig,
                        runtime::Done<std::string> done) override {
    done(not_here());
  }
  void start_container(const std::string&, runtime::Done<void> done) override { done(not_here()); }
  void stop_container(const std::string&, Duration, runtime::Done<void> done) override {
    done(not_here());
  }
  void remove_container(const std::string&, runtime::Done<void> done) override { done(not_here()); }

  runtime::Listing listing;
  std::string url; ///< of the streaming server; "": there is none
  std::vector<std::string> asked;
  runtime::Usages used;
  std::optional<Error> usage_error;
  std::function<void()> on_usages; ///< before each answer
  int usages_asked = 0;
  std::vector<std::string> moved;  ///< "ID CPUS", as asked
  std::optional<Error> move_error; ///< of every move; none: it is done

 private:
  using OnEvent = std::function<void(const runtime::ContainerEvent&)>;

  class Listener final : public runtime::EventStream {
   public:
    Listener(std::set<const OnEvent*>& all, OnEvent on_event)
        : all_(&all), on_event_(std::move(on_event)) {
      all_->insert(&on_event_);
    }
    ~Listener() override { all_->erase(&on_event_); }

   private:
    std::set<const OnEvent*>* all_;
    OnEvent on_event_;
  };

  static tl::unexpected<Error> not_here() { return fail(Code::BadRequest, "nothing runs here"); }
  void tell_url(runtime::Done<std::string> done) {
    loop_->post([this, done = std::move(done)] {
      url.empty() ? done(fail(Code::Unavailable, "no streaming server")) : done(url);
    });
  }

  Loop* loop_;
  std::set<const OnEvent*> listeners_;
};

} // namespace berth::test
