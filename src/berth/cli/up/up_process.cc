#include "berth/cli/up/up_process.h"

#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "berth/base/huge_pages.h"
#include "berth/base/log.h"
#include "berth/cli/agent/gpu_usage.h"
#include "berth/cli/agent/machine_gpus.h"
#include "berth/cli/process_identity.h"
#include "berth/cli/up/agent_metrics.h"
#include "berth/cli/up/identity.h"
#include "berth/cli/up/issued_tokens.h"
#include "berth/cli/up/lead.h"
#include "berth/cli/up/live_nodes.h"
#include "berth/cli/up/process_metrics.h"
#include "berth/cli/up/service_notice.h"
#include "berth/cli/up/shared_keys.h"
#include "berth/hardware/platform.h"
#include "berth/kubelet/joined_nodes.h"
#include "berth/kubelet/kubelet_server.h"
#include "berth/kubelet/local_node.h"
#include "berth/kubelet/local_nodes.h"
#include "berth/kubelet/remote_nodes.h"
#include "berth/net/asio_background.h"
#include "berth/net/certificates.h"
#include "berth/net/http_server.h"
#include "berth/server/access/rbac_admission.h"
#include "berth/server/api_server.h"
#include "berth/store/journaled_store.h"

namespace berth::cli {
namespace {

constexpr Duration kLook = Duration::millis(100);
constexpr int kLooksToResign = 30;
constexpr Duration kBlink = Duration::millis(5);
constexpr Duration kFarewell = Duration::seconds(10); ///< for requests under way
constexpr std::size_t kConnections = 20'000;
constexpr const char* kLease = "berth"; // in kube-system
constexpr Duration kClocksDiffer = Duration::minutes(5);
constexpr Duration kShownFor = Duration::hours(24 * 365);

class UpProcess {
 public:
  explicit UpProcess(const UpOptions& options) : options_(options), start_(loop_.now()) {}

  Result<UpReady> open() {
    BERTH_CHECK(make_folders(options_.home));
    BERTH_TRY(HomeLock lock, HomeLock::take(options_.home));
    lock_.emplace(std::move(lock));
    BERTH_CHECK(open_store());
    BERTH_TRY(const Identity identity, identity_of(options_.home, options_.address, loop_.now()));
    BERTH_CHECK(make_registry(identity));
    BERTH_CHECK(listen(identity));
    const std::string host = options_.address.find(':') == std::string::npos
                                 ? options_.address
                                 : "[" + options_.address + "]";
    UpReady ready{.url = fmt::format("https://{}:{}", host, server_->port())};
    BERTH_CHECK(write_private(options_.home.kubeconfig(), kubeconfig_text(identity, ready.url)));
    BERTH_CHECK(lock_->tell({.pid = getpid(), .url = ready.url}));
    ready.nodes = options_.spec.node_count();
    ready.gpus = gpus();
    ready.seconds = static_cast<double>((loop_.now() - start_).count_millis()) / 1000;
    notify_service("READY=1");
    return ready;
  }

  void serve(const std::function<bool()>& stop) {
    while (!stop()) {
      loop_.run_for(kLook);
    }
    notify_service("STOPPING=1");
    if (lead_) { // nobody has to wait for it to run out
      bool done = false;
      lead_->resign([&] { done = true; });
      for (int looks = 0; !done && looks < kLooksToResign; ++looks) {
        loop_.run_for(kLook);
      }
    }
    api_->drain();
    server_->drain();
    const TimePoint end = loop_.now() + kFarewell;
    while (server_->connections() > 0 && loop_.now() < end) {
      loop_.run_for(kBlink);
    }
  }

 private:
  Result<void> open_store() {
    if (options_.etcd) {
      BERTH_TRY(auto store, etcd::EtcdStore::open(loop_, *options_.etcd));
      BERTH_CHECK(identity_of(options_.home, options_.address, loop_.now()));
      BERTH_CHECK(account_key());
      BERTH_CHECK(share_keys(options_.home, *store));
      store_ = std::move(store);
      return {};
    }
    if (options_.in_memory) {
      store_ = std::make_unique<store::MemoryStore>();
      return {};
    }
    BERTH_TRY(store_, store::JournaledStore::open(loop_, options_.home.database().string(),
                                                  net::make_background(loop_)));
    return {};
  }

