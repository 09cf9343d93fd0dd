// The options of exec, attach and port-forward. Source: core/v1 PodExecOptions, PodAttachOptions,
// PodPortForwardOptions and their defaults; kubelet cri/streaming remotecommand and portforward
// (NewOptions, NewV4Options).
#pragma once

#include <string>
#include <string_view>

#include "berth/net/http.h"
#include "berth/server/nodes.h"
#include "berth/server/status.h"

namespace berth::server {

/// How the streams of a process are named: in the Kubernetes API (stdin, stdout, stderr, which are
/// wanted but for stdin unless the query says otherwise), or in a kubelet's (input, output, error).
enum class StreamNames { Api, Kubelet };

/// The part of the request that the query holds. 400 if no stream is wanted, no command is given
/// for Exec, or a port is none.
Answer<StreamRequest> stream_options(StreamRequest::Kind kind, const net::HttpRequest& request,
                                     StreamNames names);

/// What a kubelet is asked: "/exec/NS/POD/CONTAINER?command=..&input=1".
std::string kubelet_target(const StreamRequest& what);

/// "exec", "attach" or "port-forward", as people call it.
std::string_view name_of(StreamRequest::Kind kind);

} // namespace berth::server
