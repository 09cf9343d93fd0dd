// Watches: the store's events as JSON lines of a streamed answer.
#include <algorithm>
#include <utility>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/server/list_query.h"
#include "berth/server/reading.h"

namespace berth::server {
namespace {

namespace json = boost::json;

/// Of a watch that names no timeout, as min-request-timeout: clients come back.
constexpr Duration kLongest = Duration::minutes(45);

std::string_view type_text(store::WatchEvent::Type type) {
  switch (type) {
  case store::WatchEvent::Type::Added:
    return "ADDED";
  case store::WatchEvent::Type::Modified:
    return "MODIFIED";
  case store::WatchEvent::Type::Deleted:
    return "DELETED";
  case store::WatchEvent::Type::Bookmark:
    return "BOOKMARK";
  }
  return "ERROR";
}

std::string line(std::string_view type, std::string_view object) {
  while (object.ends_with('\n')) {
    object.remove_suffix(1);
  }
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}

/// One client's watch. Lives as long as its stream is used: the stream's end and the timer drop it.
class Watcher : public std::enable_shared_from_this<Watcher> {
 public:
  Watcher(const Shared& shared, const schema::Resource& resource, ListQuery query,
          RenderOptions options)
      : shared_(shared), resource_(resource), query_(std::move(query)),
        options_(std::move(options)), timeout_(*shared.loop) {}

  void start(std::uint64_t since, std::shared_ptr<net::HttpStream> stream) {
    stream_ = std::move(stream);
    stream_->on_gone([self = shared_from_this()] { self->stop(); });
    timeout_.set(query_.timeout_seconds ? Duration::seconds(*query_.timeout_seconds) : kLongest,
                 [self = shared_from_this()] { self->finish(); });
    const store::WatchOptions what{.what = query_.what, .since = since, .bookmarks = false};
    auto subscribed =
        shared_.registry->watch(what, [this](const store::WatchEvent& event) { tell(event); });
    if (subscribed) {
      subscription_ = *std::move(subscribed);
    } else if (subscribed.error().code !=
               Code::Timeout) { // what has not happened yet is waited for
      fail_with(status_of(subscribed.error()));
      return;
    }
    if (query_.initial_events) {
      bookmark(true);
    }
  }

 private:
  void tell(const store::WatchEvent& event) {
    last_ = event.resource_version;
    options_.now = shared_.loop->now();
    if (event.type == store::WatchEvent::Type::Bookmark) {
      bookmark(false);
      return;
    }
    send(line(type_text(event.type),
              render_object(event.object, resource_, options_, !columns_told_)));
    columns_told_ = true;
  }

  /// Nobody hears of what a crash could undo, nor of what is behind it.
  void send(std::string text) {
    shared_.registry->when_durable(
        [stream = stream_, text = std::move(text)](const Result<void>& kept) {
          if (kept) {
            stream->send(text);
          }
        });
  }

  /// How far this watch has come, for clients that want to go on from there.
  void bookmark(bool initial_end) {
    json::object meta{{"resourceVersion", fmt::to_string(version())},
                      {"creationTimestamp", nullptr}};
    if (initial_end) {
      meta["annotations"] = json::object{{"k8s.io/initial-events-end", "true"}};
    }
    json::object object{{"kind", resource_.kind}, {"apiVersion", resource_.gvk().api_version()}};
    object["metadata"] = std::move(meta);
    send(line("BOOKMARK", json::serialize(object)));
  }

  std::uint64_t version() const { return std::max(last_, shared_.registry->revision()); }

  void finish() {
    if (query_.bookmarks && subscription_ != nullptr) {
      bookmark(false);
    }
    end();
  }

  void fail_with(const Status& status) {
    send(line("ERROR", api::to_json(to_document(status))));
    end();
  }

  /// After all that was sent.
  void end() {
    shared_.registry->when_durable([stream = stream_](const Result<void>&) { stream->end(); });
    stop();
  }

  void stop() {
    const auto self = shared_from_this(); // until this is over
    subscription_ = nullptr;
    timeout_.cancel();
    stream_->on_gone(nullptr);
  }

  Shared shared_;
  schema::Resource resource_; // a custom one may be defined anew meanwhile
  ListQuery query_;
  RenderOptions options_;
  Timer timeout_;
  std::shared_ptr<net::HttpStream> stream_;
  std::unique_ptr<store::Subscription> subscription_;
  std::uint64_t last_ = 0;
  bool columns_told_ = false;
};

} // namespace

Answer<net::HttpResponse> watch_objects(const Shared& shared, const Call& call,
                                        const schema::Resource& resource) {
  const auto options = render_options(shared, call);
  if (!options) {
    return tl::unexpected(options.error());
  }
  auto query = list_query(call.info, resource, call.query);
  if (!query) {
    return tl::unexpected(std::move(query).error());
  }
  const auto since = version_number(query->resource_version);
  if (!since) {
    return tl::unexpected(since.error());
  }
  const auto watcher = std::make_shared<Watcher>(shared, resource, *std::move(query), *options);
  net::HttpResponse response = answer(200, call, "");
  response.stream = [watcher, start = *since](std::shared_ptr<net::HttpStream> stream) {
    watcher->start(start, std::move(stream));
  };
  return response;
}

} // namespace berth::server
