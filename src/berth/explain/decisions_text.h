// Kept decisions as tables for people: why this node and not that one, and what would have had to
// be different.
#pragma once

#include <string>

#include "berth/explain/book.h"
#include "berth/report/table.h"

namespace berth::explain {

/// One table an attempt: a line for nodes that share everything, best first, with every score as
/// raw->weighted; then refused nodes with all that was against them. Scores that are the same on
/// all nodes are named in one line, and at most 15 lines are shown of each part, unless the style
/// is Wide. Later attempts that came to the same are one line. Times count from `start`.
std::string render_pod(const Book::Pod& pod, TimePoint start, const report::TableStyle& style);

} // namespace berth::explain
