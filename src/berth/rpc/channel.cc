#include "berth/rpc/channel.h"

#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <grpc/support/time.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include "berth/net/asio_loop.h"
#include "berth/rpc/bytes.h"
#include "berth/rpc/status.h"

namespace berth::rpc {
namespace {

// The kubelet's limit for what a runtime may answer.
constexpr int kLargestMessage = 16 * 1024 * 1024;

std::string address_of(std::string_view socket) {
  constexpr std::string_view kScheme = "unix://";
  constexpr std::string_view kTcp = "tcp://";
  if (socket.starts_with(kTcp)) {
    return fmt::format("dns:///{}", socket.substr(kTcp.size()));
  }
  if (socket.starts_with(kScheme)) {
    socket.remove_prefix(kScheme.size());
  }
  return fmt::format("unix:{}", socket);
}

/// gRPC ends its threads when the last channel goes and waits for them, but a channel may go on one
/// of them, with the last call that it had. So one that has made a call stays, for as long as the
/// process.
void keep_threads() {
  struct Kept {
    std::shared_ptr<grpc::Channel> channel =
        grpc::CreateChannel("unix:/dev/null/nobody", grpc::InsecureChannelCredentials());
    grpc::GenericStub stub{channel};
    grpc::ClientContext context;
    grpc::ByteBuffer request = to_buffer("");
    grpc::ByteBuffer response;
  };
  static const Kept* const kept = [] {
    auto call = std::make_unique<Kept>();
    call->stub.UnaryCall(&call->context, "/none", {}, &call->request, &call->response,
                         [](const grpc::Status&) {});
    return call.release();
  }();
  static_cast<void>(kept);
}

std::shared_ptr<grpc::Channel> open_over(int connected, const std::string& authority) {
  keep_threads();
  return grpc::CreateInsecureChannelFromFd(authority, connected);
}

std::shared_ptr<grpc::Channel> open(const std::string& address) {
  keep_threads();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kLargestMessage);
  // Two channels to one path may mean two lives of a socket: they share nothing.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // What one attempt may take, on a machine under load: not how soon the next one comes.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

void limit(grpc::ClientContext& context, const CallOptions& options) {
  context.set_wait_for_ready(options.absent == CallOptions::Absent::Wait);
  if (options.timeout != Duration::max()) {
    context.set_deadline(
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                     gpr_time_from_nanos(options.timeout.count_nanos(), GPR_TIMESPAN)));
  }
}

} // namespace

/// Shared with the calls, which gRPC may end after the channel is gone: then nothing reaches the
/// loop any more.
struct Channel::State : std::enable_shared_from_this<State> {
  State(net::AsioLoop& its_loop, std::shared_ptr<grpc::Channel> opened)
      : loop(&its_loop), connection(std::move(opened)), stub(connection) {}

  void enter(grpc::ClientContext& context) {
    const std::scoped_lock lock(mutex);
    in_flight.insert(&context);
  }
  void leave(grpc::ClientContext& context) {
    const std::scoped_lock lock(mutex);
    in_flight.erase(&context);
  }
  /// From any thread. The task runs while the channel lives, or never.
  void post(Task task) {
    const std::scoped_lock lock(mutex);
    if (!closed) {
      loop->post_from_any_thread([self = shared_from_this(), task = std::move(task)] {
        if (!self->closed) { // written by this thread alone
          task();
        }
      });
    }
  }
  void close() {
    const std::scoped_lock lock(mutex);
    closed = true;
    for (grpc::ClientContext* context : in_flight) {
      context->TryCancel();
    }
  }

  net::AsioLoop* loop;
  std::shared_ptr<grpc::Channel> connection;
  grpc::GenericStub stub;
  std::mutex mutex;
  bool closed = false;
  std::set<grpc::ClientContext*> in_flight;
};

Channel::Channel(net::AsioLoop& loop, std::string_view socket)
    : state_(std::make_shared<State>(loop, open(address_of(socket)))) {}

