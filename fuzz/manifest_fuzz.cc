// Any bytes as a manifest: never a crash; every error has a place; objects keep their bytes and
// decode or say why not.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "berth/api/manifest.h"
#include "berth/base/assert.h"
#include "berth/model/node.h"
#include "berth/model/requests.h"
#include "berth/model/workload.h"

namespace {

template <class T> void check(const berth::api::Manifest& manifest, const berth::Result<T>& view) {
  if (!view) {
    const berth::Error error = manifest.locate(view.error());
    BERTH_ASSERT(error.where && error.where->line > 0, berth::to_string(error));
  }
}

// The lenient reader differs from the strict one in keys given twice alone, and has their places.
void check_lenient(std::string_view text,
                   const berth::Result<std::vector<berth::api::Manifest>>& strict) {
  const auto lenient = berth::api::read_manifests_leniently(text, "fuzz");
  BERTH_ASSERT(lenient.has_value() || !strict.has_value(),
               "the lenient reader is the stricter one");
  if (!lenient) {
    return;
  }
  BERTH_ASSERT(strict.has_value() || !lenient->duplicates.empty(), to_string(strict.error()));
  for (const berth::api::DuplicateKey& key : lenient->duplicates) {
    BERTH_ASSERT(key.line > 0 && key.first_line > 0 && !key.field.empty(), key.field);
    BERTH_ASSERT(key.line > key.first_line ||
                     (key.line == key.first_line && key.column >= key.first_column),
                 key.field);
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifests = api::read_manifests(text, "fuzz");
  check_lenient(text, manifests);
  if (!manifests) {
    BERTH_ASSERT(manifests.error().where && manifests.error().where->line > 0,
                 to_string(manifests.error()));
    return 0;
  }
  for (const api::Manifest& manifest : *manifests) {
    const api::Object& object = manifest.object;
    const auto again = api::Object::parse(object.bytes());
    BERTH_ASSERT(again.has_value() && again->bytes() == object.bytes(), object.bytes());
    // Whatever the kind says: the decoders must stand any document.
    const auto pod = model::pod_view(object);
    check(manifest, pod);
    if (pod) {
      model::effective_requests((*pod)->spec);
      model::nonzero_requests((*pod)->spec);
      model::qos_class((*pod)->spec);
    }
    check(manifest, model::node_view(object));
    check(manifest, model::job_view(object));
    check(manifest, model::pod_group_view(object));
    check(manifest, model::resource_quota_view(object));
  }
  return 0;
}
