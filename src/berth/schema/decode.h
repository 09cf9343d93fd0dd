// Decodes a document as a typed server does: checks the form of every value, finds unknown and
// duplicate fields, and gives back what the server would store and show: unknown fields and nulls
// gone, empty values written or left out as Go's tags say, quantities and times in canonical form.
// Errors are in the words of Go's decoder (sigs.k8s.io/json), which compares names
// case-sensitively.
//
// Custom resources (Type::structural) are pruned here; their forms are validate()'s business.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/schema/type.h"

namespace berth::schema {

struct Decoded {
  boost::json::value value;
  /// `unknown field "spec.foo"`, `duplicate field "metadata.name"`: each once, as they are met.
  std::vector<std::string> strict;
};

/// `text` must be sound JSON (json_syntax_error in go_json.h). Error BadRequest: the message alone,
/// "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type
/// []v1.Container". O(size log fields).
Result<Decoded> decode_text(std::string_view text, const Type& type);
/// The same of a value that was read before, in which there are no duplicates.
Result<Decoded> decode_value(const boost::json::value& value, const Type& type);

/// As decoding errors name it: "int32", "[]v1.Container", "map[string]string".
std::string go_type_name(const Type& type);

} // namespace berth::schema
