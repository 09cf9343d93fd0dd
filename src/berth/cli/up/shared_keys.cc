#include "berth/cli/up/shared_keys.h"

#include <array>
#include <string>
#include <vector>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"

namespace berth::cli {
namespace {

/// Files that belong together, and those that are made from them.
struct Bundle {
  const char* name;
  std::vector<const char*> files;
  std::vector<const char*> made_from_them;
};

Result<void> share(const Home& home, etcd::EtcdStore& store, const Bundle& bundle) {
  api::json::object own;
  for (const char* file : bundle.files) {
    BERTH_TRY(own[file], read_key_file(home, file));
  }
  const std::string offered = api::to_json(own);
  BERTH_TRY(const std::string agreed, store.agree(bundle.name, offered));
  if (agreed == offered) {
    return {};
  }
  BERTH_TRY(const api::json::value theirs, api::parse_json(agreed));
  for (const char* file : bundle.made_from_them) {
    std::error_code ignored;
    std::filesystem::remove(home.pki() / file, ignored);
  }
  for (const char* file : bundle.files) {
    const api::json::value* text = api::find(theirs, file);
    if (text == nullptr || !text->is_string()) {
      return fail(Code::Unavailable,
                  fmt::format("the keys that the cluster's processes share lack {}", file));
    }
    BERTH_CHECK(write_private(home.pki() / file, std::string(text->get_string())));
  }
  return {};
}

} // namespace

Result<void> share_keys(const Home& home, etcd::EtcdStore& store) {
  BERTH_CHECK(share(home, store,
                    {.name = "authority",
                     .files = {"ca.crt", "ca.key"},
                     .made_from_them = {"server.crt", "server.key", "admin.crt", "admin.key"}}));
  return share(home, store, {.name = "account-key", .files = {"sa.key"}, .made_from_them = {}});
}

} // namespace berth::cli
