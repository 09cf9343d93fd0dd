#include "berth/server/json_list.h"

#include <algorithm>
#include <utility>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/server/event_views.h"

namespace berth::server {
namespace {

namespace json = api::json;

constexpr std::size_t kPiece = std::size_t{256} * 1024;
constexpr std::string_view kEnd = "]}\n";

/// The document in the resource's group and version.
json::object document_of(const api::Object& object, const schema::Resource& resource) {
  json::value document = object.json();
  if (is_event_view(resource)) {
    to_event_view(document);
  } else {
    document.as_object()["apiVersion"] = resource.gvk().api_version();
  }
  return std::move(document.as_object());
}

bool is_as_stored(const api::Object& object, const schema::Resource& resource) {
  return object.gvk().version == resource.version && object.gvk().group == resource.group;
}

/// An item whose stored bytes do not begin as those of a built-in kind.
std::string item_text(const api::Object& object, const schema::Resource& resource) {
  json::object document = document_of(object, resource);
  if (!resource.custom) {
    document.stable_erase("kind");
    document.stable_erase("apiVersion");
  }
  return json::serialize(document);
}

} // namespace

json::object list_meta(const ListHead& head) {
  json::object meta;
  meta["resourceVersion"] = fmt::to_string(head.resource_version);
  if (!head.continue_token.empty()) {
    meta["continue"] = head.continue_token;
  }
  if (head.remaining > 0) {
    meta["remainingItemCount"] = head.remaining;
  }
  return meta;
}

std::string object_bytes(const api::Object& object, const schema::Resource& resource) {
  return is_as_stored(object, resource) ? object.bytes()
                                        : json::serialize(document_of(object, resource));
}

JsonList::JsonList(std::vector<api::Object> items, const ListHead& head,
                   const schema::Resource& resource)
    : items_(std::move(items)) {
  const std::string version = resource.gvk().api_version();
  if (!resource.custom) {
    heads_ = {fmt::format(R"({{"kind":"{}","apiVersion":"{}",)", resource.kind, version),
              fmt::format(R"({{"apiVersion":"{}","kind":"{}",)", version, resource.kind)};
  }
  opening_ = fmt::format(R"({{"kind":"{}","apiVersion":"{}","metadata":{},"items":[)",
                         resource.list_kind, version, json::serialize(list_meta(head)));
  size_ = opening_.size() + kEnd.size() + (items_.empty() ? 0 : items_.size() - 1);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const bool as_stored = resource.custom ? is_as_stored(items_[i], resource)
                                           : items_[i].bytes().starts_with(heads_[0]) ||
                                                 items_[i].bytes().starts_with(heads_[1]);
    if (!as_stored) {
      made_.resize(items_.size());
      made_[i] = item_text(items_[i], resource);
    }
    size_ += 1 + rest_of(i).size();
  }
}

std::string_view JsonList::rest_of(std::size_t item) const {
  const std::string_view bytes =
      made_.empty() || made_[item].empty() ? items_[item].bytes() : made_[item];
  for (const std::string& head : heads_) {
    if (!head.empty() && bytes.starts_with(head)) {
      return bytes.substr(head.size());
    }
  }
  return bytes.substr(1);
}

std::string JsonList::next() {
  if (next_ > items_.size()) {
    return {};
  }
  std::string piece = std::exchange(opening_, {});
  piece.reserve(std::min(kPiece * 2, size_));
  for (; next_ < items_.size() && piece.size() < kPiece; ++next_) {
    piece += next_ == 0 ? "{" : ",{";
    piece += rest_of(next_);
  }
  if (next_ == items_.size()) {
    piece += kEnd;
    ++next_;
  }
  return piece;
}

} // namespace berth::server
