#include "berth/scheduler/extender_calls.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "berth/base/read_file.h"
#include "berth/net/base64.h"
#include "berth/net/http_client.h"

namespace berth::scheduler {
namespace {

net::HttpRequest request_of(const HttpPost& post) {
  return {.method = "POST",
          .target = "",
          .headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}},
          .body = post.body};
}

/// The body of a 200, or an error in Go's words.
Result<std::string> body_of(Result<net::HttpResponse> answer, std::string_view verb,
                            const std::string& url) {
  if (!answer) {
    return fail(answer.error().code, fmt::format("Post \"{}\": {}", url, answer.error().message));
  }
  if (answer->status != 200) {
    return fail(Code::Internal, fmt::format("failed {} with extender at URL {}, code {}", verb, url,
                                            answer->status));
  }
  return std::move(answer->body);
}

Result<std::string> pem_of(std::string_view what, const std::string& data,
                           const std::string& file) {
  if (!data.empty()) {
    if (auto decoded = net::from_base64(data)) {
      return *std::move(decoded);
    }
    return fail(Code::BadRequest, fmt::format("tlsConfig.{}Data is no base64", what));
  }
  if (file.empty()) {
    return "";
  }
  constexpr std::size_t kLargest = std::size_t{1} << 20U;
  auto text = read_file(file, kLargest);
  if (!text) {
    return fail(Code::BadRequest,
                fmt::format("tlsConfig.{}File cannot be read: {}", what, to_string(text.error())));
  }
  return text;
}

Result<std::shared_ptr<const net::TlsContext>> tls_of(const sched::Extender::Tls& tls) {
  net::TlsClientOptions options{.ca = {}, .server_name = tls.server_name};
  BERTH_TRY(options.ca, pem_of("ca", tls.ca_data, tls.ca_file));
  BERTH_TRY(options.certificate, pem_of("cert", tls.cert_data, tls.cert_file));
  BERTH_TRY(options.key, pem_of("key", tls.key_data, tls.key_file));
  options.insecure = tls.insecure || options.ca.empty();
  return net::TlsContext::client(options);
}

/// One HTTP client for each way of knowing a server.
template <class Client> class Clients {
 public:
  using Make = std::function<std::unique_ptr<Client>(net::HttpClientOptions)>;
  explicit Clients(Make make) : make_(std::move(make)) {}

  struct Place {
    net::HttpUrl url;
    Client* client;
  };
  Result<Place> place_of(const HttpPost& post) {
    BERTH_TRY(net::HttpUrl url, net::HttpUrl::parse(post.url));
    for (const auto& [tls, client] : clients_) {
      if (tls == post.tls) {
        return Place{.url = std::move(url), .client = client.get()};
      }
    }
    net::HttpClientOptions options;
    if (url.tls) {
      BERTH_TRY(options.tls, tls_of(post.tls));
    }
    clients_.emplace_back(post.tls, make_(std::move(options)));
    return Place{.url = std::move(url), .client = clients_.back().second.get()};
  }

 private:
  Make make_;
  std::vector<std::pair<sched::Extender::Tls, std::unique_ptr<Client>>> clients_;
};

} // namespace

HttpPoster blocking_poster() {
  auto clients =
      std::make_shared<Clients<net::BlockingHttpClient>>([](net::HttpClientOptions options) {
        return std::make_unique<net::BlockingHttpClient>(std::move(options));
      });
  return
      [clients](const HttpPost& post, const std::function<void(Result<net::HttpResponse>)>& done) {
        const auto place = clients->place_of(post);
        done(place ? place->client->send(place->url, request_of(post), post.timeout)
                   : Result<net::HttpResponse>(tl::unexpected(place.error())));
      };
}

HttpPoster poster_on(net::AsioLoop& loop) {
  auto clients =
      std::make_shared<Clients<net::HttpClient>>([&loop](net::HttpClientOptions options) {
        return std::make_unique<net::HttpClient>(loop, std::move(options));
      });
  return [clients](const HttpPost& post, std::function<void(Result<net::HttpResponse>)> done) {
    const auto place = clients->place_of(post);
    if (!place) {
      done(tl::unexpected(place.error()));
      return;
    }
    place->client->send(place->url, request_of(post), std::move(done), post.timeout);
  };
}

void ask_extender(const HttpPoster& poster, const sched::Extender& extender,
                  const sched::ExtenderQuestion& question, const ExtenderObjects& objects,
                  std::function<void(Result<sched::ExtenderAnswer>)> done) {
  const std::string verb(verb_of(extender, question.verb));
  const std::string url = extender_url(extender, verb);
  poster(
      {.url = url,
       .body = question_body(extender, question, objects),
       .timeout = extender.http_timeout,
       .tls = extender.tls},
      [extender, question, verb, url, done = std::move(done)](Result<net::HttpResponse> response) {
        const auto body = body_of(std::move(response), verb, url);
        done(body ? read_answer(extender, question, *body)
                  : Result<sched::ExtenderAnswer>(tl::unexpected(body.error())));
      });
}

void bind_by_extender(const HttpPoster& poster, const sched::Extender& extender,
                      const store::Binding& binding, std::function<void(Result<void>)> done) {
  const std::string url = extender_url(extender, extender.bind_verb);
  poster(
      {.url = url,
       .body = binding_body(binding),
       .timeout = extender.http_timeout,
       .tls = extender.tls},
      [verb = extender.bind_verb, url, done = std::move(done)](Result<net::HttpResponse> response) {
        const auto body = body_of(std::move(response), verb, url);
        done(body ? read_binding_answer(*body) : Result<void>(tl::unexpected(body.error())));
      });
}

} // namespace berth::scheduler
