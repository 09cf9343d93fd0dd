#include "berth/model/pod_selector.h"

#include <map>

#include "berth/model/decode.h"

namespace berth::model {

using api::Field;

Result<std::shared_ptr<const PodSelector>> decode_label_map(const api::json::value& document) {
  std::optional<Error> failure;
  PodSelector out;
  const Field root(document, failure);
  root.read("metadata", out.meta);
  std::map<std::string, std::string> labels;
  root.within("spec", [&](const Field& spec) { spec.read("selector", labels); });
  if (failure) {
    return tl::unexpected(*std::move(failure));
  }
  if (!labels.empty()) {
    out.selector.emplace();
    for (auto& [key, value] : labels) {
      out.selector->requirements.push_back(
          {.key = key, .op = api::Operator::In, .values = {std::move(value)}});
    }
  }
  return std::make_shared<const PodSelector>(std::move(out));
}

Result<std::shared_ptr<const PodSelector>> decode_pod_selector(const api::json::value& document) {
  std::optional<Error> failure;
  PodSelector out;
  const Field root(document, failure);
  root.read("metadata", out.meta);
  root.within("spec", [&](const Field& spec) { spec.read("selector", out.selector); });
  if (failure) {
    return tl::unexpected(*std::move(failure));
  }
  return std::make_shared<const PodSelector>(std::move(out));
}

} // namespace berth::model
