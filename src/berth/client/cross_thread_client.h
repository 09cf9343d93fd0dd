// Client over the embedded registry of another thread, so that who decides and who serves the API
// may each have a core. Requests go to the registry's loop, answers and events to the caller's.
#pragma once

#include <memory>

#include "berth/client/client.h"
#include "berth/net/asio_loop.h"
#include "berth/store/registry.h"

namespace berth::client {

/// As LocalClient, but requests take effect in the order in which they are made as later tasks of
/// the registry's loop, so that what others write may come between. To be made and destroyed by the
/// registry's thread while the loop at home does not run; everything else belongs to the thread of
/// the loop at home. The registry and both loops must outlive the client; handles that it gave may
/// outlive it, and do nothing then.
class CrossThreadClient final : public Client {
 public:
  CrossThreadClient(store::Registry& registry, net::AsioLoop& of_registry, net::AsioLoop& home);
  ~CrossThreadClient() override;
  CrossThreadClient(const CrossThreadClient&) = delete;
  CrossThreadClient& operator=(const CrossThreadClient&) = delete;

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
  std::unique_ptr<StandingLease> hold_lease(const LeaseSpec& lease) override;

  /// What is kept beside the registry: watches and leases, by number.
  struct FarSide;

 private:
  std::shared_ptr<FarSide> far_;
};

} // namespace berth::client
