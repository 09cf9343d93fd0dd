// Which key of etcd an object has: PREFIX/objects/GROUP/KIND/NAMESPACE/NAME, "-" for what is empty;
// no part of it can hold a slash.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "berth/store/request.h"

namespace berth::etcd {

struct Place {
  store::GroupKind kind;
  api::Key key;
  bool operator==(const Place&) const = default;
};

/// The beginning of every object's key.
std::string objects_below(std::string_view prefix);
std::string key_of(std::string_view prefix, const Place& place);
/// None: it is no object's.
std::optional<Place> place_of(std::string_view prefix, std::string_view key);

} // namespace berth::etcd
