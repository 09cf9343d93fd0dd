// berth scheduler against the Kubernetes API over real loopback sockets: it takes the lead, binds a
// pod, shows its pages and gives the lead away.
#include "berth/cli/scheduler_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/net/http_client.h"
#include "berth/server/access/rbac_admission.h"
#include "berth/server/api_server.h"
#include "berth/store/memory_store.h"

namespace berth::cli {
namespace {

using testing::HasSubstr;

constexpr const char* kNode = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},
  "status":{"capacity":{"cpu":"8","memory":"16Gi","pods":"110"},
  "allocatable":{"cpu":"8","memory":"16Gi","pods":"110"},
  "conditions":[{"type":"Ready","status":"True"}]}})";
constexpr const char* kPod = R"({"apiVersion":"v1","kind":"Pod",
  "metadata":{"name":"p","namespace":"default"},
  "spec":{"containers":[{"name":"c","image":"x","resources":{"requests":{"cpu":"1"}}}]}})";

/// An API server on a thread of its own.
class Served {
 public:
  Served() {
    (void)store::bootstrap(registry_, loop_.now());
    (void)registry_.create(*api::Object::parse(kNode), loop_.now());
    (void)registry_.create(*api::Object::parse(kPod), loop_.now());
    server::ApiServerOptions options;
    options.access.tokens.add(
        "admin", {.name = "admin", .uid = {}, .groups = {"system:masters"}, .extra = {}});
    api_ = *server::ApiServer::open(loop_, registry_, std::move(options));
    http_ = *net::HttpServer::listen(
        loop_, {}, [this](const net::HttpRequest& request, const net::HttpRespond& respond) {
          api_->handle(request, respond);
        });
    url_ = fmt::format("http://127.0.0.1:{}", http_->port());
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Served() {
    loop_.stop();
    thread_.join();
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  client::ServerAccess access() const {
    return {.url = *net::HttpUrl::parse(url_), .tls = {}, .token = "admin", .token_file = {}};
  }
  api::json::value get(const std::string& path) {
    const auto answer =
        client_.send(*net::HttpUrl::parse(url_),
                     {.target = path, .headers = {{"Authorization", "Bearer admin"}}});
    return answer ? api::parse_json(answer->body).value_or(nullptr) : nullptr;
  }

 private:
  net::AsioLoop loop_;
  store::MemoryStore store_;
  store::Registry registry_{store_,
                            Rng(1),
                            {.namespaces = store::Registry::Namespaces::MustExist,
                             .admission = server::with_rbac(store::kubernetes_admission())}};
  std::unique_ptr<server::ApiServer> api_;
  std::unique_ptr<net::HttpServer> http_;
  std::string url_;
  std::thread thread_;
  net::BlockingHttpClient client_;
};

TEST(SchedulerProcess, BindsThePodsOfARemoteCluster) {
  Served served;
  const SchedulerProcessOptions options{
      .access = served.access(),
      .scheduler = {.profiles = {scheduler::berth_profile()}, .queue = {}},
      .election = client::ElectionOptions{.name = "kube-scheduler",
                                          .identity = "me",
                                          .retry_period = Duration::millis(50)},
      .port = 0};
  std::string said;
  int looks = 0;
  const auto end = run_scheduler(
      options,
      [&] {
        const auto pod = served.get("/api/v1/namespaces/default/pods/p");
        return !api::string_at(pod, "spec.nodeName").empty() || ++looks > 600;
      },
      [&](const std::string& line) { said += line + "\n"; });
  ASSERT_TRUE(end.has_value()) << to_string(end.error());
  EXPECT_EQ(*end, SchedulerEnd::Stopped);
  EXPECT_EQ(api::string_at(served.get("/api/v1/namespaces/default/pods/p"), "spec.nodeName"), "n1");
  EXPECT_THAT(said, HasSubstr("standing for the lead as me"));
  EXPECT_THAT(said, HasSubstr("leading"));
  const auto lease =
      served.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler");
  EXPECT_EQ(api::string_at(lease, "spec.holderIdentity"), "") << "the lead was given away";
}

TEST(SchedulerProcess, AServerThatIsNotThereIsTriedUntilItIsToldToStop) {
  const SchedulerProcessOptions options{
      .access = {.url = *net::HttpUrl::parse("http://127.0.0.1:1"),
                 .tls = {},
                 .token = {},
                 .token_file = {}},
      .scheduler = {.profiles = {scheduler::berth_profile()}, .queue = {}},
      .election = {},
      .port = 0};
  int looks = 0;
  const auto end = run_scheduler(
      options, [&] { return ++looks > 3; }, [](const std::string&) {});
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(*end, SchedulerEnd::Stopped);
}

} // namespace
} // namespace berth::cli
