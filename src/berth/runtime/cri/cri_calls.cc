#include "berth/runtime/cri/cri_calls.h"

#include <fmt/format.h>

namespace berth::runtime::cri {

std::string runtime_method(std::string_view name) {
  return fmt::format("/runtime.v1.RuntimeService/{}", name);
}

Error sort_out(Error error) {
  if (error.message.find("is reserved for") != std::string::npos) {
    error.code = Code::AlreadyExists;
  } else if (error.message.find("context deadline exceeded") != std::string::npos) {
    error.code = Code::Timeout;
  }
  return error;
}

bool without_network(const Error& error) {
  return error.message.find("cni plugin not initialized") != std::string::npos;
}

} // namespace berth::runtime::cri
