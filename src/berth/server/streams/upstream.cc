#include "berth/server/streams/upstream.h"

#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/server/streams/protocols.h"

namespace berth::server {
namespace {

constexpr int kSwitchingProtocols = 101;

std::string trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  return begin == std::string_view::npos
             ? std::string()
             : std::string(text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin));
}

Status refused(const net::HttpResponse& answer) {
  const auto body = api::parse_json(answer.body);
  if (body && api::string_at(*body, "kind") == "Status") {
    return {.code = answer.status,
            .reason = std::string(api::string_at(*body, "reason")),
            .message = std::string(api::string_at(*body, "message")),
            .details = nullptr};
  }
  return internal_error(fmt::format("unable to upgrade connection: {}", trimmed(answer.body)));
}

} // namespace

Status dialing_failed(const Error& error) {
  return {.code = 500,
          .reason = "",
          .message = fmt::format("error dialing backend: {}", error.message),
          .details = nullptr};
}

std::unique_ptr<net::UpgradeCall> dial_spdy(const StreamPlace& place, std::string_view protocol,
                                            std::function<void(Answer<net::Upgraded>)> done) {
  net::UpgradeRequest ask{.to = place.url,
                          .request = {.method = "POST",
                                      .target = place.target,
                                      .headers = place.headers,
                                      .body = {},
                                      .peer = {}},
                          .tls = place.tls};
  ask.request.headers.emplace_back("Upgrade", kSpdy);
  ask.request.headers.emplace_back(kStreamProtocol, protocol);
  return net::request_upgrade(
      *place.loop, std::move(ask),
      [done = std::move(done), protocol = std::string(protocol)](Result<net::Upgraded> upgraded) {
        if (!upgraded) {
          done(tl::unexpected(dialing_failed(upgraded.error())));
        } else if (upgraded->answer.status != kSwitchingProtocols) {
          done(tl::unexpected(refused(upgraded->answer)));
        } else if (net::header_of(upgraded->answer.headers, kStreamProtocol) != protocol) {
          done(tl::unexpected(internal_error(fmt::format(
              "unable to upgrade connection: the streaming server does not speak {}", protocol))));
        } else {
          done(*std::move(upgraded));
        }
      });
}

} // namespace berth::server
