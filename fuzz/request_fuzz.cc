// Any bytes as requests to an API server: each is answered, a refusal is a Status with its code and
// a message, nothing that is answered with an error has changed anything, and what is kept can be
// read.
//
// An input is requests, each of a first line "METHOD TARGET [CONTENT-TYPE]" and a body, apart by a
// line "---". `kubectl --v=8` shows where good ones come from.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/json.h"
#include "berth/base/assert.h"
#include "berth/base/virtual_loop.h"
#include "berth/server/access/rbac_admission.h"
#include "berth/server/api_server.h"
#include "berth/store/memory_store.h"
#include "berth/store/registry.h"

namespace {

using namespace berth;

constexpr TimePoint kNow = TimePoint::from_unix_seconds(1'700'000'000);
constexpr std::string_view kBetween = "\n---\n";
constexpr std::size_t kMostRequests = 12;

/// Takes what a watch says; nobody listens.
class Silence final : public net::HttpStream {
 public:
  void send(std::string_view) override {}
  void end() override { on_gone_ = nullptr; }
  std::size_t waiting() const override { return 0; }
  void on_gone(std::function<void()> gone) override { on_gone_ = std::move(gone); }
  void leave() {
    if (const auto gone = std::exchange(on_gone_, nullptr)) {
      gone();
    }
  }

 private:
  std::function<void()> on_gone_;
};

class Cluster {
 public:
  explicit Cluster(const std::vector<api::Object>& objects) {
    store.restore(objects, objects.size() + 1);
    server::ApiServerOptions options;
    options.account_key = key();
    options.access.tokens.add(
        "admin", {.name = "admin", .uid = {}, .groups = {"system:masters"}, .extra = {}});
    served = *server::ApiServer::open(loop, registry, std::move(options));
    loop.run_until(loop.now());
  }
  ~Cluster() {
    for (const auto& stream : streams) {
      stream->leave();
    }
  }

  std::optional<net::HttpResponse> ask(net::HttpRequest request) {
    std::optional<net::HttpResponse> answer;
    served->handle(request, [&](net::HttpResponse given) { answer = std::move(given); });
    loop.run_until(loop.now());
    if (answer && answer->stream) {
      streams.push_back(std::make_shared<Silence>());
      answer->stream(streams.back());
    }
    return answer;
  }

  /// Signing keys take long to make.
  static server::TokenKey key() {
    static const server::TokenKey made = *server::TokenKey::generate();
    return made;
  }

  VirtualLoop loop{kNow};
  store::MemoryStore store;
  store::Registry registry{store,
                           Rng(1),
                           {.namespaces = store::Registry::Namespaces::MustExist,
                            .admission = server::with_rbac(store::server_admission())}};
  std::unique_ptr<server::ApiServer> served;
  std::vector<std::shared_ptr<Silence>> streams;
};

/// What every cluster begins with, made once.
const std::vector<api::Object>& beginning() {
  static const std::vector<api::Object> objects = [] {
    Cluster cluster({});
    (void)store::bootstrap(cluster.registry, kNow);
    (void)cluster.ask({.method = "POST",
                       .target = "/api/v1/namespaces",
                       .headers = {{"Authorization", "Bearer admin"}},
                       .body = R"({"metadata":{"name":"default"}})"});
    std::vector<api::Object> all;
    for (const store::GroupKind& kind : {store::GroupKind{"", "Namespace"},
                                         {"scheduling.k8s.io", "PriorityClass"},
                                         {"rbac.authorization.k8s.io", "ClusterRole"},
                                         {"rbac.authorization.k8s.io", "ClusterRoleBinding"},
                                         {"rbac.authorization.k8s.io", "Role"},
                                         {"rbac.authorization.k8s.io", "RoleBinding"}}) {
      for (api::Object& object : cluster.store.list({.kind = kind, .ns = {}, .labels = {}}).items) {
        all.push_back(std::move(object));
      }
    }
    return all;
  }();
  return objects;
}

net::HttpRequest request_of(std::string_view text) {
  const std::size_t line_end = text.find('\n');
  std::string_view line = text.substr(0, line_end);
  const auto word = [&line] {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string taken(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
    return taken;
  };
  net::HttpRequest request;
  request.method = word();
  request.target = word();
  request.headers = {{"Authorization", "Bearer admin"}};
  if (!line.empty()) {
    request.headers.emplace_back("Content-Type", std::string(line));
  }
  request.body = line_end == std::string_view::npos ? "" : text.substr(line_end + 1);
  return request;
}

void judge(const net::HttpResponse& answer, const std::string& asked) {
  BERTH_ASSERT(answer.status >= 200 && answer.status < 600, asked);
  if (answer.status < 400 || answer.stream || answer.body.empty() || answer.body.front() != '{') {
    return;
  }
  const auto status = api::parse_json(answer.body);
  BERTH_ASSERT(status.has_value(), asked + "\n" + answer.body);
  BERTH_ASSERT(api::string_at(*status, "kind") == "Status", asked + "\n" + answer.body);
  const api::json::value* code = api::find(*status, "code");
  BERTH_ASSERT(code != nullptr && code->is_int64() && code->get_int64() == answer.status,
               asked + "\n" + answer.body);
  BERTH_ASSERT(!api::string_at(*status, "message").empty(), asked + "\n" + answer.body);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  Cluster cluster(beginning());
  for (std::size_t asked = 0; asked < kMostRequests && !text.empty(); ++asked) {
    const std::size_t end = std::min(text.find(kBetween), text.size());
    const std::string one(text.substr(0, end));
    text.remove_prefix(std::min(end + kBetween.size(), text.size()));

    const std::uint64_t before = cluster.registry.revision();
    const auto answer = cluster.ask(request_of(one));
    if (!answer) {
      continue; // waits for what does not come, as a watch of the future does
    }
    judge(*answer, one);
    BERTH_ASSERT(answer->status < 400 || cluster.registry.revision() == before,
                 "refused and done all the same: " + one + "\n" + answer->body);
  }
  return 0;
}
