// Lists handed out page by page: what is left of a list is kept, as it was when its first page was
// asked for, until it is fetched or crowded out. Source: metav1.ListOptions continue.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "berth/server/status.h"
#include "berth/store/request.h"

namespace berth::server {

class ListPages {
 public:
  /// At most `most` unfinished lists are kept; the oldest go first.
  explicit ListPages(std::size_t most = 256) : most_(most) {}

  struct Page {
    std::vector<api::Object> items;
    std::uint64_t resource_version = 0;
    std::string continue_token; ///< "": this is the last
    std::size_t remaining = 0;
  };
  /// `list`: everything of `what`'s kind and namespace; pages hold what `what` covers. A page may
  /// be followed by an empty one: what comes later is not looked at.
  Page first(store::ObjectList list, store::ListOptions what, std::size_t limit);
  /// BadRequest: no token of ours; 410 Expired: what it named is gone.
  Answer<Page> next(std::string_view token, std::size_t limit);

 private:
  struct Rest {
    store::ObjectList list;
    store::ListOptions what;
  };
  Page cut(Rest rest, std::size_t limit);

  std::size_t most_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Rest> kept_;
};

} // namespace berth::server
