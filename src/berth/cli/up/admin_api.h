// The administrator's requests to the cluster of a home, one at a time, for commands that look at
// it or change it.
#pragma once

#include <memory>
#include <string>

#include "berth/api/json.h"
#include "berth/base/result.h"
#include "berth/cli/up/home.h"
#include "berth/client/kubeconfig.h"
#include "berth/net/http_client.h"

namespace berth::cli {

/// Each request blocks until its answer is in. Errors: Unavailable if nobody answers; those of the
/// API, in its words.
class AdminApi {
 public:
  /// Error NotFound: no cluster is running there.
  static Result<AdminApi> of(const Home& home);

  Result<api::json::value> get(const std::string& path);
  Result<std::string> get_text(const std::string& path);
  Result<api::json::value> create(const std::string& path, const api::json::value& object);
  Result<void> remove(const std::string& path);

 private:
  AdminApi(net::HttpUrl url, net::HttpClientOptions options)
      : url_(std::move(url)),
        client_(std::make_unique<net::BlockingHttpClient>(std::move(options))) {}
  Result<std::string> ask(const std::string& method, const std::string& path, std::string body);

  net::HttpUrl url_;
  std::unique_ptr<net::BlockingHttpClient> client_;
};

/// The elements of a list's `items`; empty if it is none.
const api::json::array& items_of(const api::json::value& list);

} // namespace berth::cli
