// Any bytes as a SPDY connection: frames are read or refused, the same whether they come at once or
// in pieces.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/assert.h"
#include "berth/net/spdy/frames.h"

namespace {

using namespace berth;

std::vector<std::string> frames(std::string_view bytes, std::size_t step) {
  std::vector<std::string> out;
  net::spdy::FrameReader reader(4096);
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    reader.feed(bytes.substr(at, step));
    while (true) {
      const auto frame = reader.next();
      if (!frame) {
        out.push_back("refused");
        return out;
      }
      if (!*frame) {
        break;
      }
      out.push_back(std::to_string((*frame)->stream) + " " + (*frame)->data);
      for (const auto& [name, value] : (*frame)->headers) {
        out.back() += name + "=" + value;
      }
    }
  }
  return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  BERTH_ASSERT(frames(bytes, std::max<std::size_t>(1, size)) == frames(bytes, 5),
               "frames depend on how they come");
  return 0;
}
