# Sourced by suites with real containers, after cluster.sh: a containerd of their own, an image built here, and their ends.

# want_containers: ends the suite as skipped where containers cannot be run.
want_containers() {
  local reason=
  [ "$(id -u)" = 0 ] || reason="containers need root"
  for tool in containerd runc ctr /bin/busybox; do
    command -v $tool >/dev/null || reason="$tool is not at hand (Debian: containerd, runc, busybox-static)"
  done
  if [ -z "$reason" ] && ! { mknod "$work/probe" c 195 0 && rm "$work/probe"; } 2>/dev/null; then
    reason="device nodes cannot be made here"
  fi
  [ -z "$reason" ] && return 0
  echo "SKIPPED: $reason"
  exit 0
}

# start_containerd: sets `socket`; its state, images and logs are below $work.
start_containerd() {
  socket=$work/containerd/containerd.sock
  mkdir -p "$work/containerd/cni"
  cat >"$work/containerd/config.toml" <<TOML
version = 2
root = "$work/containerd/root"
state = "$work/containerd/state"
[grpc]
address = "$socket"
[plugins."io.containerd.grpc.v1.cri"]
restrict_oom_score_adj = true
sandbox_image = "docker.io/local/pause:1"
stream_server_address = "127.0.0.1"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "$work/containerd/cni"
conf_dir = "$work/containerd/cni"
TOML
  containerd --config "$work/containerd/config.toml" >>"$work/containerd/log" 2>&1 &
  containerd_pid=$!
  for _ in $(seq 100); do
    ctr -a "$socket" version >/dev/null 2>&1 && return 0
    kill -0 "$containerd_pid" 2>/dev/null || break
    sleep 0.1
  done
  echo "SKIPPED: containerd does not start here: $(tail -3 "$work/containerd/log")"
  exit 0
}

# make_image NAME COMMAND_JSON: busybox with its applets, as docker.io/local/NAME:1.
make_image() {
  local name=$1 command=$2 at=$work/image/$1 digest
  mkdir -p "$at/root/bin" "$at/root/tmp" "$at/root/etc" "$at/root/dev" "$at/root/proc" "$at/root/sys"
  cp /bin/busybox "$at/root/bin/busybox"
  for applet in sed grep sh cat echo env ls sleep dd true false id hostname mount nc wget sha256sum head stat touch kill test; do
    ln -s busybox "$at/root/bin/$applet"
  done
  printf 'root:x:0:0:root:/:/bin/sh\nuser:x:1000:1000::/:/bin/sh\n' >"$at/root/etc/passwd"
  tar -C "$at/root" --owner=0 --group=0 -cf "$at/layer.tar" .
  digest=$(sha256sum "$at/layer.tar" | cut -d' ' -f1)
  cat >"$at/config.json" <<JSON
{"architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/bin"], "Cmd": $command, "WorkingDir": "/"},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$digest"]}}
JSON
  echo "[{\"Config\": \"config.json\", \"RepoTags\": [\"docker.io/local/$name:1\"], \"Layers\": [\"layer.tar\"]}]" >"$at/manifest.json"
  tar -C "$at" -cf "$at.tar" manifest.json config.json layer.tar
  ctr -a "$socket" -n k8s.io images import "$at.tar" >/dev/null
}

# end_containers: every container, their shims, and containerd itself.
end_containers() {
  [ -n "${containerd_pid:-}" ] || return 0
  local id
  for id in $(ctr -a "$socket" -n k8s.io tasks ls -q 2>/dev/null); do
    ctr -a "$socket" -n k8s.io tasks kill -s SIGKILL "$id" >/dev/null 2>&1
    ctr -a "$socket" -n k8s.io tasks rm -f "$id" >/dev/null 2>&1
  done
  for id in $(ctr -a "$socket" -n k8s.io containers ls -q 2>/dev/null); do
    ctr -a "$socket" -n k8s.io containers rm "$id" >/dev/null 2>&1
  done
  kill "$containerd_pid" 2>/dev/null
  wait "$containerd_pid" 2>/dev/null
  grep -E "^[^ ]+ $work/containerd" /proc/mounts | cut -d' ' -f2 | sort -r | xargs -r umount 2>/dev/null
  return 0
}
