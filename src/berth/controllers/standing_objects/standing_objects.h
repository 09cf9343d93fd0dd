// What every namespace has: the ServiceAccount default, and the ConfigMap kube-root-ca.crt by which
// pods know the API server. Source: kubernetes pkg/controller/serviceaccount and
// pkg/controller/certificates/rootcacertpublisher.
#pragma once

#include <memory>
#include <string>

#include "berth/base/loop.h"
#include "berth/client/client.h"

namespace berth::controllers {

/// Makes them in every namespace, makes them again when they are deleted, and mends the
/// certificate.
class StandingObjects {
 public:
  /// `root_ca`: the authority's certificate, in PEM.
  StandingObjects(client::Client& client, Loop& loop, std::string root_ca);
  ~StandingObjects();
  StandingObjects(const StandingObjects&) = delete;
  StandingObjects& operator=(const StandingObjects&) = delete;

  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
