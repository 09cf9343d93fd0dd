// Readers of the structs of model/ that several kinds share, for typed decoding (see api/field.h).
#pragma once

#include "berth/api/field.h"
#include "berth/model/node.h"
#include "berth/model/pod.h"

namespace berth::model {

void decode(const api::Field& in, Condition& out);
void decode(const api::Field& in, ResourceRequirements& out);

/// The typed view of a document, or the Error that names the field.
template <class T>
Result<std::shared_ptr<const T>> decode_shared(const api::json::value& document) {
  BERTH_TRY(T value, api::decode_document<T>(document));
  return std::make_shared<const T>(std::move(value));
}

} // namespace berth::model
