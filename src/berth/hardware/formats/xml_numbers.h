// The numbers in the attributes of an XML text that people and programs wrote.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pugixml.hpp>

namespace berth::hardware {

/// The line of an offset, from 1. O(offset).
int line_at(std::string_view text, std::ptrdiff_t offset);

/// Reads them, and remembers those that are none, so that taking them as not said can be told.
class XmlNumbers {
 public:
  /// `text` is what was parsed, and outlives this.
  explicit XmlNumbers(std::string_view text) : text_(text) {}

  /// The number an attribute holds, decimal or 0x...; `absent` if it has none, or it cannot be
  /// read.
  int of(pugi::xml_node node, const char* name, int absent);
  /// Adds a note for each that could not be read; of very many, for the first.
  void tell(std::vector<std::string>& notes) const;

 private:
  std::string_view text_;
  std::set<std::pair<int, std::string>> unreadable_; ///< by line
};

} // namespace berth::hardware
