// Field selectors: which fields of which kind may be selected by. Source: each kind's
// AddFieldLabelConversionFunc and ToSelectableFields.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "berth/schema/resource.h"
#include "berth/server/status.h"
#include "berth/store/request.h"

namespace berth::server {

/// Adds the terms of "a=b,c!=d" to `what`. BadRequest: text that is no selector, a field that
/// cannot be selected by.
Answer<void> select_fields(const schema::Resource& resource, std::string_view selector,
                           store::ListOptions& what);

/// The one name that a selector's metadata.name=NAME leaves, as select_fields reads it; none
/// without such a term, or in a text that is no selector.
std::optional<std::string> selected_name(std::string_view selector);

} // namespace berth::server
