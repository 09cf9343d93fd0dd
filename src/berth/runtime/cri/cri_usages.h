// What containers and sandboxes use, as a CRI runtime tells it.
#pragma once

#include <string>

#include "berth/runtime/runtime.h"

namespace berth::rpc {
class Channel;
}

namespace berth::runtime::cri {

/// Of the owner's containers and sandboxes. Runtimes that tell nothing of whole sandboxes, as older
/// ones do, leave these out. The channel must outlive the answer.
void ask_usages(rpc::Channel& channel, const std::string& owner, Done<Usages> done);

} // namespace berth::runtime::cri
