#!/usr/bin/env bash
# The oldest kubectl and helm that their npm packages still carry, against today's API: the shorter way through a cluster.
. "$(dirname "${BASH_SOURCE[0]}")/lib/cluster.sh"
want_tools 30

cat >"$work/app.yaml" <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: 'web:1', resources: {limits: {nvidia.com/gpu: '1'}}}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
YAML

check 'up' 'ready in' "$berth" up --port 0 --nodes dgx-h100:2
check 'version' 'Client Version: v1\.30' "$k" version
check 'nodes become ready' 'condition met' "$k" wait --for=condition=Ready node --all --timeout=60s
check 'nodes' 'dgx-h100-1 +Ready' "$k" get nodes
check 'api-resources' 'resourceclaims' "$k" api-resources
check 'explain' 'FIELD: tolerations' "$k" explain pod.spec.tolerations
check 'apply' 'deployment.apps/web created' "$k" apply -f "$work/app.yaml"
check 'apply again' 'configmap/settings unchanged' "$k" apply -f "$work/app.yaml"
check 'diff of nothing' '^$' "$k" diff -f "$work/app.yaml"
check 'rollout' 'successfully rolled out' "$k" rollout status deployment/web --timeout=60s
check 'get' 'web +2/2 +2 +2' "$k" get deployment web
check 'describe' 'NewReplicaSet: +web-' "$k" describe deployment web
check 'server-side apply' 'serverside-applied' "$k" apply --server-side --force-conflicts -f "$work/app.yaml"
check 'patch, strategic' 'patched' "$k" patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"web:2"}]}}}}'
check 'a new image' 'successfully rolled out' "$k" rollout status deployment/web --timeout=60s
check 'scale' 'scaled' "$k" scale deployment web --replicas=1
check 'patch, JSON' 'patched' "$k" patch configmap settings --type=json -p '[{"op":"add","path":"/data/e","value":"f"}]'
check 'round trip' 'e: f' "$k" get configmap settings -o yaml
check 'edit' 'edited' env KUBE_EDITOR='sed -i s/a:.b/a:\ z/' "$k" edit configmap settings
check 'events' 'Scheduled' "$k" get events
check 'can I' '^yes$' "$k" auth can-i create pods
refused 'strict decoding' 'unknown field "spec.gpus"' "$k" create -f - <<<'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"gpus":8,"containers":[{"name":"c","image":"x"}]}}'
check 'cordon' 'cordoned' "$k" cordon dgx-h100-1
check 'drain' 'drained' "$k" drain dgx-h100-1 --ignore-daemonsets --force --timeout=60s
check 'every kind lists' '' bash -c "for r in \$('$k' api-resources --verbs=list -o name); do '$k' get \$r -A >/dev/null || exit 1; done"
check 'helm' 'STATUS: deployed' "$helm" install demo scripts/e2e/chart
check 'helm upgrade' 'REVISION: 2' "$helm" upgrade demo scripts/e2e/chart --set replicas=2
check 'helm uninstall' 'uninstalled' "$helm" uninstall demo
check 'delete' 'deleted' "$k" delete -f "$work/app.yaml" --timeout=60s
check 'down' 'stopped' "$berth" down
exit $failed
