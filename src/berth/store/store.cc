#include "berth/store/store.h"

#include <utility>

#include <boost/json/value.hpp>

namespace berth::store {

Result<api::Object> Store::put_counted(api::json::value document, std::uint64_t expected,
                                       const Check& check,
                                       const std::vector<std::string>& /*names*/) {
  return put(std::move(document), expected, check);
}

} // namespace berth::store
