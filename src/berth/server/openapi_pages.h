// /openapi/v2 and /openapi/v3: made when they are first asked for, and again once what is served
// has changed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "berth/net/http.h"
#include "berth/server/resources.h"

namespace berth::server {

class OpenApiPages {
 public:
  explicit OpenApiPages(const Resources& resources) : resources_(&resources) {}

  /// None: there is no such page.
  std::optional<net::HttpResponse> page(std::string_view path);

 private:
  const std::string& document(const std::string& key);
  std::string index();

  const Resources* resources_;
  std::uint64_t made_for_ = 0;                   ///< Resources::changes() that the documents are of
  std::map<std::string, std::string> documents_; ///< "v2", or the path below /openapi/v3/
};

} // namespace berth::server
