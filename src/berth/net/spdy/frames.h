// SPDY/3.1 as bytes: what container runtimes' streaming servers and kubelets speak, in which each
// stream of a process can end alone. Source: SPDY protocol draft 3.1, as far as Kubernetes'
// remotecommand and port-forward use it: no flow control windows, no server push.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "berth/base/result.h"
#include "berth/net/http.h"

namespace berth::net::spdy {

using StreamId = std::uint32_t;

struct Frame {
  enum class Type {
    Data,
    SynStream,
    SynReply,
    RstStream,
    Ping,
    GoAway,
    Other, ///< settings, windows, further headers: nothing that a reader here has to know
  };
  Type type = Type::Other;
  StreamId stream = 0;      ///< of Ping: its number
  bool fin = false;         ///< the sender will send nothing more on the stream
  std::string data;         ///< of Data
  HttpHeaders headers;      ///< of SynStream and SynReply, names in lower case
  std::uint32_t status = 0; ///< of RstStream
};

enum class Fin { No, Yes };

/// One direction of a connection: headers are compressed over all frames of it.
class FrameWriter {
 public:
  FrameWriter();
  ~FrameWriter();

  std::string syn_stream(StreamId stream, const HttpHeaders& headers);
  std::string syn_reply(StreamId stream, const HttpHeaders& headers);
  /// In as many frames as it takes; one at least.
  static std::string data(StreamId stream, std::string_view bytes, Fin fin);
  static std::string rst_stream(StreamId stream, std::uint32_t status);
  static std::string ping(std::uint32_t number);
  static std::string go_away(StreamId last);

 private:
  class Deflater;
  std::unique_ptr<Deflater> deflater_;
};

/// The other direction. Bounded: a frame, and headers when unpacked, may have `max_bytes` at most.
class FrameReader {
 public:
  explicit FrameReader(std::size_t max_bytes = std::size_t{16} * 1024 * 1024);
  ~FrameReader();

  void feed(std::string_view bytes) { pending_ += bytes; }
  /// The next whole frame, if one is in. Error Invalid: no SPDY; the reader is of no use
  /// afterwards.
  Result<std::optional<Frame>> next();

 private:
  class Inflater;
  Result<Frame> control(std::string_view head, std::string_view body);
  Result<HttpHeaders> headers(std::string_view packed);

  std::size_t max_bytes_;
  std::string pending_;
  std::size_t used_ = 0; ///< of what is pending
  std::unique_ptr<Inflater> inflater_;
};

} // namespace berth::net::spdy
