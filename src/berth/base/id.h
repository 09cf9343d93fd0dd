// Dense identifiers: small integers handed out by an Interner, one type a kind so that they cannot
// be mixed.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/text_map.h"

namespace berth {

/// An index into tables of one kind of thing. No arithmetic, no implicit conversion either way.
template <class Tag> class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t index) : index_(index) {}
  constexpr std::uint32_t index() const { return index_; }
  constexpr bool valid() const { return index_ != kNone; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t index_ = kNone;
};

/// Text to dense ids, in order of first sight. Ids are never reused. O(1) either way.
template <class I> class Interner {
 public:
  I intern(std::string_view text) {
    if (const auto it = ids_.find(text); it != ids_.end()) {
      return it->second;
    }
    const I id(static_cast<std::uint32_t>(names_.size()));
    names_.emplace_back(text);
    ids_.emplace(names_.back(), id);
    return id;
  }
  std::optional<I> find(std::string_view text) const {
    const auto it = ids_.find(text);
    return it == ids_.end() ? std::nullopt : std::optional<I>(it->second);
  }
  const std::string& name(I id) const { return names_[id.index()]; }
  std::size_t size() const { return names_.size(); }

 private:
  TextMap<I> ids_;
  std::vector<std::string> names_;
};

} // namespace berth

template <class Tag> struct std::hash<berth::Id<Tag>> {
  std::size_t operator()(berth::Id<Tag> id) const noexcept {
    return std::hash<std::uint32_t>()(id.index());
  }
};
