#include "berth/cli/golden_api.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <ostream>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/virtual_loop.h"
#include "berth/cli/run/manifest_files.h"
#include "berth/server/access/rbac_admission.h"
#include "berth/server/api_server.h"
#include "berth/store/memory_store.h"

namespace berth::cli {
namespace {

namespace json = api::json;

constexpr std::string_view kNamespace = "talk"; // what <ns> becomes
constexpr std::size_t kShown = 300;             // of a value in a difference

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// Text with <uid>, <time>, ... matches anything there.
bool text_matches(std::string_view want, std::string_view got) {
  const std::size_t open = want.find('<');
  const std::size_t close = open == std::string_view::npos ? open : want.find('>', open);
  if (close == std::string_view::npos) {
    return want == got;
  }
  if (got.substr(0, open) != want.substr(0, open)) {
    return false;
  }
  const std::string_view rest = want.substr(close + 1);
  for (std::size_t end = open; end <= got.size(); ++end) {
    if (text_matches(rest, got.substr(end))) {
      return true;
    }
  }
  return false;
}

/// What need not agree: texts of table columns, hashes and addresses of discovery.
bool is_free(const std::string& path) {
  return path.ends_with(".description") || path.ends_with(".storageVersionHash") ||
         path.ends_with(".serverAddress");
}

class Differences {
 public:
  void compare(const json::value& want, const json::value& got, const std::string& path) {
    if (is_free(path)) {
      return;
    }
    if (want.is_object() && got.is_object()) {
      members(want.get_object(), got.get_object(), path);
    } else if (want.is_array() && got.is_array() &&
               want.get_array().size() == got.get_array().size()) {
      for (std::size_t i = 0; i < want.get_array().size(); ++i) {
        compare(want.get_array()[i], got.get_array()[i], fmt::format("{}[{}]", path, i));
      }
    } else if (!(want.is_string() && got.is_string()
                     ? text_matches(want.get_string(), got.get_string())
                     : want == got)) {
      add(path, fmt::format("want {}, got {}", shown(want), shown(got)));
    }
  }
  void add(const std::string& path, std::string what) {
    found_.push_back(fmt::format("{}: {}", path.empty() ? "$" : "$" + path, std::move(what)));
  }
  const std::vector<std::string>& found() const { return found_; }

 private:
  static std::string shown(const json::value& value) {
    std::string text = api::to_json(value);
    if (text.size() > kShown) {
      text.resize(kShown);
      text += "...";
    }
    return text;
  }
  void members(const json::object& want, const json::object& got, const std::string& path) {
    for (const auto& member : want) {
      const std::string at = path + "." + std::string(member.key());
      if (const json::value* other = got.if_contains(member.key())) {
        compare(member.value(), *other, at);
      } else if (!is_free(at)) {
        add(at, fmt::format("missing, want {}", shown(member.value())));
      }
    }
    for (const auto& member : got) {
      const std::string at = path + "." + std::string(member.key());
      if (!want.contains(member.key()) && !is_free(at)) {
        add(at, fmt::format("not wanted, got {}", shown(member.value())));
      }
    }
  }

  std::vector<std::string> found_;
};

/// Collects what is streamed.
class Collector final : public net::HttpStream {
 public:
  void send(std::string_view bytes) override { text += bytes; }
  void end() override { ended = true; }
  std::size_t waiting() const override { return 0; }
  void on_gone(std::function<void()>) override {}

  std::string text;
  bool ended = false;
};

/// An answer as the recordings write it.
struct Answered {
  int status = 0;
  std::string type;
  json::value body;
  json::array warnings;
};

/// An API server with nothing in it but the conversation's namespace.
class Talk {
 public:
  Talk() {
    (void)store::bootstrap(registry_, loop_.now());
    server::ApiServerOptions options;
    options.access.tokens.add("admin", {.name = "admin", .uid = "1", .groups = {"system:masters"}});
    options.access.tokens.add("user", {.name = "user", .uid = "2", .groups = {}});
    server_ = *server::ApiServer::open(loop_, registry_, std::move(options));
    loop_.run_until(loop_.now());
    net::HttpRequest space{.method = "POST",
                           .target = "/api/v1/namespaces",
                           .headers = {{"Content-Type", "application/json"}}};
    space.body = fmt::format(
        R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})", kNamespace);
    (void)send("admin", space);
  }

  Answered say(const json::value& step) {
    net::HttpRequest request{.method = std::string(api::string_at(step, "method")),
                             .target = std::string(api::string_at(step, "path"))};
    if (const json::value* headers = api::find(step, "headers")) {
      for (const auto& header : headers->get_object()) {
        request.headers.emplace_back(header.key(), header.value().get_string());
      }
    }
    if (net::header_of(request.headers, "Accept").empty()) {
      request.headers.emplace_back("Accept", "application/json");
    }
    if (const json::value* body = api::find(step, "body"); body != nullptr && !body->is_null()) {
      request.body = body->is_string() ? std::string(std::string_view(body->get_string()))
                                       : api::to_json(*body);
      if (net::header_of(request.headers, "Content-Type").empty()) {
        request.headers.emplace_back("Content-Type", "application/json");
      }
    }
    return send(api::string_at(step, "as"), std::move(request));
  }

