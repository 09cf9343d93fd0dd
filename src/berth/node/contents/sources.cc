#include "berth/node/contents/sources.h"

#include <utility>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/net/base64.h"

namespace berth::node {
namespace {

namespace json = boost::json;

enum class Encoding { Plain, Base64 };

Result<void> read_map(const api::Object& object, std::string_view member, Encoding encoding,
                      SourceData& into) {
  const json::value* map = api::find(object.json(), member);
  if (!map || !map->is_object()) {
    return {};
  }
  for (const auto& [key, value] : map->get_object()) {
    if (!value.is_string()) {
      continue;
    }
    const std::string_view text = value.get_string();
    if (encoding == Encoding::Plain) {
      into[std::string(key)] = text;
      continue;
    }
    auto bytes = net::from_base64(text);
    if (!bytes) {
      return fail(Code::Invalid,
                  fmt::format("{} {} has a value that is no base64; write it again "
                              "with base64: key {}",
                              object.gvk().kind, object.key().to_string(), std::string_view(key)));
    }
    into[std::string(key)] = *std::move(bytes);
  }
  return {};
}

} // namespace

Error missing_source(const SourceName& source) {
  return {.code = Code::NotFound,
          .message = fmt::format("{} \"{}\" not found", to_string(source.kind), source.name)};
}

void Sources::put(const SourceName& source, Result<api::Object> answer) {
  answers_.insert_or_assign(source, std::move(answer));
}

Result<api::Object> Sources::get(const SourceName& source) const {
  const auto found = answers_.find(source);
  if (found == answers_.end()) {
    return tl::unexpected(missing_source(source));
  }
  return found->second;
}

Result<SourceData> Sources::text_of(const SourceName& source) const {
  BERTH_TRY(const api::Object object, get(source));
  SourceData data;
  BERTH_CHECK(read_map(object, "data",
                       source.kind == SourceKind::Secret ? Encoding::Base64 : Encoding::Plain,
                       data));
  return data;
}

Result<SourceData> Sources::files_of(const SourceName& source) const {
  BERTH_TRY(SourceData data, text_of(source));
  if (source.kind == SourceKind::ConfigMap) {
    BERTH_TRY(const api::Object object, get(source));
    BERTH_CHECK(read_map(object, "binaryData", Encoding::Base64, data));
  }
  return data;
}

} // namespace berth::node
