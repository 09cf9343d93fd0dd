#include "berth/client/kubeconfig.h"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/yaml.h"
#include "berth/base/read_file.h"
#include "berth/net/base64.h"

namespace berth::client {
namespace {

namespace json = api::json;

constexpr std::string_view kAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

Result<std::string> text_of(const std::filesystem::path& path) {
  constexpr std::size_t kLargest = std::size_t{16} << 20U;
  return read_file(path.string(), kLargest);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Reads one kubeconfig document.
class Reader {
 public:
  Reader(const json::value& document, std::string file)
      : document_(&document), file_(std::move(file)) {}

  Result<ServerAccess> read(std::string context) const {
    if (context.empty()) {
      context = api::string_at(*document_, "current-context");
    }
    if (context.empty()) {
      return wrong("it has no current-context", "name one with --context");
    }
    BERTH_TRY(const json::value* chosen, named("contexts", "context", context));
    ServerAccess access;
    if (const std::string_view ns = api::string_at(*chosen, "namespace"); !ns.empty()) {
      access.ns = ns;
    }
    BERTH_TRY(const json::value* cluster,
              named("clusters", "cluster", std::string(api::string_at(*chosen, "cluster"))));
    BERTH_CHECK(read_cluster(*cluster, access));
    if (const std::string user(api::string_at(*chosen, "user")); !user.empty()) {
      BERTH_TRY(const json::value* found, named("users", "user", user));
      BERTH_CHECK(read_user(*found, access));
    }
    return access;
  }

 private:
  tl::unexpected<Error> wrong(std::string_view what, std::string_view hint) const {
    return fail(Code::BadRequest, fmt::format("{}: {}; {}", file_, what, hint));
  }

  /// The member `what` of the entry with this name in a list.
  Result<const json::value*> named(std::string_view list, std::string_view what,
                                   const std::string& name) const {
    const json::value* entries = api::find(*document_, list);
    if (entries != nullptr && entries->is_array()) {
      for (const json::value& entry : entries->get_array()) {
        const json::value* found = api::find(entry, what);
        if (api::string_at(entry, "name") == name && found != nullptr) {
          return found;
        }
      }
    }
    return wrong(fmt::format("there is no {} \"{}\"", what, name),
                 fmt::format("see the names under {}", list));
  }

  /// NAME-data holds the bytes in base64, NAME a file's name.
  Result<std::string> bytes(const json::value& from, const std::string& name) const {
    if (const std::string_view data = api::string_at(from, name + "-data"); !data.empty()) {
      if (auto decoded = net::from_base64(data)) {
        return *std::move(decoded);
      }
      return wrong(fmt::format("{}-data is no base64", name), "write the file anew");
    }
    const std::string path(api::string_at(from, name));
    return path.empty() ? Result<std::string>("") : text_of(resolved(path));
  }

  std::filesystem::path resolved(const std::string& path) const {
    return std::filesystem::path(file_).parent_path() / path;
  }

  static bool is_true(const json::value& from, std::string_view name) {
    const json::value* value = api::find(from, name);
    return value != nullptr && value->is_bool() && value->get_bool();
  }

  Result<void> read_cluster(const json::value& cluster, ServerAccess& out) const {
    const std::string server(api::string_at(cluster, "server"));
    auto url =
        net::HttpUrl::parse(server.find("://") == std::string::npos ? "https://" + server : server);
    if (!url) {
      return wrong(fmt::format("server: {}", url.error().message),
                   "it should be https://host:port");
    }
    out.url = *std::move(url);
    BERTH_TRY(out.tls.ca, bytes(cluster, "certificate-authority"));
    out.tls.server_name = api::string_at(cluster, "tls-server-name");
    out.tls.insecure = is_true(cluster, "insecure-skip-tls-verify");
    return {};
  }

  Result<void> read_user(const json::value& user, ServerAccess& out) const {
    for (const std::string_view program : {"exec", "auth-provider"}) {
      if (api::find(user, program) != nullptr) {
        return wrong(fmt::format("the user's credentials come from a program ({}), which is not "
                                 "supported",
                                 program),
                     "use a token or a client certificate");
      }
    }
    BERTH_TRY(out.tls.certificate, bytes(user, "client-certificate"));
    BERTH_TRY(out.tls.key, bytes(user, "client-key"));
    out.token = api::string_at(user, "token");
    if (const std::string file(api::string_at(user, "tokenFile")); !file.empty()) {
      out.token_file = resolved(file).string();
    }
    return {};
  }

  const json::value* document_;
  std::string file_;
};

bool in_pod() {
  return !environment("KUBERNETES_SERVICE_HOST").empty();
}

Result<ServerAccess> pod_access() {
  const std::string host = environment("KUBERNETES_SERVICE_HOST");
  const bool v6 = host.find(':') != std::string::npos;
  BERTH_TRY(net::HttpUrl url,
            net::HttpUrl::parse(fmt::format("https://{}:{}", v6 ? "[" + host + "]" : host,
                                            environment("KUBERNETES_SERVICE_PORT"))));
  ServerAccess access{.url = std::move(url), .tls = {}, .token = {}, .token_file = {}};
  const std::filesystem::path folder(kAccountFolder);
  BERTH_TRY(access.tls.ca, text_of(folder / "ca.crt"));
  access.token_file = (folder / "token").string();
  if (auto ns = text_of(folder / "namespace")) {
    access.ns = *std::move(ns);
  }
  return access;
}

} // namespace

Result<ServerAccess> parse_kubeconfig(std::string_view text, const std::string& file,
                                      const std::string& context) {
  BERTH_TRY(const auto documents, api::parse_yaml(text, file));
  if (documents.empty() || !documents.front().value.is_object()) {
    return fail(Code::BadRequest, fmt::format("{}: it is no kubeconfig file", file));
  }
  return Reader(documents.front().value, file).read(context);
}

Result<ServerAccess> load_access(const std::string& path, const std::string& context) {
  std::string file = path;
  if (file.empty()) {
    file = environment("KUBECONFIG");
    file = file.substr(0, file.find(':'));
  }
  if (file.empty()) {
    const std::string home = environment("HOME") + "/.kube/config";
    if (!std::filesystem::exists(home) && in_pod()) {
      return pod_access();
    }
    file = home;
  }
  const auto text = text_of(file);
  if (!text) {
    return fail(Code::NotFound,
                fmt::format("{}; name a kubeconfig file with --kubeconfig or $KUBECONFIG",
                            to_string(text.error())));
  }
  return parse_kubeconfig(*text, file, context);
}

} // namespace berth::client
