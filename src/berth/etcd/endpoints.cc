#include "berth/etcd/endpoints.h"

#include <utility>

#include <fmt/format.h>

#include "berth/etcd/messages.h"

namespace berth::etcd {
namespace {

// gRPC's codes, as far as etcd gives them.
constexpr int kDeadlineExceeded = 4;
constexpr int kInvalidArgument = 3;
constexpr int kResourceExhausted = 8;
constexpr int kOutOfRange = 11;
constexpr int kUnavailable = 14;
constexpr int kOk = 200;

constexpr std::size_t kMostBytes = std::size_t{512} * 1024 * 1024;

bool another_may_do(const Refusal& refusal) {
  return refusal.code == kUnavailable || refusal.code == kDeadlineExceeded ||
         refusal.message.find("timed out") != std::string::npos ||
         refusal.message.find("no leader") != std::string::npos ||
         refusal.message.find("too many requests") != std::string::npos;
}

tl::unexpected<Error> refused(const Refusal& refusal) {
  if (refusal.code == kOutOfRange) {
    return fail(Code::Expired, refusal.message);
  }
  if (refusal.code == kInvalidArgument && refusal.message.find("too large") != std::string::npos) {
    return fail(Code::RequestEntityTooLarge,
                fmt::format("{}; etcd takes 1.5 MiB unless --max-request-bytes says otherwise",
                            refusal.message));
  }
  if (refusal.code == kResourceExhausted) {
    return fail(Code::Internal,
                fmt::format("{}; etcd is full: compact and defragment it, then etcdctl alarm "
                            "disarm",
                            refusal.message));
  }
  return fail(Code::Internal, fmt::format("etcd refused: {}", refusal.message));
}

net::HttpClientOptions client_options(const Endpoints::Options& options) {
  net::HttpClientOptions with{.timeout = options.call};
  with.limits.body_bytes = kMostBytes;
  with.tls = options.tls;
  return with;
}

} // namespace

Result<std::vector<net::HttpUrl>> parse_endpoints(std::string_view text) {
  std::vector<net::HttpUrl> out;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    auto url = net::HttpUrl::parse(part);
    if (!url || part.empty()) {
      return fail(Code::BadRequest,
                  fmt::format("\"{}\" is no endpoint of etcd: {}; want e.g. http://127.0.0.1:2379",
                              part, url ? "it is empty" : url.error().message));
    }
    out.push_back(*std::move(url));
    if (comma == std::string_view::npos) {
      return out;
    }
    text.remove_prefix(comma + 1);
  }
}

net::HttpRequest post(std::string_view path, std::string body) {
  return {.method = "POST",
          .target = std::string(path),
          .headers = {{"Content-Type", "application/json"}},
          .body = std::move(body)};
}

Endpoints::Endpoints(std::vector<net::HttpUrl> members, Options options)
    : members_(std::move(members)), options_(std::move(options)),
      client_(loop_, client_options(options_)) {}

std::string Endpoints::to_string() const {
  std::string out;
  for (const net::HttpUrl& member : members_) {
    out += (out.empty() ? "" : ",") + member.to_string();
  }
  return out;
}

Result<net::HttpResponse> Endpoints::ask(const net::HttpRequest& request) {
  std::optional<Result<net::HttpResponse>> answer;
  client_.send(current(), request, [&](Result<net::HttpResponse> response) {
    answer = std::move(response);
    loop_.stop();
  });
  while (!answer) {
    loop_.run();
  }
  return *std::move(answer);
}

Result<Endpoints::Answer> Endpoints::call(std::string_view path, const std::string& body) {
  const TimePoint begun = loop_.now();
  if (down_ && begun - down_since_ < options_.pause) {
    return tl::unexpected(*down_);
  }
  const net::HttpRequest request = post(path, body);
  std::vector<Error> said;
  bool repeated = false;
  for (std::size_t tries = 0;
       tries < members_.size() + 1 && (tries == 0 || loop_.now() - begun < options_.all); ++tries) {
    auto response = ask(request);
    if (response && response->status == kOk) {
      down_.reset();
      return Answer{.body = std::move(response->body), .repeated = repeated};
    }
    if (response) {
      const Refusal refusal = read_refusal(response->body);
      if (!another_may_do(refusal)) {
        down_.reset();
        return refused(refusal);
      }
      said.push_back({.code = Code::Unavailable,
                      .message = fmt::format("{}: {}", current().to_string(), refusal.message)});
    } else {
      said.push_back({.code = Code::Unavailable, .message = response.error().message});
    }
    repeated = true;
    next();
  }
  down_ = Error{.code = Code::Unavailable,
                .message = fmt::format("etcd does not answer at {}; is it running, and do its "
                                       "members see each other?",
                                       to_string()),
                .where = {},
                .causes = std::move(said)};
  down_since_ = loop_.now();
  return tl::unexpected(*down_);
}

Result<void> Endpoints::read_lines(std::string_view path, const std::string& body, Duration longest,
                                   const std::function<More(std::string_view)>& line) {
  Result<void> outcome =
      fail(Code::Timeout, fmt::format("etcd at {} shows no such change within "
                                      "{}",
                                      current().to_string(), berth::to_string(longest)));
  bool over = false;
  Lines lines;
  const auto end = [&](Result<void> how) {
    outcome = std::move(how);
    over = true;
    loop_.stop();
  };
  net::HttpStreamEvents events;
  events.head = [](const net::HttpResponse&) {};
  events.piece = [&](std::string_view piece) {
    for (const std::string& one : lines.add(piece)) {
      if (!over && line(one) == More::Enough) {
        end({});
      }
    }
  };
  events.end = [&](Result<void> how) {
    if (!over) {
      end(how ? fail(Code::Unavailable, "etcd ended the answer") : std::move(how));
    }
  };
  Timer deadline(loop_);
  deadline.set(longest, [&] {
    over = true;
    loop_.stop();
  });
  const auto call = client_.stream(current(), post(path, body), std::move(events));
  while (!over) {
    loop_.run();
  }
  return outcome;
}

std::vector<std::string> Lines::add(std::string_view piece) {
  rest_ += piece;
  std::vector<std::string> out;
  std::size_t begin = 0;
  for (std::size_t at = rest_.find('\n'); at != std::string::npos; at = rest_.find('\n', begin)) {
    if (at > begin) {
      out.push_back(rest_.substr(begin, at - begin));
    }
    begin = at + 1;
  }
  rest_.erase(0, begin);
  return out;
}

} // namespace berth::etcd
