// The members of an etcd cluster, asked one after the other until one answers. Blocks the thread,
// on a loop of its own: a Store's write is done when the call returns.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/net/http_client.h"

namespace berth::etcd {

/// "http://127.0.0.1:2379,http://..."; Error BadRequest names the part that is wrong.
Result<std::vector<net::HttpUrl>> parse_endpoints(std::string_view text);

class Endpoints {
 public:
  struct Options {
    Duration call = Duration::seconds(3);  ///< how long one member may take
    Duration all = Duration::seconds(6);   ///< and all of them together
    Duration pause = Duration::seconds(1); ///< after nobody answered: errors at once for so long
    std::shared_ptr<const net::TlsContext> tls;
  };
  Endpoints(std::vector<net::HttpUrl> members, Options options);

  struct Answer {
    std::string body;
    bool repeated = false; ///< an earlier try may have taken effect without saying so
  };
  /// Asks the member that answered last, then the others. Errors: Unavailable, with what each of
  /// them said; RequestEntityTooLarge; Expired (the revision is compacted); Internal: refused.
  Result<Answer> call(std::string_view path, const std::string& body);

  /// Shows each line of a streamed answer to `line` until that says Enough, for `longest` at most.
  enum class More { Wanted, Enough };
  Result<void> read_lines(std::string_view path, const std::string& body, Duration longest,
                          const std::function<More(std::string_view)>& line);

  /// The member that answered last.
  const net::HttpUrl& current() const { return members_[current_]; }
  std::size_t size() const { return members_.size(); }
  /// Turns to the next one.
  void next() { current_ = (current_ + 1) % members_.size(); }
  std::string to_string() const;

 private:
  Result<net::HttpResponse> ask(const net::HttpRequest& request);

  std::vector<net::HttpUrl> members_;
  Options options_;
  net::AsioLoop loop_;
  net::HttpClient client_;
  std::size_t current_ = 0;
  std::optional<Error> down_; ///< nobody answered, at `down_since_`
  TimePoint down_since_;
};

/// A POST of JSON.
net::HttpRequest post(std::string_view path, std::string body);

/// Cuts what comes in pieces into lines.
class Lines {
 public:
  /// Whole lines, without their ends.
  std::vector<std::string> add(std::string_view piece);

 private:
  std::string rest_;
};

} // namespace berth::etcd
