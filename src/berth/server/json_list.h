// A list of whole objects as JSON, from the bytes that are stored: piece by piece, so that a list
// of a hundred thousand pods costs the memory of one piece.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/api/object.h"
#include "berth/net/http.h"
#include "berth/schema/resource.h"

namespace berth::server {

/// What a list says of itself.
struct ListHead {
  std::uint64_t resource_version = 0;
  std::string continue_token;
  std::size_t remaining = 0; ///< 0: not said
};

/// metadata of a list.
api::json::object list_meta(const ListHead& head);
/// The object in the resource's version, as JSON bytes.
std::string object_bytes(const api::Object& object, const schema::Resource& resource);

class JsonList final : public net::HttpPieces {
 public:
  /// O(items), plus what it takes to write those in JSON that have never been.
  JsonList(std::vector<api::Object> items, const ListHead& head, const schema::Resource& resource);

  std::size_t size() const override { return size_; }
  /// Some hundred KiB, or one item.
  std::string next() override;

 private:
  /// Bytes of an item without its opening brace.
  std::string_view rest_of(std::size_t item) const;

  std::vector<api::Object> items_;
  std::vector<std::string> made_;    ///< items whose stored bytes are not what is shown; or empty
  std::array<std::string, 2> heads_; ///< of stored bytes: left out, the list has said it
  std::string opening_;
  std::size_t size_ = 0;
  std::size_t next_ = 0; ///< item; one more: the end
};

} // namespace berth::server
