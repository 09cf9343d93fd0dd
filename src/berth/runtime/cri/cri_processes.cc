#include "berth/runtime/cri/cri_processes.h"

#include <algorithm>
#include <utility>

#include "berth/rpc/typed.h"
#include "berth/runtime/cri/cri_calls.h"
#include "berth/runtime/cri/cri_messages.h"

namespace berth::runtime::cri {
namespace {

template <class Request> void put_wish(const StreamWish& wish, Request& request) {
  request.set_tty(wish.tty);
  request.set_stdin(wish.in);
  request.set_stdout(wish.out);
  request.set_stderr(wish.err);
}

template <class Request>
void ask_url(rpc::Channel& channel, std::string_view name, const Request& request,
             Done<std::string> done) {
  rpc::call<pb::StreamingResponse>(
      channel, runtime_method(name), request, kLook,
      [done = std::move(done)](const Result<pb::StreamingResponse>& response) {
        done(response.map([](const pb::StreamingResponse& answer) { return answer.url(); }));
      });
}

} // namespace

void run_in_container(rpc::Channel& channel, const CommandIn& what, Duration timeout,
                      Done<ExecResult> done) {
  pb::ExecSyncRequest request;
  request.set_container_id(what.id);
  request.mutable_cmd()->Add(what.command.begin(), what.command.end());
  request.set_timeout(std::max<std::int64_t>(timeout.count_seconds(), 1));
  rpc::call<pb::ExecSyncResponse>(
      channel, runtime_method("ExecSync"), request, {.timeout = timeout + Duration::seconds(10)},
      [done = std::move(done)](const Result<pb::ExecSyncResponse>& response) {
        done(response
                 .map([](const pb::ExecSyncResponse& answer) {
                   return ExecResult{answer.exit_code(), answer.stdout(), answer.stderr()};
                 })
                 .map_error(sort_out));
      });
}

void ask_exec_url(rpc::Channel& channel, const CommandIn& what, const StreamWish& wish,
                  Done<std::string> done) {
  pb::ExecRequest request;
  request.set_container_id(what.id);
  request.mutable_cmd()->Add(what.command.begin(), what.command.end());
  put_wish(wish, request);
  ask_url(channel, "Exec", request, std::move(done));
}

void ask_attach_url(rpc::Channel& channel, const std::string& id, const StreamWish& wish,
                    Done<std::string> done) {
  pb::AttachRequest request;
  request.set_container_id(id);
  put_wish(wish, request);
  ask_url(channel, "Attach", request, std::move(done));
}

void ask_port_forward_url(rpc::Channel& channel, const std::string& sandbox_id,
                          const std::vector<std::int32_t>& ports, Done<std::string> done) {
  pb::PortForwardRequest request;
  request.set_pod_sandbox_id(sandbox_id);
  request.mutable_port()->Add(ports.begin(), ports.end());
  ask_url(channel, "PortForward", request, std::move(done));
}

} // namespace berth::runtime::cri
