// Which form of an answer a client wants, and which a body has. Source: apiserver
// handlers/negotiation.
#pragma once

#include <string_view>

#include "berth/net/http.h"
#include "berth/server/status.h"

namespace berth::server {

enum class Encoding { Json, Yaml, Protobuf /* of bodies alone */ };

struct Wanted {
  enum class Form { Object, Table, PartialMetadata };
  Form form = Form::Object;
  Encoding encoding = Encoding::Json;
  std::string meta_version = "v1"; ///< of meta.k8s.io, for the forms that are no objects
};

/// The first of the Accept header's types that the server speaks; 406 if there is none. Protobuf is
/// not spoken: clients that prefer it name JSON after it.
Answer<Wanted> wanted_form(std::string_view accept);

/// The aggregated discovery document was asked for.
bool wants_aggregated_discovery(std::string_view accept);

/// By Content-Type; "" is JSON. 415 for others.
Answer<Encoding> body_encoding(std::string_view content_type);

std::string_view content_type(Encoding encoding);

} // namespace berth::server
