// What kube-controller-manager has as its shared informer factory: controllers in one process that
// look at the same objects list, watch and keep them once.
#pragma once

#include "berth/client/informer_source.h"
#include "berth/client/passing_client.h"

namespace berth::client {

/// Another client, whose informers share their sources.
class SharingClient final : public PassingClient {
 public:
  using PassingClient::PassingClient;

  InformerSources* informer_sources() override { return &sources_; }

 private:
  InformerSources sources_;
};

} // namespace berth::client
