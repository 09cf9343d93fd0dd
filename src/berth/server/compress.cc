#include "berth/server/compress.h"

#include <string>

#include <zlib.h>

namespace berth::server {
namespace {

constexpr std::size_t kWorthwhile = std::size_t{128} * 1024;
constexpr int kLevel = 4; // as kube-apiserver: speed before size
constexpr int kGzipWindow = 15 + 16;
constexpr int kMemory = 8;

/// "" if zlib refuses.
std::string gzip(const std::string& plain) {
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
    return {};
  }
  std::string out(deflateBound(&stream, static_cast<uLong>(plain.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int ended = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return ended == Z_STREAM_END ? out : std::string();
}

} // namespace

void compress(const net::HttpRequest& request, net::HttpResponse& response) {
  if (response.stream || response.body.size() < kWorthwhile ||
      net::header_of(request.headers, "Accept-Encoding").find("gzip") == std::string_view::npos) {
    return;
  }
  if (std::string packed = gzip(response.body); !packed.empty()) {
    response.body = std::move(packed);
    response.headers.emplace_back("Content-Encoding", "gzip");
    response.headers.emplace_back("Vary", "Accept-Encoding");
  }
}

} // namespace berth::server
