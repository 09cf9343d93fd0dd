// What Go makes of types: their names in errors, their zero values as JSON, and which values its
// omitempty leaves out.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "berth/schema/type.h"

namespace berth::schema {

/// "int32", "[]v1.Container", "map[string]string".
std::string go_type_name(const Type& type);
/// "io.k8s.api.core.v1.PodSpec" -> "PodSpec".
std::string_view short_name(const Type& type);

bool is_empty(const boost::json::value& value);
boost::json::value zero_of(const Type& type);
/// Adds the fields of a struct that are written although they are absent (WhenEmpty).
void write_absent(boost::json::object& out, const Type& type);

} // namespace berth::schema
