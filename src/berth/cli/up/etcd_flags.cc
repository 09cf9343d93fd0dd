#include "berth/cli/up/etcd_flags.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "berth/cli/run/manifest_files.h"
#include "berth/etcd/endpoints.h"

namespace berth::cli {
namespace {

constexpr std::string_view kEndpoint = "http://127.0.0.1:2379";
constexpr std::string_view kPrefix = "/berth";
constexpr std::string_view kCompaction = "5m";

/// The text of the file that the flag names; "": it names none.
Result<std::string> file_of(const Values& values, std::string_view flag) {
  const std::string path = values.get(flag);
  if (path.empty()) {
    return std::string();
  }
  auto text = read_text(path);
  if (!text) {
    return fail(text.error().code, fmt::format("{} {}: {}", flag, path, text.error().message));
  }
  return text;
}

/// Null: no member is spoken to over TLS in a way of its own.
Result<std::shared_ptr<const net::TlsContext>> tls_of(const Values& values,
                                                      const etcd::EtcdOptions& options) {
  net::TlsClientOptions tls;
  BERTH_TRY(tls.ca, file_of(values, "--etcd-cafile"));
  BERTH_TRY(tls.certificate, file_of(values, "--etcd-certfile"));
  BERTH_TRY(tls.key, file_of(values, "--etcd-keyfile"));
  if (tls.certificate.empty() != tls.key.empty()) {
    return fail(Code::BadRequest,
                fmt::format("{} is set and {} is not: a certificate is of no "
                            "use without its key, nor a key without it",
                            tls.key.empty() ? "--etcd-certfile" : "--etcd-keyfile",
                            tls.key.empty() ? "--etcd-keyfile" : "--etcd-certfile"));
  }
  if (tls.ca.empty() && tls.certificate.empty()) {
    return nullptr;
  }
  if (std::ranges::none_of(options.endpoints, [](const net::HttpUrl& url) { return url.tls; })) {
    return fail(Code::BadRequest, "certificates for etcd have no effect on http:// endpoints; "
                                  "name its members as https://HOST:PORT");
  }
  auto context = net::TlsContext::client(tls);
  if (!context) {
    return fail(context.error().code,
                fmt::format("the certificates for etcd: {}", context.error().message));
  }
  return context;
}

} // namespace

std::vector<Flag> etcd_flags() {
  return {{.name = "--etcd-endpoints",
           .value = "URL[,URL]...",
           .help = "the members of the etcd of --store etcd",
           .group = "ETCD",
           .fallback = kEndpoint},
          {.name = "--etcd-prefix",
           .value = "PATH",
           .help = "what every key begins with; clusters of different prefixes do not meet",
           .group = "ETCD",
           .fallback = kPrefix},
          {.name = "--etcd-cafile",
           .value = "FILE",
           .help = "the authority that etcd's certificates are signed by (PEM); without it, the "
                   "system's",
           .group = "ETCD",
           .offers = Offers::Files},
          {.name = "--etcd-certfile",
           .value = "FILE",
           .help = "the certificate to show to etcd (PEM)",
           .group = "ETCD",
           .offers = Offers::Files},
          {.name = "--etcd-keyfile",
           .value = "FILE",
           .help = "the key of --etcd-certfile (PEM)",
           .group = "ETCD",
           .offers = Offers::Files},
          {.name = "--etcd-compaction-interval",
           .value = "DURATION",
           .help = "how old etcd's history may grow before it is dropped, or 0s to leave it",
           .group = "ETCD",
           .fallback = kCompaction}};
}

Result<std::optional<etcd::EtcdOptions>> etcd_options(const Values& values) {
  if (values.get("--store", "sqlite") != "etcd") {
    for (const Flag& flag : etcd_flags()) {
      if (values.has(flag.name)) {
        return fail(Code::BadRequest,
                    fmt::format("{} has no effect without --store etcd", flag.name));
      }
    }
    return std::nullopt;
  }
  etcd::EtcdOptions options;
  BERTH_TRY(options.endpoints, etcd::parse_endpoints(values.get("--etcd-endpoints", kEndpoint)));
  options.prefix = values.get("--etcd-prefix", kPrefix);
  if (!options.prefix.starts_with('/') || options.prefix.ends_with('/')) {
    return fail(Code::BadRequest,
                fmt::format("--etcd-prefix {}: want a path as /berth, without a slash at its end",
                            options.prefix));
  }
  BERTH_TRY(options.tls, tls_of(values, options));
  const std::string every = values.get("--etcd-compaction-interval", kCompaction);
  const auto interval = parse_duration(every);
  if (!interval) {
    return fail(Code::BadRequest,
                fmt::format("--etcd-compaction-interval {}: {}", every, interval.error().message));
  }
  options.compact_every = *interval > Duration() ? *interval : Duration::max();
  return options;
}

} // namespace berth::cli
