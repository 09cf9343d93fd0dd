#include "berth/net/spdy/frames.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

#include "berth/base/assert.h"
#include "berth/net/spdy/dictionary.h"
#include "berth/net/spdy/numbers.h"

namespace berth::net::spdy {
namespace {

constexpr std::size_t kHead = 8;
constexpr std::uint32_t kControl = 0x80000000U;
constexpr std::uint32_t kVersion = 3U << 16U;
constexpr std::uint32_t kIdMask = 0x7FFFFFFFU;
constexpr std::uint32_t kLengthMask = 0xFFFFFFU;
constexpr std::uint32_t kFin = 0x01U << 24U;
constexpr std::size_t kDataBytes = std::size_t{32} * 1024; ///< of one frame that is sent

enum : std::uint32_t {
  kSynStream = 1,
  kSynReply = 2,
  kRstStream = 3,
  kPing = 6,
  kGoAway = 7,
};

std::string control_frame(std::uint32_t type, std::string_view body) {
  std::string out;
  append_u32(out, kControl | kVersion | type);
  append_u32(out, static_cast<std::uint32_t>(body.size()));
  return out.append(body);
}

std::string plain_headers(const HttpHeaders& headers) {
  std::string out;
  append_u32(out, static_cast<std::uint32_t>(headers.size()));
  for (const auto& [name, value] : headers) {
    append_u32(out, static_cast<std::uint32_t>(name.size()));
    for (const unsigned char c : name) {
      out += static_cast<char>(std::tolower(c));
    }
    append_u32(out, static_cast<std::uint32_t>(value.size()));
    out += value;
  }
  return out;
}

tl::unexpected<Error> wrong(std::string_view what) {
  return fail(Code::Invalid, fmt::format("no SPDY/3: {}", what));
}

const Bytef* bytes_of(std::string_view text) {
  return reinterpret_cast<const Bytef*>(text.data());
}

} // namespace

class FrameWriter::Deflater {
 public:
  Deflater() {
    const std::string& dictionary = header_dictionary();
    const bool ready = deflateInit(&stream_, Z_BEST_COMPRESSION) == Z_OK &&
                       deflateSetDictionary(&stream_, bytes_of(dictionary),
                                            static_cast<uInt>(dictionary.size())) == Z_OK;
    BERTH_ASSERT(ready, "zlib cannot begin");
  }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  std::string pack(std::string_view plain) {
    std::string out(deflateBound(&stream_, plain.size()) + kMargin, '\0');
    stream_.next_in = const_cast<Bytef*>(bytes_of(plain));
    stream_.avail_in = static_cast<uInt>(plain.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    deflate(&stream_, Z_SYNC_FLUSH);
    out.resize(out.size() - stream_.avail_out);
    return out;
  }

 private:
  static constexpr std::size_t kMargin = 64; ///< for the flush
  z_stream stream_{};
};

FrameWriter::FrameWriter() : deflater_(std::make_unique<Deflater>()) {}
FrameWriter::~FrameWriter() = default;

std::string FrameWriter::syn_stream(StreamId stream, const HttpHeaders& headers) {
  std::string body;
  append_u32(body, stream);
  append_u32(body, 0);  // of no other stream
  body.append(2, '\0'); // highest priority
  return control_frame(kSynStream, body.append(deflater_->pack(plain_headers(headers))));
}

std::string FrameWriter::syn_reply(StreamId stream, const HttpHeaders& headers) {
  std::string body;
  append_u32(body, stream);
  return control_frame(kSynReply, body.append(deflater_->pack(plain_headers(headers))));
}

std::string FrameWriter::data(StreamId stream, std::string_view bytes, Fin fin) {
  std::string out;
  do {
    const std::string_view piece = bytes.substr(0, kDataBytes);
    bytes.remove_prefix(piece.size());
    const bool last = bytes.empty() && fin == Fin::Yes;
    append_u32(out, stream);
    append_u32(out, static_cast<std::uint32_t>(piece.size()) | (last ? kFin : 0U));
    out += piece;
  } while (!bytes.empty());
  return out;
}

std::string FrameWriter::rst_stream(StreamId stream, std::uint32_t status) {
  std::string body;
  append_u32(body, stream);
  append_u32(body, status);
  return control_frame(kRstStream, body);
}

std::string FrameWriter::ping(std::uint32_t number) {
  std::string body;
  append_u32(body, number);
  return control_frame(kPing, body);
}

std::string FrameWriter::go_away(StreamId last) {
  std::string body;
  append_u32(body, last);
  append_u32(body, 0); // all is well
  return control_frame(kGoAway, body);
}

class FrameReader::Inflater {
 public:
  Inflater() { BERTH_ASSERT(inflateInit(&stream_) == Z_OK, "zlib cannot begin"); }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Result<std::string> unpack(std::string_view packed, std::size_t max_bytes) {
    std::string out;
    std::array<char, 4096> room; // NOLINT(cppcoreguidelines-pro-type-member-init)
    stream_.next_in = const_cast<Bytef*>(bytes_of(packed));
    stream_.avail_in = static_cast<uInt>(packed.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(room.data());
      stream_.avail_out = static_cast<uInt>(room.size());
      int result = inflate(&stream_, Z_SYNC_FLUSH);
      if (result == Z_NEED_DICT) {
        const std::string& dictionary = header_dictionary();
        result = inflateSetDictionary(&stream_, bytes_of(dictionary),
                                      static_cast<uInt>(dictionary.size()));
        if (result != Z_OK) {
          return wrong("headers are packed with another dictionary");
        }
        continue;
      }
      out.append(room.data(), room.size() - stream_.avail_out);
      if (result == Z_BUF_ERROR) {
        break; // all that came is unpacked
      }
      if (result != Z_OK) {
        return wrong("headers cannot be unpacked");
      }
      if (out.size() > max_bytes) {
        return wrong("headers are too large");
      }
    } while (stream_.avail_in > 0 || stream_.avail_out == 0);
    return out;
  }

