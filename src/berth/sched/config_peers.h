// Decoding of extenders, leader election and client connection. Private to this room.
#pragma once

#include <vector>

#include "berth/api/field.h"
#include "berth/sched/config_document.h"

namespace berth::sched {

void decode(const api::Field& in, LeaderElection& out);
void decode(const api::Field& in, ClientConnection& out);
void decode(const api::Field& in, Extender& out);
/// The whole list: one at most binds, and a resource is managed once.
void decode_extenders(const api::Field& list, std::vector<Extender>& out);

} // namespace berth::sched
