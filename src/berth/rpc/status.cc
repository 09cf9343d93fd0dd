#include "berth/rpc/status.h"

#include <grpcpp/support/status.h>

namespace berth::rpc {
namespace {

Code code_of(grpc::StatusCode code) {
  switch (code) {
  case grpc::StatusCode::INVALID_ARGUMENT:
  case grpc::StatusCode::OUT_OF_RANGE:
    return Code::Invalid;
  case grpc::StatusCode::UNIMPLEMENTED:
    return Code::BadRequest;
  case grpc::StatusCode::DEADLINE_EXCEEDED:
    return Code::Timeout;
  case grpc::StatusCode::NOT_FOUND:
    return Code::NotFound;
  case grpc::StatusCode::ALREADY_EXISTS:
    return Code::AlreadyExists;
  case grpc::StatusCode::PERMISSION_DENIED:
    return Code::Forbidden;
  case grpc::StatusCode::UNAUTHENTICATED:
    return Code::Unauthorized;
  case grpc::StatusCode::RESOURCE_EXHAUSTED:
    return Code::TooManyRequests;
  case grpc::StatusCode::FAILED_PRECONDITION:
  case grpc::StatusCode::ABORTED:
    return Code::Conflict;
  case grpc::StatusCode::UNAVAILABLE:
  case grpc::StatusCode::CANCELLED:
    return Code::Unavailable;
  case grpc::StatusCode::OK:
  case grpc::StatusCode::UNKNOWN:
  case grpc::StatusCode::INTERNAL:
  case grpc::StatusCode::DATA_LOSS:
  case grpc::StatusCode::DO_NOT_USE:
    break;
  }
  return Code::Internal;
}

grpc::StatusCode code_of(Code code) {
  switch (code) {
  case Code::BadRequest:
  case Code::Invalid:
  case Code::UnsupportedMediaType:
    return grpc::StatusCode::INVALID_ARGUMENT;
  case Code::Unauthorized:
    return grpc::StatusCode::UNAUTHENTICATED;
  case Code::Forbidden:
    return grpc::StatusCode::PERMISSION_DENIED;
  case Code::NotFound:
    return grpc::StatusCode::NOT_FOUND;
  case Code::AlreadyExists:
    return grpc::StatusCode::ALREADY_EXISTS;
  case Code::Conflict:
    return grpc::StatusCode::FAILED_PRECONDITION;
  case Code::Timeout:
    return grpc::StatusCode::DEADLINE_EXCEEDED;
  case Code::TooManyRequests:
  case Code::RequestEntityTooLarge:
    return grpc::StatusCode::RESOURCE_EXHAUSTED;
  case Code::Unavailable:
    return grpc::StatusCode::UNAVAILABLE;
  case Code::Gone:
  case Code::Expired:
  case Code::Internal:
    break;
  }
  return grpc::StatusCode::UNKNOWN;
}

} // namespace

Error error_of(const grpc::Status& status) {
  return {.code = code_of(status.error_code()), .message = status.error_message()};
}

grpc::Status status_of(const Error& error) {
  return {code_of(error.code), to_string(error)};
}

} // namespace berth::rpc
