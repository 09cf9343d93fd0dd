#include "berth/client/remote_client.h"

#include <algorithm>
#include <deque>
#include <fstream>
#include <iterator>
#include <utility>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/log.h"
#include "berth/client/wire.h"
#include "berth/net/http_client.h"

namespace berth::client {
namespace {

constexpr Duration kTokenAge = Duration::minutes(1);
constexpr std::size_t kLargestAnswer = std::size_t{256} * 1024 * 1024;

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kMergePatch = "application/merge-patch+json";

struct Asked {
  std::string method;
  std::string target;
  std::string body;
  std::string_view content_type = kJson;
};

bool is_absent(const Error& error) {
  return error.code == Code::NotFound && error.message.find('"') == std::string::npos;
}

} // namespace

/// The way to the server, shared with all that is under way on it.
struct RemoteClient::Link : std::enable_shared_from_this<RemoteClient::Link> {
  using Answered = std::function<void(Result<net::HttpResponse>)>;

  Link(net::AsioLoop& on, ServerAccess to, RemoteOptions how,
       std::shared_ptr<const net::TlsContext> tls)
      : loop(&on), access(std::move(to)), options(std::move(how)),
        http(on, {.timeout = options.timeout,
                  .limits = {.body_bytes = kLargestAnswer},
                  .idle_connections = options.in_flight,
                  .tls = std::move(tls)}) {}

  net::HttpRequest request_of(const Asked& asked) {
    net::HttpRequest request{.method = asked.method, .target = asked.target, .body = asked.body};
    request.headers = {{"Accept", std::string(kJson)}, {"User-Agent", options.user_agent}};
    if (!asked.body.empty()) {
      request.headers.emplace_back("Content-Type", std::string(asked.content_type));
    }
    if (const std::string& token = bearer(); !token.empty()) {
      request.headers.emplace_back("Authorization", "Bearer " + token);
    }
    return request;
  }

  const std::string& bearer() {
    if (!access.token_file.empty() && loop->now() >= token_until) {
      std::ifstream in(access.token_file, std::ios::binary);
      std::string text{std::istreambuf_iterator<char>(in), {}};
      text.erase(text.find_last_not_of(" \r\n") + 1);
      if (!text.empty()) {
        access.token = std::move(text);
      }
      token_until = loop->now() + kTokenAge;
    }
    return access.token;
  }

  void send(Asked asked, Answered done) {
    waiting.emplace_back(std::move(asked), std::move(done));
    next();
  }

  void next() {
    while (in_flight < options.in_flight && !waiting.empty()) {
      auto [asked, answered] = std::move(waiting.front());
      waiting.pop_front();
      ++in_flight;
      http.send(access.url, request_of(asked),
                [this, done = std::move(answered)](Result<net::HttpResponse> response) {
                  const auto self = shared_from_this(); // `done` may drop the client
                  --in_flight;
                  done(std::move(response));
                  next();
                });
    }
  }

  template <class T> using Read = std::function<Result<T>(const net::HttpResponse&)>;

  template <class T> void send_for(Asked asked, Done<T> done, std::type_identity_t<Read<T>> read) {
    send(std::move(asked), [done = std::move(done),
                            read = std::move(read)](const Result<net::HttpResponse>& response) {
      if (!done) {
        return;
      }
      if (!response) {
        done(tl::unexpected(response.error()));
      } else if (response->status >= 400) {
        done(tl::unexpected(error_of(*response)));
      } else {
        done(read(*response));
      }
    });
  }
  void send_for_object(Asked asked, Done<api::Object> done) {
    send_for<api::Object>(std::move(asked), std::move(done), &object_of);
  }

  net::AsioLoop* loop;
  ServerAccess access;
  RemoteOptions options;
  net::HttpClient http;
  std::deque<std::pair<Asked, Answered>> waiting;
  std::size_t in_flight = 0;
  TimePoint token_until;
};

/// One list, page by page.
class RemoteClient::Listing : public std::enable_shared_from_this<RemoteClient::Listing> {
 public:
  Listing(Link& link, const ListOptions& what, Done<ObjectList> done)
      : link_(&link), kind_(what.kind), done_(std::move(done)),
        base_(fmt::format("{}?limit={}", collection_path(what.kind, what.ns), link.options.page)) {
    if (const std::string selection = selection_query(what); !selection.empty()) {
      base_ += "&" + selection;
    }
  }

  void ask(const std::string& token) {
    link_->send({.method = "GET",
                 .target = token.empty() ? base_ : base_ + "&continue=" + token,
                 .body = {}},
                [self = shared_from_this()](const Result<net::HttpResponse>& response) {
                  self->got(response);
                });
  }

 private:
  void got(const Result<net::HttpResponse>& response) {
    if (!response) {
      done_(tl::unexpected(response.error()));
      return;
    }
    if (response->status >= 400) {
      const Error error = error_of(*response);
      done_(is_absent(error) ? Result<ObjectList>(ObjectList()) : tl::unexpected(error));
      return;
    }
    auto page = list_page_of(*response, kind_);
    if (!page) {
      done_(tl::unexpected(std::move(page).error()));
      return;
    }
    all_.resource_version = page->list.resource_version;
    std::ranges::move(page->list.items, std::back_inserter(all_.items));
    if (page->continue_token.empty()) {
      done_(std::move(all_));
    } else {
      ask(page->continue_token);
    }
  }