 private:
  z_stream stream_{};
};

FrameReader::FrameReader(std::size_t max_bytes)
    : max_bytes_(max_bytes), inflater_(std::make_unique<Inflater>()) {}
FrameReader::~FrameReader() = default;

Result<std::optional<Frame>> FrameReader::next() {
  const std::string_view in = std::string_view(pending_).substr(used_);
  const std::size_t length = in.size() < kHead ? 0 : u32_at(in, 4) & kLengthMask;
  if (length > max_bytes_) {
    return wrong("a frame is too large");
  }
  if (in.size() < kHead || in.size() < kHead + length) {
    pending_.erase(0, std::exchange(used_, 0));
    return std::optional<Frame>();
  }
  const std::string_view head = in.substr(0, kHead);
  const std::string_view body = in.substr(kHead, length);
  used_ += kHead + length;
  if ((u32_at(head, 0) & kControl) != 0) {
    BERTH_TRY(Frame frame, control(head, body));
    return std::optional<Frame>(std::move(frame));
  }
  return std::optional<Frame>(Frame{.type = Frame::Type::Data,
                                    .stream = u32_at(head, 0),
                                    .fin = (u32_at(head, 4) & kFin) != 0,
                                    .data = std::string(body),
                                    .headers = {}});
}

Result<Frame> FrameReader::control(std::string_view head, std::string_view body) {
  const std::uint32_t kind = u32_at(head, 0);
  if ((kind & 0x7FFF0000U) != kVersion) {
    return wrong("another version");
  }
  Frame frame{.fin = (u32_at(head, 4) & kFin) != 0, .data = {}, .headers = {}};
  const std::uint32_t type = kind & 0xFFFFU;
  const std::size_t least = type == kSynStream                      ? 10
                            : type == kRstStream || type == kGoAway ? 8
                            : type == kSynReply || type == kPing    ? 4
                                                                    : 0;
  if (body.size() < least) {
    return wrong("a frame is too short");
  }
  frame.stream = least == 0 ? 0 : u32_at(body, 0) & kIdMask;
  switch (type) {
  case kSynStream: {
    frame.type = Frame::Type::SynStream;
    BERTH_TRY(frame.headers, headers(body.substr(least)));
    return frame;
  }
  case kSynReply: {
    frame.type = Frame::Type::SynReply;
    BERTH_TRY(frame.headers, headers(body.substr(least)));
    return frame;
  }
  case kRstStream:
    frame.type = Frame::Type::RstStream;
    frame.status = u32_at(body, 4);
    return frame;
  case kPing:
    frame.type = Frame::Type::Ping;
    frame.stream = u32_at(body, 0);
    return frame;
  case kGoAway:
    frame.type = Frame::Type::GoAway;
    return frame;
  default:
    return frame;
  }
}

Result<HttpHeaders> FrameReader::headers(std::string_view packed) {
  BERTH_TRY(const std::string plain, inflater_->unpack(packed, max_bytes_));
  std::string_view rest = plain;
  const auto number = [&]() -> std::optional<std::uint32_t> {
    if (rest.size() < 4) {
      return std::nullopt;
    }
    const std::uint32_t value = u32_at(rest, 0);
    rest.remove_prefix(4);
    return value;
  };
  const auto text = [&]() -> std::optional<std::string> {
    const auto size = number();
    if (!size || *size > rest.size()) {
      return std::nullopt;
    }
    std::string value(rest.substr(0, *size));
    rest.remove_prefix(*size);
    return value;
  };
  HttpHeaders out;
  const auto count = number();
  for (std::uint32_t i = 0; count && i < *count; ++i) {
    auto name = text();
    auto value = text();
    if (!name || !value) {
      return wrong("headers end too early");
    }
    out.emplace_back(*std::move(name), *std::move(value));
  }
  return out;
}

} // namespace berth::net::spdy