 private:
  Answered send(std::string_view as, net::HttpRequest request) {
    if (as != "nobody") {
      request.headers.emplace_back("Authorization", fmt::format("Bearer {}", as));
    }
    Answered answered;
    net::HttpResponse response;
    server_->handle(request, [&](net::HttpResponse given) { response = std::move(given); });
    answered.status = response.status;
    answered.type = net::header_of(response.headers, "Content-Type");
    for (const auto& [name, value] : response.headers) {
      if (name == "Warning") {
        answered.warnings.emplace_back(value);
      }
    }
    response.body = net::take_body(response);
    if (response.stream) {
      answered.body = streamed(response);
    } else if (answered.type.starts_with("application/json")) {
      answered.body = api::parse_json(response.body).value_or(json::value(response.body));
    } else {
      answered.body = response.body;
    }
    loop_.run_until(loop_.now());
    return answered;
  }

  /// The events of the time that the watch lasts: null, the only one, or {"stream": [...]}.
  json::value streamed(const net::HttpResponse& response) {
    const auto stream = std::make_shared<Collector>();
    response.stream(stream);
    loop_.run_until(loop_.now() + Duration::seconds(2));
    json::array events;
    std::istringstream lines(stream->text);
    for (std::string line; std::getline(lines, line);) {
      events.push_back(api::parse_json(line).value_or(json::value(line)));
    }
    if (events.empty()) {
      return nullptr;
    }
    return events.size() == 1 ? events.front() : json::value(json::object{{"stream", events}});
  }

  VirtualLoop loop_{TimePoint::from_unix_seconds(1'700'000'000)};
  store::MemoryStore store_;
  store::Registry registry_{store_,
                            Rng(1),
                            {.namespaces = store::Registry::Namespaces::MustExist,
                             .admission = server::with_rbac(store::server_admission())}};
  std::unique_ptr<server::ApiServer> server_;
};

std::vector<std::string> differences_of(const json::value& step, const Answered& got) {
  Differences differences;
  const std::int64_t status = api::find(step, "status")->to_number<std::int64_t>();
  if (status != got.status) {
    differences.add("(status)", fmt::format("want {}, got {}", status, got.status));
  }
  if (const std::string_view type = api::string_at(step, "type");
      !type.empty() && type != got.type) {
    differences.add("(type)", fmt::format("want {}, got {}", type, got.type));
  }
  const json::value* warning = api::find(step, "warning");
  const json::value wanted_warning = warning == nullptr ? json::value(json::array()) : *warning;
  differences.compare(wanted_warning, got.warnings, "(warning)");
  if (const json::value* response = api::find(step, "response")) {
    differences.compare(*response, got.body, "");
  }
  return differences.found();
}

struct Tally {
  int agree = 0;
  int differ = 0;
};

void run_file(const std::filesystem::path& file, Tally& tally, std::ostream& out) {
  const auto text = read_text(file.string());
  const auto steps =
      text ? api::parse_json(replaced(*text, "<ns>", kNamespace)) : tl::unexpected(text.error());
  if (!steps || !steps->is_array()) {
    out << fmt::format("{}: no list of steps\n", file.string());
    ++tally.differ;
    return;
  }
  Talk talk;
  int number = 0;
  for (const json::value& step : steps->get_array()) {
    ++number;
    const auto found = differences_of(step, talk.say(step));
    (found.empty() ? tally.agree : tally.differ) += 1;
    for (const std::string& difference : found) {
      out << fmt::format("{} step {} {} {}: {}\n", file.filename().string(), number,
                         api::string_at(step, "method"), api::string_at(step, "path"), difference);
    }
  }
}

} // namespace

int run_golden_api(std::span<const std::string> dirs, const std::string& only, std::ostream& out) {
  std::vector<std::filesystem::path> files;
  for (const std::string& dir : dirs) {
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir, error)) {
      if (entry.path().extension() == ".json" &&
          entry.path().filename().string().find(only) != std::string::npos) {
        files.push_back(entry.path());
      }
    }
    if (error) {
      out << fmt::format("error: {}: {}\n", dir, error.message());
      return 1;
    }
  }
  std::ranges::sort(files);
  Tally tally;
  for (const auto& file : files) {
    run_file(file, tally, out);
  }
  out << fmt::format("{} steps: {} agree, {} differ\n", tally.agree + tally.differ, tally.agree,
                     tally.differ);
  return tally.differ == 0 && tally.agree > 0 ? 0 : 1;
}

} // namespace berth::cli
