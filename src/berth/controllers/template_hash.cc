#include "berth/controllers/template_hash.h"

#include <string_view>

#include <fmt/format.h>

namespace berth::controllers {

std::string template_hash(const api::json::value& pod_template, std::int64_t collisions) {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::uint64_t hash = 14'695'981'039'346'656'037ULL;
  for (const char c : api::to_json(pod_template) + fmt::to_string(collisions)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211ULL;
  }
  std::string text;
  for (int i = 0; i < 10; ++i) {
    text += kAlphabet[hash % kAlphabet.size()];
    hash /= kAlphabet.size();
  }
  return text;
}

} // namespace berth::controllers
