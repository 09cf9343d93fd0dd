#include "berth/rpc/server.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>
#include <grpc/support/time.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "berth/net/asio_loop.h"
#include "berth/rpc/bytes.h"
#include "berth/rpc/status.h"

namespace berth::rpc {
namespace {

namespace fs = std::filesystem;

class Call;

/// Shared by the server and its calls, which may end a moment after it.
struct Shared {
  net::AsioLoop* loop = nullptr;
  Methods methods;
  std::mutex mutex;
  bool closed = false;
  std::set<std::shared_ptr<Call>> calls;

  /// From any thread. The task runs while the server lives, or never.
  void post(const std::shared_ptr<Shared>& self, Task task) {
    const std::scoped_lock lock(mutex);
    if (!closed) {
      loop->post_from_any_thread([self, task = std::move(task)] {
        if (!self->closed) { // written by this thread alone
          task();
        }
      });
    }
  }
};

const grpc::Status kGone(grpc::StatusCode::UNAVAILABLE, "the server is shutting down");

/// One call. gRPC's thread reads the request and tells of its end; what is between belongs to the
/// loop. Kept by Shared until gRPC is done with it.
class Call final : public grpc::ServerGenericBidiReactor,
                   public Sink,
                   public std::enable_shared_from_this<Call> {
 public:
  Call(std::shared_ptr<Shared> shared, std::string method)
      : shared_(std::move(shared)), method_(std::move(method)) {}

  void begin() { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    if (!ok) {
      end({grpc::StatusCode::INVALID_ARGUMENT, "no request"});
      return;
    }
    shared_->post(shared_, [call = shared_from_this()] { call->handle(); });
  }
  void OnWriteDone(bool ok) override {
    shared_->post(shared_, [call = shared_from_this(), ok] { call->written(ok); });
  }
  void OnCancel() override {
    shared_->post(shared_, [call = shared_from_this()] { call->hung_up(); });
  }
  void OnDone() override {
    const std::shared_ptr<Call> self = shared_from_this(); // perhaps the last to hold it
    const std::shared_ptr<Shared> shared = shared_;
    const std::scoped_lock lock(shared->mutex);
    shared->calls.erase(self);
  }

  void send(std::string message) override {
    if (ending_) {
      return;
    }
    queue_.push_back(std::move(message));
    write_next();
  }
  void finish(Result<void> result) override {
    if (!std::exchange(ending_, true)) {
      status_ = result ? grpc::Status::OK : status_of(result.error());
      write_next();
    }
  }
  /// The server goes, or the client is gone. From the loop's thread.
  void abandon(const grpc::Status& status) {
    ending_ = true;
    queue_.clear();
    held_.reset();
    end(status);
  }

 private:
  void handle() {
    if (ended_) {
      return;
    }
    std::string bytes = to_bytes(request_);
    if (const auto unary = shared_->methods.unary.find(method_);
        unary != shared_->methods.unary.end()) {
      unary->second(std::move(bytes), [weak = weak_from_this()](Result<std::string> response) {
        if (const auto call = weak.lock()) {
          call->respond(std::move(response));
        }
      });
      return;
    }
    auto held = shared_->methods.streams.at(method_)(std::move(bytes), shared_from_this());
    if (!ending_) {
      held_ = std::move(held);
    }
  }
  void respond(Result<std::string> response) {
    if (shared_->closed || ending_) {
      return;
    }
    if (response) {
      send(*std::move(response));
      finish({});
    } else {
      finish(tl::unexpected(std::move(response).error()));
    }
  }
  void write_next() {
    if (writing_ || ended_) {
      return;
    }
    if (queue_.empty()) {
      if (ending_) {
        held_.reset();
        end(status_);
      }
      return;
    }
    writing_ = true;
    outgoing_ = to_buffer(queue_.front());
    queue_.pop_front();
    StartWrite(&outgoing_);
  }
  void written(bool ok) {
    writing_ = false;
    if (!ok) {
      hung_up();
      return;
    }
    write_next();
  }
  void hung_up() { abandon({grpc::StatusCode::CANCELLED, "the client hung up"}); }
  void end(const grpc::Status& status) {
    if (!ended_.exchange(true)) {
      Finish(status);
    }
  }

  std::shared_ptr<Shared> shared_;
  std::string method_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer outgoing_;
  std::deque<std::string> queue_;
  std::shared_ptr<void> held_; ///< the handler's, of a stream
  grpc::Status status_;
  bool writing_ = false;
  bool ending_ = false;
  std::atomic<bool> ended_ = false;
};

/// Answers what it knows; gRPC's own answer to the rest is UNIMPLEMENTED.
class Service final : public grpc::CallbackGenericService {
 public:
  explicit Service(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  grpc::ServerGenericBidiReactor*
  CreateReactor(grpc::GenericCallbackServerContext* context) override {
    const std::string& method = context->method();
    if (!shared_->methods.unary.contains(method) && !shared_->methods.streams.contains(method)) {
      return grpc::CallbackGenericService::CreateReactor(context);
    }
    auto call = std::make_shared<Call>(shared_, method);
    bool closed = false;
    {
      const std::scoped_lock lock(shared_->mutex);
      closed = shared_->closed;
      shared_->calls.insert(call);
    }
    if (closed) {
      call->Finish(kGone);
    } else {
      call->begin();
    }
    return call.get();
  }

 private:
  std::shared_ptr<Shared> shared_;
};

/// Where a server is bound before its socket gets its name. gRPC deletes the file that it has
/// bound, perhaps long after the server is gone, when the name is another server's.
std::string birthplace(const std::string& socket) {
  static std::atomic<unsigned> births = 0;
  const fs::path parent = fs::path(socket).parent_path();
  return (parent / fmt::format(".{}.{}", ::getpid(), ++births)).string();
}

/// Which file has the name; nullopt if none has.
std::optional<std::pair<dev_t, ino_t>> file_at(const std::string& path) {
  struct ::stat found {};
  return ::lstat(path.c_str(), &found) == 0 ? std::optional(std::pair(found.st_dev, found.st_ino))
                                            : std::nullopt;
}

Result<void> check_path(const std::string& socket, const std::string& birth) {
  constexpr std::size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;
  if (const std::size_t bytes = std::max(socket.size(), birth.size()); bytes > kLongest) {
    return fail(Code::Invalid,
                fmt::format("socket {}: the path has {} bytes, a unix socket's has at most {}; try "
                            "a shorter directory",
                            socket, bytes, kLongest));
  }
  std::error_code error;
  const fs::file_status status = fs::symlink_status(socket, error);
  if (fs::exists(status) && status.type() != fs::file_type::socket) {
    return fail(Code::Invalid, fmt::format("socket {}: something else has that name", socket));
  }
  const fs::path parent = fs::path(socket).parent_path();
  if (!parent.empty() && !fs::is_directory(parent, error)) {
    return fail(Code::NotFound, fmt::format("socket {}: no directory {}", socket, parent.string()));
  }
  return {};
}

} // namespace

struct Server::State {
  std::shared_ptr<Shared> shared = std::make_shared<Shared>();
  std::unique_ptr<Service> service;
  std::unique_ptr<grpc::Server> server;
  std::string socket;
  std::optional<std::pair<dev_t, ino_t>> file; ///< that has its name
};

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Server>> Server::listen(net::AsioLoop& loop, const std::string& socket,
                                               Methods methods, ServerOptions options) {
  const std::string birth = birthplace(socket);
  BERTH_CHECK(check_path(socket, birth));
  auto state = std::make_unique<State>();
  state->shared->loop = &loop;
  state->shared->methods = std::move(methods);
  state->service = std::make_unique<Service>(state->shared);
  grpc::ServerBuilder builder;
  int bound = 0;
  builder.AddListeningPort("unix:" + birth, grpc::InsecureServerCredentials(), &bound);
  builder.RegisterCallbackGenericService(state->service.get());
  builder.SetMaxReceiveMessageSize(options.largest_message);
  state->server = builder.BuildAndStart();
  std::error_code error;
  if (state->server && bound != 0) {
    // Who sees the name finds a server that listens.
    fs::permissions(birth, fs::perms::owner_read | fs::perms::owner_write, error);
    state->socket = socket;
    state->file = file_at(birth);
    fs::rename(birth, socket, error);
  }
  if (!state->server || bound == 0 || error) {
    return fail(Code::Unavailable,
                fmt::format("socket {}: cannot listen there; is the directory writable?", socket));
  }
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

Server::~Server() {
  std::set<std::shared_ptr<Call>> calls;
  {
    const std::scoped_lock lock(state_->shared->mutex);
    state_->shared->closed = true;
    calls = state_->shared->calls;
  }
  for (const std::shared_ptr<Call>& call : calls) {
    call->abandon(kGone);
  }
  if (state_->file && file_at(state_->socket) == state_->file) {
    std::error_code gone;
    fs::remove(state_->socket, gone);
  }
  state_->server->Shutdown(gpr_now(GPR_CLOCK_MONOTONIC));
  state_->server->Wait();
}

} // namespace berth::rpc