  Link* link_; // whose calls hold this
  GroupKind kind_;
  Done<ObjectList> done_;
  std::string base_;
  ObjectList all_;
};

namespace {

/// A watch that is begun anew, unseen, whenever the server ends it in good order.
template <class Link> class RemoteWatch final : public Watch {
 public:
  using OnEvent = std::function<void(Result<WatchEvent>)>;

  RemoteWatch(const std::shared_ptr<Link>& link, const WatchOptions& options, OnEvent on_event)
      : running_(std::make_shared<Running>(link, options, std::move(on_event))) {
    running_->open();
  }
  ~RemoteWatch() override { running_->stop(); }

 private:
  struct Running : std::enable_shared_from_this<Running> {
    Running(const std::shared_ptr<Link>& to, const WatchOptions& options, OnEvent given)
        : link(to), what(options.what), since(options.since), on_event(std::move(given)),
          again(*to->loop) {}

    void open() {
      const auto to = link.lock();
      if (!to) {
        return;
      }
      status = 200;
      text.clear();
      std::string target = fmt::format(
          "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}",
          collection_path(what.kind, what.ns), to->options.watch_for.count_seconds(), since);
      if (const std::string selection = selection_query(what); !selection.empty()) {
        target += "&" + selection;
      }
      const std::weak_ptr<Running> weak = this->weak_from_this();
      call = to->http.stream(
          to->access.url,
          to->request_of({.method = "GET", .target = std::move(target), .body = {}}),
          {.head =
               [weak](const net::HttpResponse& head) {
                 if (const auto self = weak.lock()) {
                   self->status = head.status;
                 }
               },
           .piece =
               [weak](std::string_view piece) {
                 if (const auto self = weak.lock()) {
                   self->got(piece);
                 }
               },
           .end =
               [weak](const Result<void>& how) {
                 if (const auto self = weak.lock()) {
                   self->ended(how);
                 }
               }},
          to->options.watch_for + Duration::seconds(30));
    }

    void stop() {
      stopped = true;
      again.cancel();
      call = nullptr;
    }

    void got(std::string_view piece) {
      text += piece;
      if (status >= 400) {
        return;
      }
      std::size_t from = 0;
      for (std::size_t end = text.find('\n'); end != std::string::npos && !stopped;
           end = text.find('\n', from)) {
        const std::string line = text.substr(from, end - from);
        from = end + 1;
        take(line);
      }
      text.erase(0, from);
    }

    void take(const std::string& line) {
      Result<WatchEvent> event = event_of(line);
      if (event) {
        since = std::max(since, event->resource_version);
        on_event(std::move(event));
      } else {
        fail_with(std::move(event).error());
      }
    }

    void ended(const Result<void>& how) {
      if (stopped) {
        return;
      }
      if (status >= 400) {
        Error error = error_of({.status = status, .headers = {}, .body = text});
        if (!is_absent(error)) {
          fail_with(std::move(error));
        } else if (const auto to = link.lock()) {
          again.set(to->options.absent_retry, [this] { open(); });
        }
      } else if (how) {
        again.set(Duration(), [this] { open(); });
      } else {
        fail_with(how.error());
      }
    }

    void fail_with(Error error) {
      const auto self = this->shared_from_this(); // the owner may drop the watch now
      const OnEvent tell = on_event;
      stop();
      if (error.code == Code::Gone) {
        error.code = Code::Expired;
      }
      tell(tl::unexpected(std::move(error)));
    }

    std::weak_ptr<Link> link;
    ListOptions what;
    std::uint64_t since;
    OnEvent on_event;
    Timer again;
    std::unique_ptr<net::HttpStreamCall> call;
    int status = 200;
    std::string text;
    bool stopped = false;
  };

  std::shared_ptr<Running> running_;
};

/// Renews a lease for as long as it lives.
template <class Link> class RenewedLease final : public StandingLease {
 public:
  RenewedLease(const std::shared_ptr<Link>& link, LeaseSpec lease)
      : running_(std::make_shared<Running>(link, std::move(lease))) {
    running_->renew();
  }
  ~RenewedLease() override { running_->timer.cancel(); }

 private:
  struct Running : std::enable_shared_from_this<Running> {
    Running(const std::shared_ptr<Link>& to, LeaseSpec spec)
        : link(to), lease(std::move(spec)), timer(*to->loop) {}

    api::json::object spec(const Link& to) const {
      return {{"holderIdentity", lease.holder},
              {"leaseDurationSeconds", lease.duration_seconds},
              {"renewTime", to_rfc3339_micro(to.loop->now())}};
    }

    void renew() {
      const auto to = link.lock();
      if (!to) {
        return;
      }
      timer.set(Duration::seconds(lease.duration_seconds) / 4, [this] { renew(); });
      to->send_for_object(
          {.method = "PATCH",
           .target = object_path(kLeases, {lease.ns, lease.name}, Subresource::None),
           .body = api::json::serialize(api::json::object{{"spec", spec(*to)}}),
           .content_type = kMergePatch},
          [weak = this->weak_from_this()](const Result<api::Object>& written) {
            const auto self = weak.lock();
            if (self && !written) {
              self->failed(written.error());
            }
          });
    }

    void failed(const Error& error) {
      const auto to = link.lock();
      if (to && error.code == Code::NotFound) {
        to->send_for_object(
            {.method = "POST",
             .target = collection_path(kLeases, lease.ns),
             .body = api::json::serialize(api::json::object{
                 {"apiVersion", "coordination.k8s.io/v1"},
                 {"kind", "Lease"},
                 {"metadata", api::json::object{{"name", lease.name}, {"namespace", lease.ns}}},
                 {"spec", spec(*to)}})},
            nullptr);
      } else {
        log(LogLevel::Warn, "lease", to_string(error));
      }
    }

    std::weak_ptr<Link> link;
    LeaseSpec lease;
    Timer timer;
  };

  std::shared_ptr<Running> running_;
};

} // namespace

Result<std::unique_ptr<RemoteClient>> RemoteClient::make(net::AsioLoop& loop, ServerAccess access,
                                                         RemoteOptions options) {
  std::shared_ptr<const net::TlsContext> tls;
  if (access.url.tls) {
    BERTH_TRY(tls, net::TlsContext::client(access.tls));
  }
  auto link = std::make_shared<Link>(loop, std::move(access), std::move(options), std::move(tls));
  return std::unique_ptr<RemoteClient>(new RemoteClient(std::move(link)));
}

RemoteClient::~RemoteClient() = default;

void RemoteClient::get(const GroupKind& kind, const api::Key& key, Done<api::Object> done) {
  link_->send_for_object(
      {.method = "GET", .target = object_path(kind, key, Subresource::None), .body = {}},
      std::move(done));
}

void RemoteClient::list(const ListOptions& what, Done<ObjectList> done) {
  std::make_shared<Listing>(*link_, what, std::move(done))->ask("");
}

void RemoteClient::create(api::Object object, Done<api::Object> done) {
  const GroupKind kind = store::group_kind(object);
  const bool cluster = api::scope_of(object.gvk()) == api::Scope::Cluster;
  const std::string ns = cluster ? "" : object.meta().ns.empty() ? "default" : object.meta().ns;
  link_->send_for_object(
      {.method = "POST", .target = collection_path(kind, ns), .body = object.bytes()},
      std::move(done));
}

void RemoteClient::update(api::Object object, Subresource subresource, Done<api::Object> done) {
  link_->send_for_object(
      {.method = "PUT",
       .target = object_path(store::group_kind(object), object.key(), subresource),
       .body = object.bytes()},
      std::move(done));
}

void RemoteClient::patch(const GroupKind& kind, const api::Key& key, api::json::value merge_patch,
                         Subresource subresource, Done<api::Object> done) {
  link_->send_for_object({.method = "PATCH",
                          .target = object_path(kind, key, subresource),
                          .body = api::json::serialize(merge_patch),
                          .content_type = kMergePatch},
                         std::move(done));
}

void RemoteClient::remove(const GroupKind& kind, const api::Key& key, const DeleteOptions& options,
                          Done<api::Object> done) {
  link_->send_for({.method = "DELETE",
                   .target = object_path(kind, key, Subresource::None),
                   .body = delete_body(options)},
                  std::move(done), [kind, key](const net::HttpResponse& response) {
                    return named_object_of(response, kind, key, "");
                  });
}

void RemoteClient::bind(const Binding& binding, Done<api::Object> done) {
  link_->send_for<api::Object>(
      {.method = "POST",
       .target = object_path(kPods, binding.pod, Subresource::None) + "/binding",
       .body = binding_body(binding)},
      std::move(done), [binding](const net::HttpResponse& response) {
        return named_object_of(response, kPods, binding.pod, binding.uid);
      });
}

void RemoteClient::request_token(const TokenRequest& request,
                                 std::function<void(Result<Token>)> done) {
  link_->send_for<Token>(
      {.method = "POST",
       .target = object_path({"", "ServiceAccount"}, request.service_account, Subresource::None) +
                 "/token",
       .body = token_body(request)},
      std::move(done), [](const net::HttpResponse& response) -> Result<Token> {
        BERTH_TRY(const api::json::value answered, api::parse_json(response.body));
        return token_of(answered);
      });
}

std::unique_ptr<Watch> RemoteClient::watch(const WatchOptions& options,
                                           std::function<void(Result<WatchEvent>)> on_event) {
  return std::make_unique<RemoteWatch<Link>>(link_, options, std::move(on_event));
}

std::unique_ptr<StandingLease> RemoteClient::hold_lease(const LeaseSpec& lease) {
  return std::make_unique<RenewedLease<Link>>(link_, lease);
}

} // namespace berth::client