Channel::Channel(net::AsioLoop& loop, int connected, const std::string& authority)
    : state_(std::make_shared<State>(loop, open_over(connected, authority))) {}

Channel::~Channel() {
  state_->close();
}

bool Channel::connected() const {
  return state_->connection->GetState(false) == GRPC_CHANNEL_READY;
}

void Channel::unary(std::string method, std::string request, CallOptions options,
                    std::function<void(Result<std::string>)> done) {
  // gRPC keeps a pointer to the method's name.
  struct Call {
    std::string method;
    grpc::ClientContext context;
    grpc::ByteBuffer request;
    grpc::ByteBuffer response;
  };
  const auto call = std::make_shared<Call>();
  call->method = std::move(method);
  call->request = to_buffer(request);
  limit(call->context, options);
  state_->enter(call->context);
  state_->stub.UnaryCall(
      &call->context, call->method, {}, &call->request, &call->response,
      [state = state_, call, done = std::move(done)](const grpc::Status& status) {
        state->leave(call->context);
        auto result = status.ok() ? Result<std::string>(to_bytes(call->response))
                                  : Result<std::string>(tl::unexpected(error_of(status)));
        state->post([done, result = std::move(result)]() mutable { done(std::move(result)); });
      });
}

/// Owns itself until gRPC is done with it. gRPC keeps it while it is held, and it is held by
/// whoever has the turn: a read that is pending, or a message on its way through the loop.
struct Channel::StreamCall final : grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
  /// A message's turn on the loop: unless it ends in another read, the hold is over.
  struct Turn {
    explicit Turn(std::shared_ptr<StreamCall> its_call) : call(std::move(its_call)) {}
    ~Turn() {
      if (call) {
        call->RemoveHold();
      }
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    void deliver() {
      if (!call->dropped) {
        call->on_message(to_bytes(call->response));
      }
      if (!call->dropped) {
        const std::shared_ptr<StreamCall> reading = std::move(call);
        reading->StartRead(&reading->response);
      }
    }
    std::shared_ptr<StreamCall> call;
  };

  void start(const std::string& bytes) {
    request = to_buffer(bytes);
    state->enter(context);
    state->stub.PrepareBidiStreamingCall(&context, method, {}, this);
    AddHold();
    StartWriteLast(&request, {});
    StartRead(&response);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) {
      RemoveHold();
      return;
    }
    state->post([turn = std::make_shared<Turn>(self)] { turn->deliver(); });
  }
  void OnDone(const grpc::Status& status) override {
    state->leave(context);
    state->post([call = self, status] {
      if (!std::exchange(call->dropped, true)) {
        call->on_end(status.ok() ? Result<void>() : tl::unexpected(error_of(status)));
      }
    });
    self.reset();
  }

  std::shared_ptr<State> state;
  std::shared_ptr<StreamCall> self;
  std::string method;
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer response;
  std::function<void(std::string)> on_message;
  std::function<void(Result<void>)> on_end;
  bool dropped = false; ///< the loop's thread alone
};

/// Hangs up when it goes.
struct Channel::StreamHandle final : Stream {
  explicit StreamHandle(std::shared_ptr<StreamCall> its_call) : call(std::move(its_call)) {}
  ~StreamHandle() override {
    if (!std::exchange(call->dropped, true)) {
      call->context.TryCancel();
    }
  }
  StreamHandle(const StreamHandle&) = delete;
  StreamHandle& operator=(const StreamHandle&) = delete;
  std::shared_ptr<StreamCall> call;
};

std::unique_ptr<Stream> Channel::stream(std::string method, std::string request,
                                        std::function<void(std::string)> on_message,
                                        std::function<void(Result<void>)> on_end) {
  const auto call = std::make_shared<StreamCall>();
  call->self = call;
  call->state = state_;
  call->method = std::move(method);
  call->on_message = std::move(on_message);
  call->on_end = std::move(on_end);
  call->start(request);
  return std::make_unique<StreamHandle>(call);
}

} // namespace berth::rpc
