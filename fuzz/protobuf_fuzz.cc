// Any bytes as a body in Kubernetes' protobuf: an object or an error, never a crash. What is read
// is JSON that is read again as itself, and stands or falls by its kind's schema.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "berth/api/json.h"
#include "berth/base/assert.h"
#include "berth/schema/body.h"
#include "berth/schema/catalogue.h"
#include "berth/schema/protobuf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto document = schema::read_protobuf(bytes);
  if (!document) {
    BERTH_ASSERT(!document.error().message.empty(), "an error without a message");
    return 0;
  }
  const auto kind =
      api::make_gvk(api::string_at(*document, "apiVersion"), api::string_at(*document, "kind"));
  const auto type = schema::Catalogue::builtin().type(kind);
  BERTH_ASSERT(type != nullptr, "a kind that is not built in was read: " + kind.kind);
  const auto whole = schema::decode_document(*document, {.gvk = kind, .type = *type},
                                             schema::FieldValidation::Warn);
  if (!whole) {
    BERTH_ASSERT(!whole.error().message.empty(), "an error without a message");
    return 0;
  }
  // What is kept is written as text: that has to be text that is read as the same.
  const std::string text = api::to_json(whole->object);
  const auto again =
      schema::decode_body(text, {.gvk = kind, .type = *type}, schema::FieldValidation::Strict);
  BERTH_ASSERT(again.has_value(), again.error().message + "\n" + text);
  BERTH_ASSERT(api::to_json(again->object) == text, text);
  return 0;
}
