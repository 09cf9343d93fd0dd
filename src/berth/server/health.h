// /livez, /readyz, /healthz as kube-apiserver answers them: all checks, ?verbose, ?exclude=NAME,
// and one check by its path. Source: apiserver pkg/server/healthz.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/result.h"
#include "berth/net/http.h"

namespace berth::server {

struct HealthCheck {
  enum class Of { Life, Readiness }; ///< livez and readyz, or readyz alone
  std::string name;
  Of of = Of::Life;
  std::function<Result<void>()> holds; ///< the error is told to the log, not to who asks
};

/// The answer to one of these paths, or to what is below them; nullopt for any other path.
std::optional<net::HttpResponse> health_page(std::string_view path, const net::HttpHeaders& query,
                                             const std::vector<HealthCheck>& checks);

} // namespace berth::server
