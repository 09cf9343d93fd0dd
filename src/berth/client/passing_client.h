// A client that passes everything on: what clients with one thing of their own derive from.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "berth/client/client.h"

namespace berth::client {

/// The inner client must outlive it.
class PassingClient : public Client {
 public:
  explicit PassingClient(Client& inner) : inner_(inner) {}

  void get(const GroupKind& kind, const api::Key& key, Done<api::Object> done) override {
    inner_.get(kind, key, std::move(done));
  }
  void list(const ListOptions& what, Done<ObjectList> done) override {
    inner_.list(what, std::move(done));
  }
  void create(api::Object object, Done<api::Object> done) override {
    inner_.create(std::move(object), std::move(done));
  }
  void update(api::Object object, Subresource subresource, Done<api::Object> done) override {
    inner_.update(std::move(object), subresource, std::move(done));
  }
  void patch(const GroupKind& kind, const api::Key& key, api::json::value merge_patch,
             Subresource subresource, Done<api::Object> done) override {
    inner_.patch(kind, key, std::move(merge_patch), subresource, std::move(done));
  }
  void remove(const GroupKind& kind, const api::Key& key, const DeleteOptions& options,
              Done<api::Object> done) override {
    inner_.remove(kind, key, options, std::move(done));
  }
  void bind(const Binding& binding, Done<api::Object> done) override {
    inner_.bind(binding, std::move(done));
  }
  std::unique_ptr<Watch> watch(const WatchOptions& options,
                               std::function<void(Result<WatchEvent>)> on_event) override {
    return inner_.watch(options, std::move(on_event));
  }
  std::unique_ptr<StandingLease> hold_lease(const LeaseSpec& lease) override {
    return inner_.hold_lease(lease);
  }

 protected:
  Client& inner_;
};

} // namespace berth::client
