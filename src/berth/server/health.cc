#include "berth/server/health.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/base/log.h"

namespace berth::server {
namespace {

constexpr std::array<std::string_view, 3> kPages = {"livez", "readyz", "healthz"};

bool belongs(const HealthCheck& check, std::string_view page) {
  return page == "readyz" || check.of == HealthCheck::Of::Life;
}

bool holds(const HealthCheck& check) {
  const Result<void> found = check.holds();
  if (!found) {
    log(LogLevel::Warn, "health", fmt::format("{}: {}", check.name, to_string(found.error())));
  }
  return found.has_value();
}

net::HttpResponse plain(int status, std::string body) {
  return {.status = status,
          .headers = {{"Content-Type", "text/plain; charset=utf-8"},
                      {"Cache-Control", "no-cache, private"},
                      {"X-Content-Type-Options", "nosniff"}},
          .body = std::move(body)};
}

net::HttpResponse every_check(std::string_view page, const net::HttpHeaders& query,
                              const std::vector<HealthCheck>& checks) {
  std::vector<std::string_view> excluded;
  bool verbose = false;
  for (const auto& [name, value] : query) {
    if (name == "exclude") {
      excluded.emplace_back(value);
    }
    verbose = verbose || name == "verbose";
  }
  std::string lines;
  bool well = true;
  for (const HealthCheck& check : checks) {
    if (!belongs(check, page)) {
      continue;
    }
    if (std::erase(excluded, std::string_view(check.name)) > 0) {
      lines += fmt::format("[+]{} excluded: ok\n", check.name);
    } else if (holds(check)) {
      lines += fmt::format("[+]{} ok\n", check.name);
    } else {
      lines += fmt::format("[-]{} failed: reason withheld\n", check.name);
      well = false;
    }
  }
  if (!excluded.empty()) {
    lines += fmt::format("warn: some health checks cannot be excluded: no matches for \"{}\"\n",
                         fmt::join(excluded, "\",\""));
  }
  if (!well) {
    return plain(500, fmt::format("{}{} check failed\n", lines, page));
  }
  return plain(200, verbose ? fmt::format("{}{} check passed\n", lines, page) : "ok");
}

} // namespace

std::optional<net::HttpResponse> health_page(std::string_view path, const net::HttpHeaders& query,
                                             const std::vector<HealthCheck>& checks) {
  if (!path.starts_with('/')) {
    return std::nullopt;
  }
  path.remove_prefix(1);
  const std::size_t slash = path.find('/');
  const std::string_view page = path.substr(0, slash);
  if (std::ranges::find(kPages, page) == kPages.end()) {
    return std::nullopt;
  }
  const std::string_view name =
      slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  if (name.empty()) {
    return every_check(page, query, checks);
  }
  const auto check = std::ranges::find(checks, name, &HealthCheck::name);
  if (check == checks.end() || !belongs(*check, page)) {
    return net::text_response(404, "404 page not found");
  }
  return holds(*check) ? plain(200, "ok") : plain(500, "internal server error: reason withheld\n");
}

} // namespace berth::server
