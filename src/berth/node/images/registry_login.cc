#include "berth/node/images/registry_login.h"

#include <algorithm>
#include <utility>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/net/base64.h"

namespace berth::node {
namespace {

namespace json = boost::json;
using runtime::RegistryLogin;

// "https://index.docker.io/v1/" is how docker names its own registry.
std::string plain_server(std::string_view server) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (server.starts_with(scheme)) {
      server.remove_prefix(scheme.size());
    }
  }
  while (server.ends_with('/')) {
    server.remove_suffix(1);
  }
  for (const std::string_view version : {"/v1", "/v2"}) {
    if (server.ends_with(version)) {
      server.remove_suffix(version.size());
    }
  }
  if (server == "index.docker.io" || server == "registry-1.docker.io") {
    return "docker.io";
  }
  return std::string(server);
}

Result<RegistryLogin> login_of(std::string_view server, const json::value& entry) {
  RegistryLogin login{.username = std::string(api::string_at(entry, "username")),
                      .password = std::string(api::string_at(entry, "password")),
                      .server = plain_server(server)};
  const std::string_view encoded = api::string_at(entry, "auth");
  if (encoded.empty()) {
    return login;
  }
  const auto both = net::from_base64(encoded);
  const std::size_t colon = both ? both->find(':') : std::string::npos;
  if (colon == std::string::npos) {
    return fail(Code::Invalid,
                fmt::format("auth is no base64 of user:password; write it again: {}", server));
  }
  login.username = both->substr(0, colon);
  login.password = both->substr(colon + 1);
  return login;
}

// "*" stands for any characters of one part of a host name.
bool part_matches(std::string_view pattern, std::string_view text) {
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  std::size_t p = 0;
  std::size_t t = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return std::ranges::all_of(pattern.substr(p), [](char c) { return c == '*'; });
}

bool host_matches(std::string_view pattern, std::string_view host) {
  while (true) {
    const std::size_t pattern_dot = pattern.find('.');
    const std::size_t host_dot = host.find('.');
    if (!part_matches(pattern.substr(0, pattern_dot), host.substr(0, host_dot)) ||
        (pattern_dot == std::string_view::npos) != (host_dot == std::string_view::npos)) {
      return false;
    }
    if (pattern_dot == std::string_view::npos) {
      return true;
    }
    pattern.remove_prefix(pattern_dot + 1);
    host.remove_prefix(host_dot + 1);
  }
}

bool matches(const RegistryLogin& login, const ImageName& image) {
  const std::string_view server(login.server);
  const std::size_t slash = server.find('/');
  const std::string_view prefix =
      slash == std::string_view::npos ? std::string_view() : server.substr(slash + 1);
  return host_matches(server.substr(0, slash), image.registry) &&
         std::string_view(image.path).starts_with(prefix);
}

} // namespace

Result<std::vector<RegistryLogin>> logins_in(const api::Object& secret) {
  std::vector<RegistryLogin> logins;
  const std::string key = secret.key().to_string();
  for (const std::string_view member : {".dockerconfigjson", ".dockercfg"}) {
    const json::value* data = api::find(secret.json(), "data");
    const json::value* encoded = data ? api::find(*data, member) : nullptr;
    if (!encoded || !encoded->is_string()) {
      continue;
    }
    const auto text = net::from_base64(std::string_view(encoded->get_string()));
    const auto parsed = text ? api::parse_json(*text) : fail(Code::Invalid, "no base64");
    if (!parsed) {
      return fail(Code::Invalid,
                  fmt::format("pull secret {} does not hold what docker login writes "
                              "under {}: {}",
                              key, member, parsed.error().message));
    }
    const json::value* auths = member == ".dockercfg" ? &*parsed : api::find(*parsed, "auths");
    if (!auths || !auths->is_object()) {
      continue;
    }
    for (const auto& [server, entry] : auths->get_object()) {
      BERTH_TRY(RegistryLogin login, login_of(server, entry));
      logins.push_back(std::move(login));
    }
  }
  return logins;
}

std::vector<RegistryLogin> logins_for(const ImageName& image,
                                      const std::vector<RegistryLogin>& all) {
  std::vector<RegistryLogin> fitting;
  for (const RegistryLogin& login : all) {
    const bool known = std::ranges::any_of(fitting, [&](const RegistryLogin& other) {
      return other.server == login.server && other.username == login.username &&
             other.password == login.password;
    });
    if (!known && matches(login, image)) {
      fitting.push_back(login);
    }
  }
  std::ranges::stable_sort(fitting, std::greater<>(),
                           [](const RegistryLogin& each) { return each.server.size(); });
  return fitting;
}

} // namespace berth::node
