#include "berth/server/log_options.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "berth/store/errors.h"

namespace berth::server {
namespace {

Answer<std::optional<std::int64_t>> integer(const net::HttpHeaders& query, std::string_view name) {
  const std::string_view text = parameter(query, name);
  if (text.empty()) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) {
    return value;
  }
  return bad_request(fmt::format("strconv.ParseInt: parsing {}: {}", store::quote(text),
                                 error == std::errc::result_out_of_range ? "value out of range"
                                                                         : "invalid syntax"));
}

Answer<std::optional<TimePoint>> moment(const net::HttpHeaders& query, std::string_view name) {
  const std::string_view text = parameter(query, name);
  if (text.empty()) {
    return std::nullopt;
  }
  const auto time = parse_rfc3339(text);
  if (!time) {
    return bad_request(fmt::format(
        "parsing time {} as \"2006-01-02T15:04:05Z07:00\": cannot parse it", store::quote(text)));
  }
  return *time;
}

} // namespace

std::string log_stamp(TimePoint at) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  std::string text = to_rfc3339(at);
  text.pop_back();
  const std::int64_t rest = ((at.unix_nanos() % kSecond) + kSecond) % kSecond;
  return text + fmt::format(".{:09}Z ", rest);
}

Answer<LogOptions> log_options(const std::string& pod, const net::HttpHeaders& query,
                               TimePoint now) {
  LogOptions options{.container = std::string(parameter(query, "container")),
                     .follow = flag(query, "follow"),
                     .previous = flag(query, "previous"),
                     .timestamps = flag(query, "timestamps"),
                     .since = {},
                     .tail_lines = {},
                     .limit_bytes = {}};
  const auto tail = integer(query, "tailLines");
  const auto limit = integer(query, "limitBytes");
  const auto seconds = integer(query, "sinceSeconds");
  const auto time = moment(query, "sinceTime");
  for (const auto* number : {&tail, &limit, &seconds}) {
    if (!*number) {
      return tl::unexpected(number->error());
    }
  }
  if (!time) {
    return tl::unexpected(time.error());
  }
  store::FieldErrors wrong;
  if (*tail && **tail < 0) {
    wrong.push_back(store::invalid_value("tailLines", fmt::to_string(**tail),
                                         "must be greater than or equal to 0"));
  }
  if (*limit && **limit < 1) {
    wrong.push_back(
        store::invalid_value("limitBytes", fmt::to_string(**limit), "must be greater than 0"));
  }
  if (*seconds && *time) {
    wrong.push_back(store::forbidden_field(
        "", "at most one of `sinceTime` or `sinceSeconds` may be specified"));
  } else if (*seconds && **seconds < 1) {
    wrong.push_back(
        store::invalid_value("sinceSeconds", fmt::to_string(**seconds), "must be greater than 0"));
  }
  if (!parameter(query, "stream").empty()) {
    wrong.push_back(store::forbidden_field("stream", "may not be specified"));
  }
  if (!wrong.empty()) {
    return tl::unexpected(
        status_of(store::invalid({"", "PodLogOptions"}, pod, std::move(wrong)).value()));
  }
  options.tail_lines = *tail;
  options.limit_bytes = *limit;
  options.since = *time;
  if (*seconds) {
    constexpr std::int64_t kLongest = 100LL * 365 * 24 * 3600; // what a Duration holds, and more
    options.since = now - Duration::seconds(std::min(**seconds, kLongest));
  }
  return options;
}

std::string LogWriter::more(std::span<const LogLine> lines) {
  if (!begun_) {
    begun_ = true;
    const auto all = static_cast<std::int64_t>(lines.size());
    told_ = static_cast<std::size_t>(all - std::min(options_.tail_lines.value_or(all), all));
  }
  std::string out;
  for (; told_ < lines.size() && !full(); ++told_) {
    const LogLine& line = lines[told_];
    if (options_.since && line.at < *options_.since) {
      continue;
    }
    std::string text = options_.timestamps ? log_stamp(line.at) : std::string();
    text += line.text + "\n";
    if (options_.limit_bytes) {
      text.resize(std::min(text.size(), static_cast<std::size_t>(*options_.limit_bytes)));
      *options_.limit_bytes -= static_cast<std::int64_t>(text.size());
    }
    out += text;
  }
  return out;
}

} // namespace berth::server
