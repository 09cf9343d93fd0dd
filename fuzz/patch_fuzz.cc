// Any bytes as a document and its patches: never a crash. What a patch makes is JSON again;
// applying what was applied changes nothing more; sets of fields are read as they are written.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "berth/api/json.h"
#include "berth/base/assert.h"
#include "berth/patch/atom.h"
#include "berth/patch/fields_v1.h"
#include "berth/patch/managed_fields.h"
#include "berth/patch/owners.h"
#include "berth/patch/request.h"
#include "berth/schema/catalogue.h"

namespace {

using namespace berth;
using patch::PatchKind;

void check_patches(const api::json::value& document, std::string_view body,
                   const schema::Type& type) {
  for (const PatchKind kind : {PatchKind::Json, PatchKind::Merge, PatchKind::StrategicMerge}) {
    if (const auto done = patch::patched(kind, document, body, type)) {
      const auto again = api::parse_json(api::to_json(*done));
      // A move or add may nest deeper than a document may be read.
      BERTH_ASSERT(!again || patch::same_value(*again, *done), api::to_json(*done));
    } else {
      BERTH_ASSERT(!done.error().message.empty(), "an error without a message");
    }
  }
}

void check_apply(const patch::Target& target, const api::json::value& document,
                 const api::json::value& applied) {
  const patch::Writer writer{.manager = "fuzz", .now = TimePoint::from_unix_seconds(1)};
  const auto once = patch::apply(target, document, applied, writer, patch::Conflicts::Forced);
  if (!once) {
    BERTH_ASSERT(!once.error().message.empty(), "an error without a message");
    return;
  }
  const auto managers = patch::read_managed_fields(*once);
  BERTH_ASSERT(managers.has_value(), to_string(managers.error()));
  for (const auto& [id, owned] : *managers) {
    const auto read = patch::read_fields_v1(patch::write_fields_v1(owned.fields));
    BERTH_ASSERT(read.has_value() && *read == owned.fields, patch::to_string(owned.fields));
  }
  if (const auto twice = patch::apply(target, *once, applied, writer, patch::Conflicts::Forced)) {
    api::json::value a = *once;
    api::json::value b = *twice;
    patch::remove_managed_fields(a);
    patch::remove_managed_fields(b);
    BERTH_ASSERT(patch::same_value(a, b), api::to_json(b));
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // DOCUMENT \0 PATCH
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t middle = text.find('\0');
  if (middle == std::string_view::npos) {
    return 0;
  }
  const auto document = api::parse_json(text.substr(0, middle));
  const std::string_view body = text.substr(middle + 1);
  if (!document || !document->is_object()) {
    return 0;
  }
  static const schema::TypePtr pod = schema::Catalogue::builtin().type({"", "v1", "Pod"});
  check_patches(*document, body, *pod);
  check_patches(*document, body, patch::deduced_type());
  if (const auto applied = patch::applied_object(body)) {
    for (const schema::Type* type : {pod.get(), &patch::deduced_type()}) {
      const patch::Target target{.type = type,
                                 .group = "",
                                 .version = "v1",
                                 .kind = "Pod",
                                 .zero = patch::zero_object(*type, "v1", "Pod"),
                                 .resets = {}};
      check_apply(target, *document, *applied);
    }
  }
  return 0;
}
