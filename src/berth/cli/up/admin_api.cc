#include "berth/cli/up/admin_api.h"

#include <utility>

#include <fmt/format.h>

#include "berth/client/wire.h"

namespace berth::cli {

Result<AdminApi> AdminApi::of(const Home& home) {
  if (!running_at(home)) {
    return fail(Code::NotFound,
                fmt::format("no cluster is running at {}; try berth up", home.folder.string()));
  }
  BERTH_TRY(client::ServerAccess access, client::load_access(home.kubeconfig().string()));
  net::HttpClientOptions options;
  BERTH_TRY(options.tls, net::TlsContext::client(access.tls));
  return AdminApi(std::move(access.url), std::move(options));
}

Result<std::string> AdminApi::ask(const std::string& method, const std::string& path,
                                  std::string body) {
  net::HttpRequest request{.method = method,
                           .target = path,
                           .headers = {{"Accept", "application/json, */*"}},
                           .body = std::move(body),
                           .peer = {}};
  if (!request.body.empty()) {
    request.headers.emplace_back("Content-Type", "application/json");
  }
  BERTH_TRY(net::HttpResponse response, client_->send(url_, std::move(request)));
  if (response.status >= 400) {
    return tl::unexpected(client::error_of(response));
  }
  return std::move(response.body);
}

Result<std::string> AdminApi::get_text(const std::string& path) {
  return ask("GET", path, "");
}

Result<api::json::value> AdminApi::get(const std::string& path) {
  BERTH_TRY(const std::string text, ask("GET", path, ""));
  return api::parse_json(text);
}

Result<api::json::value> AdminApi::create(const std::string& path, const api::json::value& object) {
  BERTH_TRY(const std::string text, ask("POST", path, api::to_json(object)));
  return api::parse_json(text);
}

Result<void> AdminApi::remove(const std::string& path) {
  BERTH_CHECK(ask("DELETE", path, ""));
  return {};
}

const api::json::array& items_of(const api::json::value& list) {
  static const api::json::array kNone;
  const api::json::value* items = api::find(list, "items");
  return items != nullptr && items->is_array() ? items->get_array() : kNone;
}

} // namespace berth::cli
