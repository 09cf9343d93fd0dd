// Any bytes as a container's log: what is told of it does not depend on how it is cut, and a tail
// is an end of the whole.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "berth/base/assert.h"
#include "berth/kubelet/logs/cri_log.h"

namespace {

using namespace berth;

std::string told(std::string_view log, std::size_t step, const server::LogOptions& options) {
  kubelet::CriLogTeller teller(options);
  std::string out;
  for (std::size_t at = 0; at < log.size(); at += step) {
    out += teller.tell(log.substr(at, step));
  }
  return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view log(reinterpret_cast<const char*>(data), size);
  const std::string whole = told(log, std::max<std::size_t>(1, size), {});
  BERTH_ASSERT(told(log, 3, {}) == whole, "told in pieces: " + whole);
  for (const std::int64_t lines : {0, 1, 2, 1000}) {
    const std::uint64_t begin =
        kubelet::tail_begin(size, lines, [&](std::uint64_t at, std::size_t bytes) {
          return std::string(log.substr(at, bytes));
        });
    BERTH_ASSERT(begin <= size, "a tail begins behind the end");
    BERTH_ASSERT(whole.ends_with(told(log.substr(begin), 7, {})), "a tail is no end: " + whole);
  }
  (void)told(log, 5, {.timestamps = true, .limit_bytes = 10});
  return 0;
}
