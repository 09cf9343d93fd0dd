// Resources that are measured when somebody asks, and never stored: metrics.k8s.io/v1beta1 (what
// kubectl top shows, as metrics-server serves it) and metrics.berth.dev/v1alpha1 gpus (which GPU
// is how busy, for whom). Served where there are nodes.
#pragma once

#include "berth/server/call.h"
#include "berth/server/status.h"

namespace berth::server {

/// To be served beside the built-in resources.
std::vector<schema::Resource> live_resources();
bool is_live(const schema::Resource& resource);

/// Brings what the nodes in question say up to date, and then answers as below.
void answer_live_later(const Shared& shared, Call& call, const schema::Resource& resource);

/// get and list. Nodes that do not answer, and pods of which nothing runs, have no metrics.
/// Precondition: is_live, and there are nodes. O(pods) for lists of pods and GPUs.
Answer<net::HttpResponse> answer_live(const Shared& shared, const Call& call,
                                      const schema::Resource& resource);

} // namespace berth::server
