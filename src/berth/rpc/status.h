// Between gRPC's status codes and ours. A Go server's plain errors are UNKNOWN, and so are ours
// that have no better code.
#pragma once

#include <string>

#include "berth/base/result.h"

namespace grpc {
class Status;
}

namespace berth::rpc {

Error error_of(const grpc::Status& status);
grpc::Status status_of(const Error& error);

} // namespace berth::rpc
