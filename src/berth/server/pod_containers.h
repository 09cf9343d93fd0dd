// Which container of a pod a request means, in the words in which kube-apiserver and kubelets
// refuse. Source: pkg/registry/core/pod strategy.go (LogLocation, streamLocation), kubelet
// kubelet_pods.go (validateContainerLogStatus).
#pragma once

#include <string>
#include <string_view>

#include "berth/api/object.h"
#include "berth/server/status.h"

namespace berth::server {

/// The container that is meant: the one that is named, or the only one.
Answer<std::string> container_of(const api::Object& pod, const std::string& named);

enum class LogOf { Latest, Previous };
/// The id, in the pod's status, of the container whose log is meant.
Answer<std::string> logged_container(const api::Object& pod, const std::string& name, LogOf which);

/// As kube-apiserver says it of a kubelet that does not answer: asked for a log, and for streams.
Status unreachable(const api::Object& pod, std::string_view container);
Status unreachable_streams(const api::Object& pod);

} // namespace berth::server
