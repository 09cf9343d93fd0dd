#include "berth/node/volumes/payload.h"

#include <algorithm>
#include <utility>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "berth/node/contents/spec_field.h"

namespace berth::node {
namespace {

constexpr std::uint32_t kFileMode = 0644;
constexpr std::uint32_t kModeBits = 0777;

std::uint32_t mode_at(const api::json::value& value, std::string_view member,
                      std::uint32_t absent) {
  const auto mode = int_at(value, member);
  return mode ? static_cast<std::uint32_t>(*mode) & kModeBits : absent;
}

Result<void> bad_path(std::string_view path, std::string_view why) {
  return fail(Code::Invalid, fmt::format("invalid path of a file in a volume, {}: {}", why, path));
}

} // namespace

Result<void> check_payload_path(std::string_view path) {
  constexpr std::size_t kLongestName = 255;
  if (path.empty()) {
    return bad_path(path, "must not be empty");
  }
  if (path.front() == '/') {
    return bad_path(path, "must be relative");
  }
  if (path.starts_with("..")) {
    return bad_path(path, "must not start with '..'");
  }
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    if (name == "..") {
      return bad_path(path, "must not contain '..'");
    }
    if (name.empty() || name == "." || name.size() > kLongestName ||
        name.find('\0') != std::string_view::npos) {
      return bad_path(path, "must be made of names");
    }
  }
  return {};
}

std::uint32_t default_mode(const api::json::value& volume_source) {
  return mode_at(volume_source, "defaultMode", kFileMode);
}

Result<Payload> select_items(const SourceData& data, const api::json::value& volume_source,
                             std::uint32_t mode, std::string_view what) {
  Payload files;
  const api::json::array& items = list_at(volume_source, "items");
  if (items.empty()) {
    for (const auto& [key, bytes] : data) {
      files.push_back({key, bytes, mode});
    }
    return files;
  }
  const bool optional = bool_at(volume_source, "optional").value_or(false);
  for (const api::json::value& item : items) {
    const std::string_view key = api::string_at(item, "key");
    const auto found = data.find(std::string(key));
    if (found != data.end()) {
      merge_payload(files, {{std::string(api::string_at(item, "path")), found->second,
                             mode_at(item, "mode", mode)}});
    } else if (!optional) {
      return fail(Code::NotFound,
                  fmt::format("{} references non-existent {} key: {}", what,
                              what.starts_with("configmap") ? "config" : "secret", key));
    }
  }
  return files;
}

void merge_payload(Payload& into, Payload files) {
  for (PayloadFile& file : files) {
    const auto place = std::ranges::lower_bound(into, file.path, {}, &PayloadFile::path);
    if (place != into.end() && place->path == file.path) {
      *place = std::move(file);
    } else {
      into.insert(place, std::move(file));
    }
  }
}

} // namespace berth::node