  Result<void> make_registry(const Identity& identity) {
    const auto seed = static_cast<std::uint64_t>(start_.unix_nanos());
    registry_ = std::make_unique<store::Registry>(
        *store_, Rng(seed),
        store::Registry::Options{.namespaces = store::Registry::Namespaces::MustExist,
                                 .admission = server::with_rbac(store::server_admission())});
    if (const auto made = store::bootstrap(*registry_, loop_.now()); !made) {
      log(LogLevel::Error, "cluster", to_string(made.error())); // a store that does not answer
    }
    if (options_.api_alone) {
      return {};
    }
    BERTH_CHECK(cluster::define_faults(*registry_, loop_.now()));
    const auto make_cluster = [this, seed, root_ca = identity.authority.certificate] {
      cluster::ClusterOptions options = options_.cluster;
      options.seed = seed + ++clusters_made_;
      options.root_ca = root_ca;
      return std::make_unique<LiveCluster>(loop_, *registry_, options_.spec, std::move(options));
    };
    if (!options_.etcd) {
      cluster_ = make_cluster();
      return {};
    }
    lead_ = std::make_unique<Lead>(
        loop_, *registry_, client::ElectionOptions{.name = kLease, .identity = process_identity()},
        make_cluster);
    return {};
  }

  Result<void> join_machine() {
    if (!options_.machine) {
      return {};
    }
    const auto say = [](const std::string& line) { log(LogLevel::Info, "agent", line); };
    node::RealMachineOptions with = options_.machine->machine;
    with.tokens = &account_tokens_;
    BERTH_TRY(with.gpus, machine_gpus(loop_, options_.machine->platform.get(), with.name, say));
    const auto gpus = with.gpus;
    const std::string disk = with.root;
    machine_client_.emplace(*registry_, loop_);
    machine_.emplace(loop_, *machine_client_, std::move(with));
    BERTH_CHECK(machine_->start(say));
    local_node_.emplace(loop_, machine_->runtime());
    meter_.emplace(loop_, machine_->runtime(), kubelet::MachineSource{.disk = disk});
    local_nodes_.emplace(machine_->name(), *local_node_, *meter_,
                         [this, gpus] { return machine_gpu_usage(gpus.get(), machine_->agent()); });
    return {};
  }

  /// The simulated nodes, and those whose agents are other processes: these know the API server by
  /// a certificate of the cluster's authority, and are believed whatever they show, as
  /// kube-apiserver believes kubelets.
  Result<void> join_nodes(const Identity& identity) {
    if (options_.api_alone) {
      return {};
    }
    BERTH_TRY(const net::KeyPair shown,
              net::issue(identity.authority, {.common_name = kubelet::kApiServerUser,
                                              .organizations = {"system:masters"},
                                              .not_before = start_ - kClocksDiffer,
                                              .not_after = start_ + kShownFor}));
    BERTH_TRY(auto tls,
              net::TlsContext::client(
                  {.certificate = shown.certificate, .key = shown.key, .insecure = true}));
    agents_.emplace(loop_, *registry_,
                    kubelet::RemoteNodesOptions{.tls = std::move(tls), .bearer_token = {}});
    std::vector<server::Nodes*> all{&nodes_, &*agents_};
    if (local_nodes_) {
      all.insert(all.begin(), &*local_nodes_);
    }
    all_nodes_.emplace(std::move(all));
    return {};
  }

  Result<void> listen(const Identity& identity) {
    BERTH_CHECK(join_machine());
    BERTH_CHECK(join_nodes(identity));
    net::HttpServerOptions options{.address = options_.address,
                                   .port = options_.port,
                                   .tls = nullptr,
                                   .connections = kConnections};
    BERTH_TRY(options.tls, net::TlsContext::server({.certificate = identity.server.certificate,
                                                    .key = identity.server.key,
                                                    .client_ca = identity.authority.certificate}));
    BERTH_TRY(server::TokenKey key, account_key());
    server::ApiServerOptions api{.address = fmt::format("{}:{}", options_.address, options_.port),
                                 .account_key = std::move(key),
                                 .authority = identity.authority,
                                 .gpu_columns = server::GpuColumns::Shown,
                                 .nodes = all_nodes_ ? &*all_nodes_ : nullptr};
    api.access.tokens = options_.tokens;
    api.more_metrics = [this](std::function<void(std::string)> done) {
      more_metrics(std::move(done));
    };
    if (cluster_ != nullptr || lead_ != nullptr) {
      api.node_metrics = [this](std::function<void(std::string)> done) {
        node_metrics(std::move(done));
      };
    }
    api.checks = checks();
    if (!options_.audit_log.empty()) {
      BERTH_TRY(api.audit, audit_sink());
    }
    BERTH_TRY(api_, server::ApiServer::open(loop_, *registry_, std::move(api)));
    auto listening = net::HttpServer::listen(
        loop_, std::move(options),
        [this](const net::HttpRequest& request, const net::HttpRespond& respond) {
          api_->handle(request, respond);
        });
    if (!listening) {
      return fail(listening.error().code,
                  fmt::format("{}; choose another port with --port, or 0 for any that is free",
                              listening.error().message));
    }
    server_ = *std::move(listening);
    return {};
  }

