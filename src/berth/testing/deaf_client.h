// A client that hears nothing more of some kind while all else goes on: what a watch is that has
// stalled without ending.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "berth/client/client.h"

namespace berth::test {

/// The inner client must outlive it.
class DeafClient final : public client::Client {
 public:
  explicit DeafClient(client::Client& inner) : inner_(inner) {}

  /// From now on events of this kind are lost; its watches stay open.
  void ignore(const client::GroupKind& kind) { *ignored_ = kind; }

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
    return inner_.watch(options, [kind = options.what.kind, ignored = ignored_,
                                  heard = std::move(on_event)](Result<client::WatchEvent> event) {
      if (*ignored != kind) {
        heard(std::move(event));
      }
    });
  }
  std::unique_ptr<client::StandingLease> hold_lease(const client::LeaseSpec& lease) override {
    return inner_.hold_lease(lease);
  }

 private:
  client::Client& inner_;
  std::shared_ptr<std::optional<client::GroupKind>> ignored_ =
      std::make_shared<std::optional<client::GroupKind>>();
};

} // namespace berth::test
