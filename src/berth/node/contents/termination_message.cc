#include "berth/node/contents/termination_message.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <vector>

#include <fmt/format.h>

#include "berth/node/volume_path.h"
#include "berth/node/volumes/files.h"

namespace berth::node {
namespace {

constexpr std::size_t kMostBytes = 4096;
constexpr std::size_t kMostLogBytes = 2048;
constexpr std::size_t kMostLogLines = 80;
/// Enough of a log's end for that many bytes with a stamp before each line.
constexpr std::streamoff kLogWindow = 16384;

// "2026-01-02T03:04:05.678Z stdout F text": the text, and whether its line ends here.
struct Entry {
  std::string_view text;
  bool whole = true;
};

Entry parse_entry(std::string_view line) {
  std::string_view rest = line;
  for (int field = 0; field < 2; ++field) {
    const std::size_t blank = rest.find(' ');
    if (blank == std::string_view::npos) {
      return {line};
    }
    rest.remove_prefix(blank + 1);
  }
  if (!rest.starts_with("F ") && !rest.starts_with("P ") && rest != "F" && rest != "P") {
    return {line};
  }
  return {rest.substr(std::min<std::size_t>(rest.size(), 2)), rest[0] == 'F'};
}

std::string end_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    return "";
  }
  const std::streamoff size = file.tellg();
  const std::streamoff from = std::max<std::streamoff>(0, size - kLogWindow);
  file.seekg(from);
  std::string bytes(static_cast<std::size_t>(size - from), '\0');
  file.read(bytes.data(), size - from);
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  // A line that was cut is none.
  return from == 0 ? bytes : bytes.substr(std::min(bytes.size(), bytes.find('\n') + 1));
}

} // namespace

std::string termination_file(std::string_view root, std::string_view pod_uid,
                             std::string_view container, std::uint32_t attempt) {
  return fmt::format("{}/containers/{}/{}", pod_folder(root, pod_uid), container, attempt);
}

std::string termination_path(const api::json::value& container) {
  const std::string_view given = api::string_at(container, "terminationMessagePath");
  return given.empty() ? "/dev/termination-log" : std::string(given);
}

std::string log_tail(std::string_view log) {
  std::string text;
  std::vector<std::size_t> starts; // of lines in `text`
  bool begin = true;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), line.size() + 1));
    if (begin) {
      starts.push_back(text.size());
    }
    const Entry entry = parse_entry(line);
    text += entry.text;
    text += entry.whole ? "\n" : "";
    begin = entry.whole;
  }
  std::size_t from = starts.size() > kMostLogLines ? starts[starts.size() - kMostLogLines] : 0;
  from = std::max(from, text.size() > kMostLogBytes ? text.size() - kMostLogBytes : 0);
  return text.substr(from);
}

std::string termination_message(const api::json::value& container, const EndOfContainer& end) {
  // A file that is not there was never written to, or has been taken away by the container.
  std::string said = read_file(end.file, kMostBytes).value_or("");
  const bool fall_back =
      api::string_at(container, "terminationMessagePolicy") == "FallbackToLogsOnError";
  if (said.empty() && fall_back && end.exit_code != 0 && !end.log_path.empty()) {
    return log_tail(end_of(end.log_path));
  }
  return said;
}

} // namespace berth::node
