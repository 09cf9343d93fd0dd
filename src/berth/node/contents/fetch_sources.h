// Asks the API for the objects that a container or a volume is made from.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berth/base/loop.h"
#include "berth/client/client.h"
#include "berth/node/contents/references.h"
#include "berth/node/contents/sources.h"

namespace berth::node {

/// Asks for all of them at once; `done` comes once, as a later task, and only while `alive` lives.
/// What is not there is an answer, not a failure: who uses it decides.
void fetch_sources(client::Client& client, Loop& loop, const std::string& ns,
                   const std::vector<Reference>& wanted, const std::weak_ptr<void>& alive,
                   std::function<void(Sources)> done);

} // namespace berth::node
