// Kept decisions as documents (docs/decisions.md): fields are added, never renamed.
#pragma once

#include <functional>

#include <boost/json/value.hpp>

#include "berth/explain/book.h"

namespace berth::explain {

/// One pod with its attempts.
boost::json::value pod_document(const Book::Pod& pod);
/// apiVersion berth.dev/v1alpha1, kind DecisionList: what was asked for, and every pod that `shown`
/// says yes to.
boost::json::value book_document(const Book& book,
                                 const std::function<bool(const Book::Pod&)>& shown);

} // namespace berth::explain
