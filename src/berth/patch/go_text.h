// Values as Go's fmt shows them: kube-apiserver's error texts quote them so.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/value.hpp>

namespace berth::patch {

namespace json = boost::json;

/// %v of an interface{} decoded from JSON: map[a:1 b:[x y]], <nil>.
std::string go_value(const json::value& value);
/// %#v: map[string]interface {}{"a":1}, []interface {}{"x"}, "x", interface {}(nil).
std::string go_syntax(const json::value& value);
/// %T: map[string]interface {}, []interface {}, string, int64, float64, bool, <nil>.
std::string_view go_type(const json::value& value);
/// What encoding/json says of a text that is no JSON: "unexpected end of JSON input", "invalid
/// character 'x' looking for beginning of value"; "" for JSON. O(size).
std::string go_json_error(std::string_view text);

} // namespace berth::patch
