// Messages between gRPC's buffers and strings. Included by this room's sources alone.
#pragma once

#include <string>

#include <grpcpp/support/byte_buffer.h>

namespace berth::rpc {

inline grpc::ByteBuffer to_buffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

inline std::string to_bytes(const grpc::ByteBuffer& buffer) {
  std::string bytes;
  grpc::Slice whole;
  if (buffer.DumpToSingleSlice(&whole).ok()) {
    bytes.assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
  }
  return bytes;
}

} // namespace berth::rpc
