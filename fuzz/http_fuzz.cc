// Any bytes as what comes over a connection: requests and answers are read or refused, the same
// whether they come at once or in pieces.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/assert.h"
#include "berth/net/http.h"

namespace {

using namespace berth;

constexpr net::HttpLimits kLimits{.header_bytes = 1024, .body_bytes = 1024};

/// Every request until one is refused, then its status.
std::vector<std::string> requests(std::string_view bytes, std::size_t step) {
  std::vector<std::string> out;
  net::RequestReader reader(kLimits);
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    auto fed = reader.feed(bytes.substr(at, step));
    for (auto request = reader.take(); fed && request; request = reader.take()) {
      (void)request->query("pod");
      out.push_back(request->method + " " + request->target + "\n" + request->body);
      fed = reader.feed({});
    }
    if (!fed) {
      out.push_back("refused");
      return out;
    }
    reader.wants_continue();
  }
  return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = requests(bytes, std::max<std::size_t>(1, size));
  const auto pieces = requests(bytes, 7);
  // Pieces may be read on until a refusal that is found earlier when all is there.
  for (std::size_t i = 0; i < std::min(whole.size(), pieces.size()); ++i) {
    BERTH_ASSERT(whole[i] == pieces[i] || whole[i] == "refused" || pieces[i] == "refused",
                 whole[i] + " / " + pieces[i]);
  }
  net::ResponseReader answer(kLimits, net::ResponseReader::To::Get);
  if (answer.feed(bytes) && answer.end() && answer.done()) {
    (void)net::to_bytes(answer.take());
  }
  (void)net::HttpUrl::parse(bytes);
  return 0;
}
