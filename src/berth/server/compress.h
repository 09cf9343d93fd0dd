// Large answers are sent compressed to clients that take gzip.
#pragma once

#include "berth/net/http.h"

namespace berth::server {

/// Compresses the body in place if it is worth it: from 128 KiB on, as kube-apiserver does.
void compress(const net::HttpRequest& request, net::HttpResponse& response);

} // namespace berth::server
