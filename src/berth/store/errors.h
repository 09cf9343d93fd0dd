// Kubernetes' error texts: apimachinery api/errors and util/validation/field.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/store/request.h"

namespace berth::store {

/// "pods", "jobs.batch".
std::string resource_text(const GroupKind& kind);
/// "Pod", "Job.batch".
std::string kind_text(const GroupKind& kind);

tl::unexpected<Error> not_found(const GroupKind& kind, std::string_view name);
tl::unexpected<Error> already_exists(const GroupKind& kind, std::string_view name);
/// Operation cannot be fulfilled on pods "a": `why`.
tl::unexpected<Error> conflict(std::string_view resource, std::string_view name,
                               std::string_view why);
/// The conflict of an outdated resourceVersion.
tl::unexpected<Error> outdated(const GroupKind& kind, std::string_view name);
tl::unexpected<Error> forbidden(const GroupKind& kind, std::string_view name, std::string_view why);

/// What is wrong with one field; Error{Invalid, "Invalid value: ...", where.field}.
using FieldErrors = std::vector<Error>;

Error required_field(std::string field, std::string_view detail = "");
/// `value` as JSON shows it: quote() for text, digits for numbers.
Error invalid_value(std::string field, std::string_view value, std::string_view why);
Error forbidden_field(std::string field, std::string_view why);
Error unsupported_value(std::string field, std::string_view value,
                        const std::vector<std::string>& supported);
Error duplicate_value(std::string field, std::string_view value);
Error not_found_value(std::string field, std::string_view value);
Error too_long_value(std::string field, std::size_t bytes);
Error too_many_value(std::string field, std::size_t count, std::size_t limit);
/// "a" with quotes and escapes.
std::string quote(std::string_view text);

/// Pod "a" is invalid: FIELD: TEXT, or [..., ...] for several; `errors` must not be empty and
/// become the causes.
tl::unexpected<Error> invalid(const GroupKind& kind, std::string_view name, FieldErrors errors);

} // namespace berth::store
