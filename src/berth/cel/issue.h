// What is wrong with an expression, shown in its text as cel-go shows it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::cel {

struct Issue {
  std::size_t at = 0; ///< characters from the beginning
  std::string what;
};

/// "ERROR: <input>:1:5: undefined field 'x'\n | self.x\n | ....^", by place, one after the other.
std::string to_string(std::vector<Issue> issues, std::string_view expression);

} // namespace berth::cel
