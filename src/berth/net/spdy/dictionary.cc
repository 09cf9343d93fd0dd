#include "berth/net/spdy/dictionary.h"

#include <string_view>

#include "berth/net/spdy/numbers.h"

namespace berth::net::spdy {
namespace {

/// Each is in the dictionary with its length before it.
constexpr std::string_view kNames =
    "options head post put delete trace accept accept-charset accept-encoding accept-language "
    "accept-ranges age allow authorization cache-control connection content-base content-encoding "
    "content-language content-length content-location content-md5 content-range content-type date "
    "etag expect expires from host if-match if-modified-since if-none-match if-range "
    "if-unmodified-since last-modified location max-forwards pragma proxy-authenticate "
    "proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url "
    "public set-cookie keep-alive origin ";

constexpr std::string_view kRest =
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request"
    "401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented"
    "503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, "
    "Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdch"
    "charset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

std::string made() {
  std::string out;
  std::string_view rest = kNames;
  while (!rest.empty()) {
    const std::size_t end = rest.find(' ');
    std::string name(rest.substr(0, end));
    if (const std::size_t blank = name.find('_'); blank != std::string::npos) {
      name[blank] = ' ';
    }
    append_u32(out, static_cast<std::uint32_t>(name.size()));
    out += name;
    rest.remove_prefix(end + 1);
  }
  return out.append(kRest);
}

} // namespace

const std::string& header_dictionary() {
  static const std::string whole = made();
  return whole;
}

} // namespace berth::net::spdy
