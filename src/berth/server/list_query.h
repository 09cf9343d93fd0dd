// The options of GET on a collection, of watches and of DELETE on a collection. Source:
// metav1.ListOptions, and its validation in apimachinery apis/meta/internalversion/validation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "berth/schema/resource.h"
#include "berth/server/request_info.h"
#include "berth/server/status.h"
#include "berth/store/request.h"

namespace berth::server {

struct ListQuery {
  store::ListOptions what;
  std::int64_t limit = 0; ///< 0: all
  std::string continue_token;
  std::string resource_version;
  std::string version_match; ///< "", "Exact", "NotOlderThan"
  bool bookmarks = false;
  bool initial_events = false;
  std::optional<std::int64_t> timeout_seconds;
};

/// Errors: BadRequest for what cannot be parsed or selected by, 422 for options that contradict
/// each other.
Answer<ListQuery> list_query(const RequestInfo& info, const schema::Resource& resource,
                             const net::HttpHeaders& query);

/// "0" and "" are 0. Error: 500 in the words of kube-apiserver.
Answer<std::uint64_t> version_number(std::string_view resource_version);
/// Whether a list may be had as of the version that it asks for, `newest` being the latest.
Answer<void> check_list_version(const ListQuery& query, std::uint64_t newest);
/// 504: the version that is asked for has not come yet.
Status too_new(std::uint64_t asked, std::uint64_t newest);

} // namespace berth::server
