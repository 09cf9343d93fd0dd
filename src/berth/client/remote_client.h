// Client of a Kubernetes API over HTTPS: any API server's, Berth's own too.
#pragma once

#include <memory>

#include "berth/client/client.h"
#include "berth/client/kubeconfig.h"
#include "berth/client/token_source.h"
#include "berth/net/asio_loop.h"

namespace berth::client {

struct RemoteOptions {
  std::string user_agent = "berth";
  std::size_t in_flight = 64; ///< requests at once; others wait their turn. Watches do not count.
  std::int64_t page = 500;    ///< objects asked for at once in a list
  Duration timeout = Duration::seconds(30); ///< of one request
  Duration watch_for =
      Duration::minutes(8); ///< after which a watch is begun anew, unseen by its owner
  Duration absent_retry =
      Duration::seconds(30); ///< how often a kind that the server does not have is looked for
};

/// Everything runs on the loop, which must outlive the client; handles may outlive it and then do
/// nothing. A kind that the server does not serve (a CustomResourceDefinition that is not
/// installed) has no objects: its lists are empty, and its watch waits until the kind appears.
/// Errors of requests: those of the API, with their reasons as codes; Unavailable and Timeout for
/// the way there.
class RemoteClient final : public Client, public TokenSource {
 public:
  /// Error: TLS cannot be set up with what `access` says.
  static Result<std::unique_ptr<RemoteClient>> make(net::AsioLoop& loop, ServerAccess access,
                                                    RemoteOptions options = {});
  ~RemoteClient() override;

  void get(const GroupKind& kind, const api::Key& key, Done<api::Object> done) override;
  void list(const ListOptions& what, Done<ObjectList> done) override;
  void create(api::Object object, Done<api::Object> done) override;
  void update(api::Object object, Subresource subresource, Done<api::Object> done) override;
  void patch(const GroupKind& kind, const api::Key& key, api::json::value merge_patch,
             Subresource subresource, Done<api::Object> done) override;
  void remove(const GroupKind& kind, const api::Key& key, const DeleteOptions& options,
              Done<api::Object> done) override;
  void bind(const Binding& binding, Done<api::Object> done) override;
  std::unique_ptr<Watch> watch(const WatchOptions& options,
                               std::function<void(Result<WatchEvent>)> on_event) override;
  /// Renewed four times in its duration for as long as the handle lives.
  std::unique_ptr<StandingLease> hold_lease(const LeaseSpec& lease) override;
  void request_token(const TokenRequest& request, std::function<void(Result<Token>)> done) override;

 private:
  struct Link;
  class Listing;
  explicit RemoteClient(std::shared_ptr<Link> link) : link_(std::move(link)) {}

  std::shared_ptr<Link> link_;
};

} // namespace berth::client
