// Field selectors: which fields of which kind may be selected by. Source: each kind's
// AddFieldLabelConversionFunc and ToSelectableFields.
#pragma once

#include <string_view>

#include "berth/schema/resource.h"
#include "berth/server/status.h"
#include "berth/store/request.h"

namespace berth::server {

/// Adds the terms of "a=b,c!=d" to `what`. BadRequest: text that is no selector, a field that
/// cannot be selected by.
Answer<void> select_fields(const schema::Resource& resource, std::string_view selector,
                           store::ListOptions& what);

} // namespace berth::server
