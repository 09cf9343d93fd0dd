// Any bytes as a manifest: never a crash; every error has a place; objects keep their bytes and
// decode or say why not.
#include <cstddef>
#include <cstdint>
#include <string_view>

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

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifests = api::read_manifests(text, "fuzz");
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
