// Client over the embedded registry, in the same process. Requests take effect in the call; what
// they answer and what watches see arrives as later tasks of the Loop, in the order in which it
// happened.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/client/client.h"
#include "berth/store/registry.h"

namespace berth::client {

/// Several clients may share a registry. The registry and the loop must outlive the client and the
/// handles it gave.
class LocalClient final : public Client {
 public:
  LocalClient(store::Registry& registry, Loop& loop) : registry_(&registry), loop_(&loop) {}

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
  /// Writes the Lease now and once more when the handle is dropped; between the two it carries
  /// annotation kStandingAnnotation, and readers take it as renewed at every instant.
  std::unique_ptr<StandingLease> hold_lease(const LeaseSpec& lease) override;

 private:
  store::WriteOptions judged() const;

  store::Registry* registry_;
  Loop* loop_;
};

} // namespace berth::client
