#include "berth/client/sharing_client.h"

#include <utility>

namespace berth::client {

void SharingClient::get(const GroupKind& kind, const api::Key& key, Done<api::Object> done) {
  inner_->get(kind, key, std::move(done));
}

void SharingClient::list(const ListOptions& what, Done<ObjectList> done) {
  inner_->list(what, std::move(done));
}

void SharingClient::create(api::Object object, Done<api::Object> done) {
  inner_->create(std::move(object), std::move(done));
}

void SharingClient::update(api::Object object, Subresource subresource, Done<api::Object> done) {
  inner_->update(std::move(object), subresource, std::move(done));
}

void SharingClient::patch(const GroupKind& kind, const api::Key& key, api::json::value merge_patch,
                          Subresource subresource, Done<api::Object> done) {
  inner_->patch(kind, key, std::move(merge_patch), subresource, std::move(done));
}

void SharingClient::remove(const GroupKind& kind, const api::Key& key, const DeleteOptions& options,
                           Done<api::Object> done) {
  inner_->remove(kind, key, options, std::move(done));
}

void SharingClient::bind(const Binding& binding, Done<api::Object> done) {
  inner_->bind(binding, std::move(done));
}

std::unique_ptr<Watch> SharingClient::watch(const WatchOptions& options,
                                            std::function<void(Result<WatchEvent>)> on_event) {
  return inner_->watch(options, std::move(on_event));
}

std::unique_ptr<StandingLease> SharingClient::hold_lease(const LeaseSpec& lease) {
  return inner_->hold_lease(lease);
}

} // namespace berth::client
