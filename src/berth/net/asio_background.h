// Background work of an AsioLoop: a thread of its own.
#pragma once

#include <memory>

#include "berth/base/background.h"
#include "berth/net/asio_loop.h"

namespace berth::net {

/// The loop must outlive it. The thread ends with it.
std::unique_ptr<Background> make_background(AsioLoop& loop);

} // namespace berth::net
