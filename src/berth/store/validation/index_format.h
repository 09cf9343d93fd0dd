// Indexes of a Job's pods as texts: "1,3-5,7". Source: kubernetes/pkg/apis/batch/validation
// validateIndexesFormat.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "berth/base/result.h"

namespace berth::store {

/// From the first to the last, both included.
struct IndexRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// In rising order, all below `completions`. Error Invalid: what is wrong, in kube-apiserver's
/// words.
Result<std::vector<IndexRange>> parse_indexes(std::string_view text, std::int64_t completions);

/// The first index that is in both; -1 if there is none.
std::int64_t first_shared(const std::vector<IndexRange>& a, const std::vector<IndexRange>& b);

} // namespace berth::store
