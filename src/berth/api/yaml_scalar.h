// What a plain YAML scalar means to kubectl: the rules of go-yaml v2, which sigs.k8s.io/yaml reads
// with.
#pragma once

#include <string_view>

#include <boost/json/value.hpp>

#include "berth/base/result.h"

namespace berth::api {

/// YAML 1.1 with Go's integers: y/yes/on are true, ~ and "" are null, 0777 and 0o777 octal, 1_000,
/// 0x1F, 0b11, 1e3 floats; whole floats become integers, as they do on kubectl's way through JSON.
/// Anything else is a string. Infinity and not-a-number have no JSON form: an error.
Result<boost::json::value> resolve_plain_scalar(std::string_view text);

/// A scalar with an explicit tag such as "tag:yaml.org,2002:str"; unknown tags leave a string.
Result<boost::json::value> resolve_tagged_scalar(std::string_view tag, std::string_view text);

} // namespace berth::api
