// The documents that tell clients what is served: /api, /apis and each version's resources, and the
// aggregated form. Sources: apiserver endpoints/discovery; KEP-3352.
#pragma once

#include <string_view>

#include <boost/json/object.hpp>

#include "berth/server/resources.h"

namespace berth::server {

/// GET /api. `address`: where the server can be reached.
boost::json::object core_versions(std::string_view address);
/// GET /apis.
boost::json::object group_list(const Resources& resources);
/// GET /apis/GROUP; empty if there is no such group.
boost::json::object group_document(const Resources& resources, std::string_view group);
/// GET /api/v1, /apis/GROUP/VERSION; empty if there is no such version.
boost::json::object resource_list(const Resources& resources, std::string_view group,
                                  std::string_view version);

enum class DiscoveryPart { Core, Groups };
/// The aggregated form of /api or /apis.
boost::json::object aggregated(const Resources& resources, DiscoveryPart part);
/// GET /version.
boost::json::object version_document(std::string_view kubernetes_version);

} // namespace berth::server
