#include "berth/runtime/runtime.h"

namespace berth::runtime {
namespace {

Error no_processes() {
  return {.code = Code::BadRequest,
          .message = "the containers of a simulated machine have no processes; try a node with a "
                     "container runtime"};
}

} // namespace

bool only_loopback(const SandboxStatus& sandbox) {
  return sandbox.ip.starts_with("127.") || sandbox.ip == "::1";
}

void Images::user_of(const std::string&, Done<ImageUser> done) {
  done(ImageUser());
}

void Runtime::set_cpus(const std::string&, const std::string&, Done<void> done) {
  done(fail(Code::BadRequest, "this runtime leaves its containers where they are"));
}

void Runtime::usages(Done<Usages> done) {
  done(Usages());
}

void Runtime::exec_sync(const std::string&, const std::vector<std::string>&, Duration,
                        Done<ExecResult> done) {
  done(tl::unexpected(no_processes()));
}

void Runtime::exec_url(const std::string&, const std::vector<std::string>&, const StreamWish&,
                       Done<std::string> done) {
  done(tl::unexpected(no_processes()));
}

void Runtime::attach_url(const std::string&, const StreamWish&, Done<std::string> done) {
  done(tl::unexpected(no_processes()));
}

void Runtime::port_forward_url(const std::string&, const std::vector<std::int32_t>&,
                               Done<std::string> done) {
  done(tl::unexpected(no_processes()));
}

} // namespace berth::runtime
