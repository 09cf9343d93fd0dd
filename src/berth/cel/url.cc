#include "berth/cel/url.h"

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

namespace berth::cel {

std::optional<Url> parse_url(std::string_view text) {
  const auto parsed = boost::urls::parse_uri_reference({text.data(), text.size()});
  if (!parsed || (!parsed->has_scheme() && !text.starts_with('/'))) {
    return std::nullopt;
  }
  const boost::urls::url_view& url = *parsed;
  const std::string_view host(url.encoded_host().data(), url.encoded_host().size());
  Url out{.text = std::string(text),
          .scheme = std::string(url.scheme()),
          .host = std::string(url.encoded_host_and_port()),
          .hostname = std::string(host.starts_with('[') ? host.substr(1, host.size() - 2) : host),
          .port = std::string(url.port()),
          .path = std::string(url.encoded_path())};
  for (const auto& parameter : url.params()) {
    out.query.emplace_back(parameter.key, parameter.value);
  }
  return out;
}

} // namespace berth::cel
