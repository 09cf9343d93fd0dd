#include "berth/node/volumes/config_map.h"

#include <fmt/format.h>

#include "berth/node/contents/spec_field.h"

namespace berth::node {

Result<Payload> config_map_files(const api::json::value& source, std::uint32_t mode,
                                 const Sources& sources) {
  const SourceName name{SourceKind::ConfigMap, std::string(api::string_at(source, "name"))};
  const auto data = sources.files_of(name);
  if (data) {
    return select_items(*data, source, mode, "configmap");
  }
  if (data.error().code == Code::NotFound && bool_at(source, "optional").value_or(false)) {
    return Payload();
  }
  return tl::unexpected(data.error());
}

} // namespace berth::node
