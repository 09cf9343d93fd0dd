#include "berth/server/compress.h"

#include <string>
#include <string_view>
#include <utility>

#include <zlib.h>

namespace berth::server {
namespace {

constexpr std::size_t kWorthwhile = std::size_t{128} * 1024;
constexpr int kLevel = 4; // as kube-apiserver: speed before size
constexpr int kGzipWindow = 15 + 16;
constexpr int kMemory = 8;

/// A gzip stream that grows with what is added to it.
class Gzip {
 public:
  Gzip() {
    ready_ = deflateInit2(&stream_, kLevel, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) ==
             Z_OK;
  }
  ~Gzip() { deflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  bool ready() const { return ready_; }
  void add(std::string_view plain) { run(plain, Z_NO_FLUSH); }
  std::string end() {
    run({}, Z_FINISH);
    return std::move(packed_);
  }

 private:
  void run(std::string_view plain, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
    stream_.avail_in = static_cast<uInt>(plain.size());
    int result = Z_OK;
    do {
      const std::size_t at = packed_.size();
      packed_.resize(at + kRoom);
      stream_.next_out = reinterpret_cast<Bytef*>(packed_.data() + at);
      stream_.avail_out = kRoom;
      result = deflate(&stream_, flush);
      packed_.resize(at + kRoom - stream_.avail_out);
    } while (result == Z_OK && (stream_.avail_in > 0 || flush == Z_FINISH));
  }

  static constexpr uInt kRoom = 64 * 1024;
  z_stream stream_{};
  std::string packed_;
  bool ready_ = false;
};

} // namespace

void compress(const net::HttpRequest& request, net::HttpResponse& response) {
  const std::size_t size = response.pieces ? response.pieces->size() : response.body.size();
  if (response.stream || size < kWorthwhile ||
      net::header_of(request.headers, "Accept-Encoding").find("gzip") == std::string_view::npos) {
    return;
  }
  Gzip gzip;
  if (!gzip.ready()) {
    return;
  }
  if (response.pieces) {
    for (std::string piece = response.pieces->next(); !piece.empty();
         piece = response.pieces->next()) {
      gzip.add(piece);
    }
    response.pieces = nullptr;
  } else {
    gzip.add(response.body);
  }
  response.body = gzip.end();
  response.headers.emplace_back("Content-Encoding", "gzip");
  response.headers.emplace_back("Vary", "Accept-Encoding");
}

} // namespace berth::server
