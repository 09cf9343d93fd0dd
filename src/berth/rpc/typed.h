// Protocol buffer messages over Channel and Server: encoding, decoding, and nothing else.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "berth/base/result.h"
#include "berth/rpc/channel.h"
#include "berth/rpc/server.h"

namespace berth::rpc {

template <class Message> Result<Message> decode(const std::string& bytes) {
  Message message;
  if (!message.ParseFromString(bytes)) {
    return fail(Code::Invalid, fmt::format("malformed message: {} bytes are no {}", bytes.size(),
                                           message.GetTypeName()));
  }
  return message;
}

template <class Response, class Request>
void call(Channel& channel, std::string method, const Request& request, CallOptions options,
          std::function<void(Result<Response>)> done) {
  channel.unary(std::move(method), request.SerializeAsString(), options,
                [done = std::move(done)](Result<std::string> bytes) {
                  done(std::move(bytes).and_then(decode<Response>));
                });
}

/// A message that cannot be decoded ends the stream.
template <class Response, class Request>
std::unique_ptr<Stream> stream(Channel& channel, std::string method, const Request& request,
                               std::function<void(Response)> on_message,
                               std::function<void(Result<void>)> on_end) {
  const auto broken = std::make_shared<bool>(false);
  return channel.stream(
      std::move(method), request.SerializeAsString(),
      [broken, on_message = std::move(on_message), on_end](const std::string& bytes) {
        if (*broken) {
          return;
        }
        auto message = decode<Response>(bytes);
        if (message) {
          on_message(*std::move(message));
        } else {
          *broken = true;
          on_end(tl::unexpected(std::move(message).error()));
        }
      },
      [broken, on_end](Result<void> end) {
        if (!*broken) {
          on_end(std::move(end));
        }
      });
}

/// A unary method whose handler sees messages.
template <class Request, class Response>
UnaryHandler
unary(std::function<void(Request, std::function<void(Result<Response>)> respond)> handler) {
  return [handler = std::move(handler)](const std::string& bytes, const Respond& respond) {
    auto request = decode<Request>(bytes);
    if (!request) {
      respond(tl::unexpected(std::move(request).error()));
      return;
    }
    handler(*std::move(request), [respond](const Result<Response>& response) {
      respond(response.map([](const Response& message) { return message.SerializeAsString(); }));
    });
  };
}

} // namespace berth::rpc