  /// null: another replica leads, or there is the API alone.
  LiveCluster* live() const { return lead_ ? lead_->cluster() : cluster_.get(); }

  void more_metrics(std::function<void(std::string)> done) {
    std::string text = process_metrics(start_);
    LiveCluster* const cluster = live();
    if (cluster == nullptr) {
      done(std::move(text));
      return;
    }
    cluster->scheduler_metrics([text = std::move(text), done = std::move(done)](
                                   const std::string& more) { done(text + more); });
  }

  void node_metrics(std::function<void(std::string)> done) {
    LiveCluster* const cluster = live();
    const auto tell = [this, done = std::move(done)](node::AgentCounts::Families fleet) {
      done(agents_page(std::move(fleet), machine_ ? &*machine_ : nullptr));
    };
    if (cluster == nullptr) {
      tell({});
    } else {
      cluster->agent_counts(tell);
    }
  }

  std::vector<server::HealthCheck> checks() const {
    if (cluster_ == nullptr) {
      return {};
    }
    return {{.name = "informer-sync",
             .of = server::HealthCheck::Of::Readiness,
             .holds = [this]() -> Result<void> {
               return cluster_->scheduler_synced()
                          ? Result<void>()
                          : fail(Code::Unavailable, "the scheduler has not listed everything yet");
             }}};
  }

  /// Signs service accounts' tokens: kept, so that they outlive the process.
  Result<server::TokenKey> account_key() const {
    const std::filesystem::path path = options_.home.pki() / "sa.key";
    std::ifstream in(path, std::ios::binary);
    const std::string pem{std::istreambuf_iterator<char>(in), {}};
    if (!pem.empty()) {
      return server::TokenKey::from_pem(pem);
    }
    BERTH_TRY(server::TokenKey key, server::TokenKey::generate());
    BERTH_CHECK(write_private(path, key.pem()));
    return key;
  }

  Result<server::AuditLog::Sink> audit_sink() const {
    errno = 0;
    auto out = std::make_shared<std::ofstream>(options_.audit_log, std::ios::app);
    if (!*out) {
      return fail(Code::Unavailable,
                  fmt::format("{}: the audit log cannot be written: {}", options_.audit_log,
                              std::generic_category().message(errno)));
    }
    return [out](std::string_view line) { *out << line << std::flush; };
  }

  int gpus() const {
    int sum = 0;
    for (const cluster::NodeGroup& group : options_.spec.groups) {
      const hardware::Platform* platform = options_.spec.catalogue.find(group.platform);
      sum += platform == nullptr ? 0 : group.count * static_cast<int>(platform->gpus.size());
    }
    return sum;
  }

  UpOptions options_;
  net::AsioLoop loop_;
  TimePoint start_;
  std::optional<HomeLock> lock_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::Registry> registry_;
  std::unique_ptr<LiveCluster> cluster_;
  std::unique_ptr<Lead> lead_;
  std::uint64_t clusters_made_ = 0;
  IssuedTokens account_tokens_{loop_, [this] { return api_.get(); }};
  LiveNodes nodes_{[this] { return live(); }, cluster::node_names(options_.spec)};
  std::optional<client::LocalClient> machine_client_;
  std::optional<node::RealMachine> machine_;
  std::optional<kubelet::LocalNode> local_node_;
  std::optional<kubelet::UsageMeter> meter_;
  std::optional<kubelet::LocalNodes> local_nodes_;
  std::optional<kubelet::RemoteNodes> agents_;
  std::optional<kubelet::JoinedNodes> all_nodes_;
  std::unique_ptr<server::ApiServer> api_;
  std::unique_ptr<net::HttpServer> server_;
};

} // namespace

Result<void> serve_cluster(const UpOptions& options, const std::function<bool()>& stop,
                           const std::function<void(const UpReady&)>& ready) {
  allocate_by_huge_pages();
  UpProcess process(options);
  BERTH_TRY(const UpReady facts, process.open());
  ready(facts);
  process.serve(stop);
  return {};
}

} // namespace berth::cli
