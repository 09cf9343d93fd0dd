#include "berth/node/volumes/secret.h"

#include "berth/node/contents/spec_field.h"

namespace berth::node {

Result<Payload> secret_files(const api::json::value& source, std::uint32_t mode,
                             const Sources& sources) {
  std::string_view named = api::string_at(source, "secretName");
  if (named.empty()) {
    named = api::string_at(source, "name");
  }
  const auto data = sources.files_of({SourceKind::Secret, std::string(named)});
  if (data) {
    return select_items(*data, source, mode, "secret");
  }
  if (data.error().code == Code::NotFound && bool_at(source, "optional").value_or(false)) {
    return Payload();
  }
  return tl::unexpected(data.error());
}

} // namespace berth::node
