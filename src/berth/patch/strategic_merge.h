// Strategic merge patch: a merge patch that knows which lists are merged, and by which key.
// Sources: apimachinery's util/strategicpatch; "Update API Objects in Place Using kubectl patch".
//
// Directives: $patch (replace, delete) in a map or an element; $deleteFromPrimitiveList/LIST;
// $setElementOrder/LIST; $retainKeys.
#pragma once

#include "berth/base/result.h"
#include "berth/patch/path.h"
#include "berth/schema/type.h"

namespace berth::patch {

/// `original` with `patch`, both objects of `type`. Lists that the type does not merge are
/// replaced. In a merged list the elements of the patch come in its order, or in that of
/// $setElementOrder; others keep their places between. O(size), lists of n and m elements O(n x m).
/// Errors, in Kubernetes' words: BadRequest for a directive of wrong form; Invalid for lists of
/// lists; Internal (500 without a reason) for the others: an unknown directive, an element without
/// its merge key, a field that `type` does not have.
Result<json::value> strategic_merge(json::value original, json::value patch,
                                    const schema::Type& type);

} // namespace berth::patch
