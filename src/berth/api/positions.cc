#include <array>
#include <charconv>

#include "berth/api/yaml.h"

namespace berth::api {

void PositionMap::Pointer::mix(std::string_view text) {
  for (const char c : text) {
    hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  }
}

PositionMap::Pointer PositionMap::Pointer::member(std::string_view name) const {
  Pointer out = *this;
  out.mix("/");
  for (const char& c : name) {
    // RFC 6901 escapes its two special characters.
    out.mix(c == '~' ? "~0" : (c == '/' ? "~1" : std::string_view(&c, 1)));
  }
  return out;
}

PositionMap::Pointer PositionMap::Pointer::element(std::size_t index) const {
  std::array<char, 24> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), index);
  return member(
      std::string_view(buffer.data(), static_cast<std::size_t>(written.ptr - buffer.data())));
}

PositionMap::Pointer PositionMap::Pointer::of(std::string_view text) {
  Pointer out;
  out.mix(text);
  return out;
}

Position PositionMap::find(std::string_view pointer) const {
  while (true) {
    const Pointer wanted = Pointer::of(pointer);
    for (const Entry& entry : entries_) {
      if (entry.pointer == wanted) {
        return entry.at;
      }
    }
    if (pointer.empty()) {
      return {};
    }
    const std::size_t slash = pointer.rfind('/');
    pointer = pointer.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
}

void PositionMap::forget(std::span<const Range> ranges) {
  if (ranges.empty()) {
    return;
  }
  std::size_t kept = ranges.front().from;
  std::size_t next = 0;
  for (std::size_t i = kept; i < entries_.size(); ++i) {
    while (next < ranges.size() && i >= ranges[next].to) {
      ++next;
    }
    if (next == ranges.size() || i < ranges[next].from) {
      entries_[kept++] = entries_[i];
    }
  }
  entries_.resize(kept);
}

Position PositionMap::find_next(Pointer pointer, std::size_t& cursor) const {
  for (std::size_t i = cursor; i < entries_.size(); ++i) {
    if (entries_[i].pointer == pointer) {
      cursor = i;
      return entries_[i].at;
    }
  }
  return {};
}

} // namespace berth::api
