// Bodies that typed Go clients send in protobuf (client-go 1.33 and later do so for built-in kinds,
// and do not try JSON when it is refused): read into the JSON that they stand for. Answers are
// JSON, which such clients take too. Sources: apimachinery runtime/serializer/protobuf,
// k8s.io/api's generated.proto.
#pragma once

#include <string_view>

#include <boost/json/value.hpp>

#include "berth/base/result.h"

namespace berth::schema {

/// Whether the bytes begin as Kubernetes' protobuf envelope does ("k8s" and a zero byte).
bool is_protobuf(std::string_view bytes);

/// The object in the envelope, with its apiVersion and kind. Values are as they were sent, empty
/// ones included: decode() brings them into the form of a typed server. Fields with unknown numbers
/// are left out. Error BadRequest: damaged bytes, nesting beyond 100, a kind that is not built in.
/// O(size log fields).
Result<boost::json::value> read_protobuf(std::string_view bytes);

} // namespace berth::schema
