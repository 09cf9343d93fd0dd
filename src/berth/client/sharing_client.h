// What kube-controller-manager has as its shared informer factory: controllers in one process that
// look at the same objects list, watch and keep them once.
#pragma once

#include <memory>

#include "berth/client/client.h"
#include "berth/client/informer_source.h"

namespace berth::client {

/// Another client, whose informers share their sources. It must outlive this one.
class SharingClient final : public Client {
 public:
  explicit SharingClient(Client& inner) : inner_(&inner) {}

  InformerSources* informer_sources() override { return &sources_; }

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

 private:
  Client* inner_;
  InformerSources sources_;
};

} // namespace berth::client
