#include "berth/client/informer.h"

#include <utility>

namespace berth::client {
namespace {

std::shared_ptr<InformerSource> source_of(Client& client, Loop& loop, ListOptions what) {
  InformerSources* const shared = client.informer_sources();
  return shared != nullptr ? shared->of(client, loop, what)
                           : std::make_shared<InformerSource>(client, loop, std::move(what));
}

} // namespace

Informer::Informer(Client& client, Loop& loop, ListOptions what, OnChange on_change)
    : source_(source_of(client, loop, std::move(what))),
      reader_(std::make_shared<InformerSource::Reader>(
          InformerSource::Reader{.on_change = std::move(on_change)})) {
  source_->join(reader_);
}

Informer::~Informer() {
  source_->leave(reader_);
}

bool Informer::synced() const {
  return source_->synced(*reader_);
}

void Informer::on_sync(Task task) {
  source_->on_sync(reader_, std::move(task));
}

const api::Object* Informer::find(const api::Key& key) const {
  const auto it = all().find(key);
  return it == all().end() ? nullptr : &it->second;
}

const std::map<api::Key, api::Object>& Informer::all() const {
  static const std::map<api::Key, api::Object> kNone;
  return reader_->caught_up ? source_->objects() : kNone;
}

} // namespace berth::client
