// Whether two JSON values are the same: as ==, without the copy of every member, and of all below
// it, that Boost.JSON 1.81 makes to compare objects.
#pragma once

#include <boost/json/value.hpp>

namespace berth::api {

/// Members in any order; numbers by what they are, not by how they are held. O(size) where members
/// are in one order.
bool same(const boost::json::value& one, const boost::json::value& other);
bool same(const boost::json::object& one, const boost::json::object& other);

} // namespace berth::api
