#include "berth/node/contents/mount_wishes.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "berth/node/contents/spec_field.h"

namespace berth::node {
namespace {

using Propagation = runtime::Mount::Propagation;

Propagation propagation_of(std::string_view text) {
  return text == "HostToContainer" ? Propagation::HostToContainer
         : text == "Bidirectional" ? Propagation::Bidirectional
                                   : Propagation::Private;
}

// Every $(NAME) must be known: a path that keeps one would be the same for all pods.
Result<std::string> expanded(std::string_view text, const Environment& env) {
  for (std::size_t at = text.find("$("); at != std::string_view::npos;
       at = text.find("$(", at + 2)) {
    const std::size_t close = text.find(')', at);
    const bool escaped = at > 0 && text[at - 1] == '$';
    if (escaped || close == std::string_view::npos) {
      continue;
    }
    const std::string_view name = text.substr(at + 2, close - at - 2);
    if (std::ranges::none_of(env, [&](const auto& each) { return each.first == name; })) {
      return fail(Code::Invalid, fmt::format("missing value for \"{}\"", name));
    }
  }
  return expand_references(text, env);
}

Result<std::string> sub_path_of(const api::json::value& mount, const Environment& env) {
  std::string path(api::string_at(mount, "subPath"));
  if (const std::string_view expression = api::string_at(mount, "subPathExpr");
      !expression.empty()) {
    BERTH_TRY(path, expanded(expression, env));
  }
  const bool backsteps = path == ".." || path.starts_with("../") || path.ends_with("/..") ||
                         path.find("/../") != std::string::npos;
  if (path.starts_with('/') || backsteps) {
    return fail(
        Code::Invalid,
        fmt::format("error SubPath `{}` must not be an absolute path or contain '..'", path));
  }
  return path;
}

} // namespace

Result<std::vector<MountWish>> mount_wishes(const api::json::value& container,
                                            const Environment& env) {
  std::vector<MountWish> wishes;
  for (const api::json::value& mount : list_at(container, "volumeMounts")) {
    MountWish wish{.volume = std::string(api::string_at(mount, "name")),
                   .container_path = std::string(api::string_at(mount, "mountPath")),
                   .read_only = bool_at(mount, "readOnly").value_or(false),
                   .propagation = propagation_of(api::string_at(mount, "mountPropagation")),
                   .index = wishes.size()};
    if (!wish.container_path.starts_with('/')) {
      wish.container_path.insert(0, "/");
    }
    BERTH_TRY(wish.sub_path, sub_path_of(mount, env));
    wishes.push_back(std::move(wish));
  }
  return wishes;
}

} // namespace berth::node
