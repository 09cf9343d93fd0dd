// A client that passes everything on: what test clients with one thing of their own derive from.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "berth/client/client.h"

namespace berth::test {

/// The inner client must outlive it.
class PassingClient : public client::Client {
 public:
  explicit PassingClient(client::Client& inner) : inner_(inner) {}

  void get(const client::GroupKind& kind, const api::Key& key,
           client::Done<api::Object> done) override {
    inner_.get(kind, key, std::move(done));
  }
  void list(const client::ListOptions& what, client::Done<client::ObjectList> done) override {
    inner_.list(what, std::move(done));
  }
  void create(api::Object object, client::Done<api::Object> done) override {
    inner_.create(std::move(object), std::move(done));
  }
  void update(api::Object object, client::Subresource subresource,
              client::Done<api::Object> done) override {
    inner_.update(std::move(object), subresource, std::move(done));
  }
  void patch(const client::GroupKind& kind, const api::Key& key, api::json::value merge_patch,
             client::Subresource subresource, client::Done<api::Object> done) override {
    inner_.patch(kind, key, std::move(merge_patch), subresource, std::move(done));
  }
  void remove(const client::GroupKind& kind, const api::Key& key,
              const client::DeleteOptions& options, client::Done<api::Object> done) override {
    inner_.remove(kind, key, options, std::move(done));
  }
  void bind(const client::Binding& binding, client::Done<api::Object> done) override {
    inner_.bind(binding, std::move(done));
  }
  std::unique_ptr<client::Watch>
  watch(const client::WatchOptions& options,
        std::function<void(Result<client::WatchEvent>)> on_event) override {
    return inner_.watch(options, std::move(on_event));
  }
  std::unique_ptr<client::StandingLease> hold_lease(const client::LeaseSpec& lease) override {
    return inner_.hold_lease(lease);
  }

 protected:
  client::Client& inner_;
};

} // namespace berth::test
