// The least spread placement of a whole group, found by searching again and again with fewer units
// allowed, from the widest level to the narrowest.
#pragma once

#include <cstdint>

#include "berth/gang/group_search.h"

namespace berth::gang {

struct LeastSpread {
  SearchAnswer answer = SearchAnswer::None;
  /// With Found: no placement of all members has less spread. False: trials ran out before that
  /// could be said.
  bool proven = true;
};

/// Places all members of the search. At most `trials` until a first placement is found, and as many
/// to better it.
LeastSpread place_with_least_spread(GroupSearch& search, const SpreadLevels& levels,
                                    std::int64_t trials);
/// Anything that is allowed at all: one unit of a required level, any of the others.
SearchLimits widest_limits(const SpreadLevels& levels);

} // namespace berth::gang
