// Kubernetes' answer to a request that failed, or that has nothing else to say: metav1.Status.
// Source: apimachinery api/errors.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <tl/expected.hpp>

#include "berth/base/result.h"
#include "berth/net/http.h"

namespace berth::server {

struct Status {
  int code = 500;
  std::string reason; ///< a StatusReason; "" for none
  std::string message;
  boost::json::value details; ///< null: left out
};

/// A value or the Status that answers instead.
template <class T> using Answer = tl::expected<T, Status>;

/// Of an error of the store: details and causes follow from its message and causes, which name them
/// in Kubernetes' words.
Status status_of(const Error& error);

tl::unexpected<Status> bad_request(std::string message);
/// "the server could not find the requested resource"
Status unknown_resource();
/// "the server does not allow this method on the requested resource"
Status method_not_allowed();
/// One or more wrong fields of request options, e.g. ListOptions.meta.k8s.io "" is invalid.
struct WrongOption {
  std::string field;
  std::string message; ///< "Forbidden: ..."
};
Status invalid_options(std::string_view kind, const WrongOption& wrong);
Status not_acceptable(std::string_view accepted);
Status unsupported_media_type(std::string message);
Status internal_error(std::string message);

boost::json::object to_document(const Status& status);
/// {"kind": "Status", "status": "Success", details} of a deletion.
boost::json::object success_document(boost::json::value details);
net::HttpResponse to_response(const Status& status);

} // namespace berth::server
