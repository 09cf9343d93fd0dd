// The body of a create or update request: an object of the kind that the path names, decoded, with
// Kubernetes' answers to what is wrong with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/api/kinds.h"
#include "berth/base/result.h"
#include "berth/schema/type.h"

namespace berth::schema {

/// The fieldValidation parameter; Warn if it is not given.
enum class FieldValidation {
  Ignore, ///< drop unknown and duplicate fields
  Warn,   ///< and say so in warnings
  Strict, ///< refuse them
};

struct Body {
  boost::json::value object; ///< with apiVersion and kind, which the body may leave out
  /// `unknown field "spec.foo"`: the texts of Warning headers, without code and quotes.
  std::vector<std::string> warnings;
};

/// What the path of the request says of its body.
struct Expected {
  api::GroupVersionKind gvk;
  const Type& type;
};

/// `bytes` are JSON. Error BadRequest: the whole message of the Status.
Result<Body> decode_body(std::string_view bytes, const Expected& expected,
                         FieldValidation validation);
/// The same of a document that was YAML or was patched.
Result<Body> decode_document(const boost::json::value& document, const Expected& expected,
                             FieldValidation validation);

} // namespace berth::schema
