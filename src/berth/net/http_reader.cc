// Requests and responses out of bytes, by Beast's parser without its sockets.
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/none.hpp>

#include <fmt/format.h>

#include "berth/net/http.h"

namespace berth::net {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;

/// Feeds what has come until the message is whole or more must come; what is not used stays.
template <class Parser> error_code advance(Parser& parser, std::string& pending) {
  error_code error;
  std::size_t used = 0;
  while (!parser.is_done() && used < pending.size()) {
    const std::size_t n =
        parser.put(boost::asio::buffer(pending.data() + used, pending.size() - used), error);
    used += n;
    if (error == http::error::need_more) {
      error = {};
      break;
    }
    if (error || n == 0) {
      break;
    }
  }
  pending.erase(0, used);
  return error;
}

template <class Fields> HttpHeaders headers_of(const Fields& fields) {
  HttpHeaders headers;
  for (const auto& field : fields) {
    headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  return headers;
}

int status_of(const error_code& error) {
  return error == http::error::body_limit     ? 413
         : error == http::error::header_limit ? 431
         : error == http::error::bad_version  ? 505
                                              : 400;
}

template <class Parser> void set_limits(Parser& parser, const HttpLimits& limits) {
  parser.eager(true);
  parser.header_limit(static_cast<std::uint32_t>(limits.header_bytes));
  parser.body_limit(limits.body_bytes);
}

} // namespace

struct RequestReader::State {
  explicit State(HttpLimits given) : limits(given) { restart(); }
  void restart() {
    parser.emplace();
    set_limits(*parser, limits);
    continued = false;
  }

  HttpLimits limits;
  std::optional<http::request_parser<http::string_body>> parser;
  std::string pending;
  bool continued = false;
};

RequestReader::RequestReader(HttpLimits limits) : state_(std::make_unique<State>(limits)) {}
RequestReader::~RequestReader() = default;

tl::expected<void, RequestReader::Refusal> RequestReader::feed(std::string_view bytes) {
  state_->pending += bytes;
  if (const error_code error = advance(*state_->parser, state_->pending)) {
    return tl::unexpected(Refusal{.status = status_of(error), .message = error.message()});
  }
  // Behind a whole request more may wait; it is looked at once that one is taken.
  if (state_->pending.size() > state_->limits.header_bytes + state_->limits.body_bytes) {
    return tl::unexpected(Refusal{.status = 413, .message = "too much sent ahead"});
  }
  return {};
}

std::optional<HttpRequest> RequestReader::take() {
  if (!state_->parser->is_done()) {
    return std::nullopt;
  }
  auto message = state_->parser->release();
  HttpRequest request{.method = std::string(message.method_string()),
                      .target = std::string(message.target()),
                      .headers = headers_of(message),
                      .body = std::move(message.body()),
                      .keep_alive = message.keep_alive()};
  state_->restart();
  return request;
}

bool RequestReader::wants_continue() {
  const auto& parser = *state_->parser;
  if (state_->continued || !parser.is_header_done() || parser.is_done() ||
      !boost::beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    return false;
  }
  return state_->continued = true;
}

bool RequestReader::in_request() const {
  return !state_->pending.empty() || state_->parser->is_header_done();
}

std::string RequestReader::take_rest() {
  return std::move(state_->pending);
}

struct ResponseReader::State {
  http::response_parser<http::string_body> parser;
  std::string pending;
  bool begun = false;
};

ResponseReader::ResponseReader(HttpLimits limits, To request) : state_(std::make_unique<State>()) {
  set_limits(state_->parser, limits);
  state_->parser.skip(request == To::Head);
}
ResponseReader::~ResponseReader() = default;

namespace {

tl::unexpected<Error> bad_answer(const error_code& error) {
  return fail(Code::Unavailable, fmt::format("the answer is not usable: {}", error.message()));
}

} // namespace

Result<void> ResponseReader::feed(std::string_view bytes) {
  state_->begun = state_->begun || !bytes.empty();
  state_->pending += bytes;
  if (const error_code error = advance(state_->parser, state_->pending)) {
    return bad_answer(error);
  }
  return {};
}

Result<void> ResponseReader::end() {
  error_code error;
  if (!state_->parser.got_some()) {
    error = http::error::end_of_stream;
  } else if (!state_->parser.is_done()) {
    state_->parser.put_eof(error);
  }
  if (!error && !state_->parser.is_done()) {
    error = http::error::partial_message;
  }
  return error ? Result<void>(bad_answer(error)) : Result<void>();
}

bool ResponseReader::done() const {
  return state_->parser.is_done();
}

bool ResponseReader::begun() const {
  return state_->begun;
}

bool ResponseReader::has_head() const {
  return state_->parser.is_header_done();
}

HttpResponse ResponseReader::head() const {
  const auto& message = state_->parser.get();
  return {.status = static_cast<int>(message.result_int()), .headers = headers_of(message)};
}

std::string ResponseReader::take_piece() {
  state_->parser.body_limit(boost::none);
  return std::exchange(state_->parser.get().body(), {});
}

HttpResponse ResponseReader::take() {
  auto message = state_->parser.release();
  return {.status = static_cast<int>(message.result_int()),
          .headers = headers_of(message),
          .body = std::move(message.body()),
          .keep_alive = message.keep_alive() && state_->pending.empty()};
}

std::string ResponseReader::take_rest() {
  return std::move(state_->pending);
}

} // namespace berth::net
