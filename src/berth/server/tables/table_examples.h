// Objects of every kind and the cells that Kubernetes would show of them. Used by tests only.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace berth::test {

struct TableExample {
  std::string name;
  std::string kind;   ///< as of table_resource
  std::string object; ///< YAML, as of table_object
  std::string cells;  ///< JSON
};

inline void PrintTo(const TableExample& example, std::ostream* out) {
  *out << example.name;
}

inline std::vector<TableExample> table_examples() {
  const std::string tmpl =
      "template: {spec: {containers: [{name: a, image: i}, {name: b, image: j}]}}";
  return {
      {"NodeBare", "Node", "",
       R"(["x","Unknown","<none>","5m","","<none>","<none>","<unknown>","<unknown>","<unknown>"])"},
      {"NodeNotReady", "Node", "status: {conditions: [{type: Ready, status: Unknown}]}",
       R"(["x","NotReady","<none>","5m","","<none>","<none>","<unknown>","<unknown>","<unknown>"])"},
      {"NodeFull", "Node", R"(
metadata: {labels: {node-role.kubernetes.io/worker: '', node-role.kubernetes.io/: '', kubernetes.io/role: gpu}}
spec: {unschedulable: true}
status:
  conditions: [{type: DiskPressure, status: 'False'}, {type: Ready, status: 'True'}]
  addresses: [{type: Hostname, address: h}, {type: InternalIP, address: 10.0.0.1}, {type: InternalIP, address: 10.0.0.2}, {type: ExternalIP, address: 1.2.3.4}]
  nodeInfo: {kubeletVersion: v1.34.0, osImage: Debian, kernelVersion: 6.1.0, containerRuntimeVersion: containerd://2.0}
)",
       R"(["x","Ready,SchedulingDisabled","gpu,worker","5m","v1.34.0","10.0.0.1","1.2.3.4","Debian","6.1.0","containerd://2.0"])"},
      {"Namespace", "Namespace", "status: {phase: Terminating}", R"(["x","Terminating","5m"])"},
      {"ConfigMap", "ConfigMap", "data: {a: b, c: d}\nbinaryData: {e: Zg==}", R"(["x",3,"5m"])"},
      {"ConfigMapEmpty", "ConfigMap", "", R"(["x",0,"5m"])"},
      {"Secret", "Secret", "type: Opaque\ndata: {a: Yg==}", R"(["x","Opaque",1,"5m"])"},
      {"ServiceAccount", "ServiceAccount", "secrets: [{name: s}]", R"(["x",1,"5m"])"},
      {"ResourceQuota", "ResourceQuota",
       "status: {hard: {requests.cpu: '4', limits.memory: 2048Mi, pods: '10', limits: '1'}, "
       "used: "
       "{requests.cpu: 1500m, limits.memory: 1Gi}}",
       R"(["x","limits: 0/1, pods: 0/10, requests.cpu: 1500m/4","limits.memory: 1Gi/2Gi","5m"])"},
      {"LimitRange", "LimitRange", "spec: {limits: []}", R"(["x","2026-01-01T00:55:00Z"])"},
      {"ComponentStatus", "ComponentStatus",
       "conditions: [{type: Healthy, status: 'True', message: ok}]", R"(["x","Healthy","ok",""])"},
      {"EventBare", "Event", "", R"(["<unknown>","","","","","","","<unknown>",1,"x"])"},
      {"EventOfCore", "Event", R"(
type: Warning
reason: FailedScheduling
message: " 0/3 nodes are available\n"
involvedObject: {kind: Pod, name: p, fieldPath: 'spec.containers{c}'}
source: {component: kubelet, host: n1}
firstTimestamp: '2026-01-01T00:50:00Z'
lastTimestamp: '2026-01-01T00:59:30Z'
count: 4
)",
       R"(["30s","Warning","FailedScheduling","pod/p","spec.containers{c}","kubelet, n1","0/3 nodes are available","10m",4,"x"])"},
      {"EventOfNewApi", "events.k8s.io/Event", R"(
type: Normal
reason: Scheduled
note: assigned
regarding: {kind: Pod}
reportingController: berth-scheduler
reportingInstance: berth-0
eventTime: '2026-01-01T00:30:00.123456Z'
)",
       R"(["29m","Normal","Scheduled","pod","","berth-scheduler, berth-0","assigned","29m",1,"x"])"},
      {"EventSeries", "Event", R"(
eventTime: '2026-01-01T00:30:00.000000Z'
series: {count: 9, lastObservedTime: '2026-01-01T00:59:00.000000Z'}
involvedObject: {kind: Node, name: n1}
reportingComponent: kubelet
)",
       R"(["60s","","","node/n1","","kubelet","","30m",9,"x"])"},
      {"PodTemplate", "PodTemplate",
       "template: {metadata: {labels: {b: c, a: b}}, spec: {containers: [{name: a, image: i}]}}",
       R"(["x","a","i","a=b,b=c"])"},
      {"ReplicationController", "ReplicationController",
       "spec: {replicas: 3, selector: {app: web}, " + tmpl +
           "}\nstatus: {replicas: 2, readyReplicas: 1}",
       R"(["x",3,2,1,"5m","a,b","i,j","app=web"])"},
      {"ReplicaSet", "apps/ReplicaSet",
       "spec: {selector: {matchExpressions: [{key: a, operator: In, values: [c, b]}]}, " + tmpl +
           "}",
       R"j(["x",1,0,0,"5m","a,b","i,j","a in (b,c)"])j"},
      {"ReplicaSetNoSelector", "apps/ReplicaSet", "spec: {replicas: 0}",
       R"(["x",0,0,0,"5m","","","<none>"])"},
      {"Deployment", "apps/Deployment",
       "spec: {replicas: 3, selector: {matchLabels: {app: web}}, " + tmpl +
           "}\nstatus: {readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1}",
       R"(["x","1/3",2,1,"5m","a,b","i,j","app=web"])"},
      {"DeploymentBadSelector", "apps/Deployment",
       "spec: {selector: {matchExpressions: [{key: a, operator: Is}]}}",
       R"(["x","0/1",0,0,"5m","","","<invalid>"])"},
      {"StatefulSet", "apps/StatefulSet",
       "spec: {replicas: 2, " + tmpl + "}\nstatus: {readyReplicas: 2}",
       R"(["x","2/2","5m","a,b","i,j"])"},
      {"DaemonSet", "apps/DaemonSet", R"(
spec: {selector: {matchLabels: {a: b}}, template: {spec: {nodeSelector: {gpu: 'yes'}, containers: [{name: c, image: i}]}}}
status: {desiredNumberScheduled: 5, currentNumberScheduled: 4, numberReady: 3, updatedNumberScheduled: 2, numberAvailable: 1}
)",
       R"(["x",5,4,3,2,1,"gpu=yes","5m","c","i","a=b"])"},
      {"ControllerRevision", "apps/ControllerRevision",
       "metadata: {ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: s, uid: u, "
       "controller: true}]}\nrevision: 3",
       R"(["x","statefulset.apps/s",3,"5m"])"},
      {"ControllerRevisionOfNobody", "apps/ControllerRevision", "", R"(["x","<none>",0,"5m"])"},
      {"JobRunning", "batch/Job",
       "spec: {completions: 4, parallelism: 2, selector: {matchLabels: {j: k}}, " + tmpl +
           "}\nstatus: {succeeded: 1, startTime: '2026-01-01T00:56:00Z'}",
       R"(["x","Running","1/4","4m","5m","a,b","i,j","j=k"])"},
      {"JobComplete", "batch/Job",
       "spec: {completions: 1}\nstatus: {succeeded: 1, startTime: '2026-01-01T00:56:00Z', "
       "completionTime: '2026-01-01T00:56:30Z', conditions: [{type: SuccessCriteriaMet, status: "
       "'True'}, {type: Complete, status: 'True'}]}",
       R"(["x","Complete","1/1","30s","5m","","","<none>"])"},
      {"JobOfQueue", "batch/Job",
       "spec: {parallelism: 3}\nstatus: {conditions: [{type: Suspended, status: 'True'}, {type: "
       "Failed, status: 'False'}]}",
       R"(["x","Suspended","0/1 of 3","","5m","","","<none>"])"},
      {"JobDeleted", "batch/Job",
       "metadata: {deletionTimestamp: '2026-01-01T00:59:00Z'}\nstatus: {conditions: [{type: "
       "FailureTarget, status: 'True'}]}",
       R"(["x","Terminating","0/1","","5m","","","<none>"])"},
      {"CronJob", "batch/CronJob", R"(
spec: {schedule: '*/5 * * * *', timeZone: Etc/UTC, suspend: true, jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: i}]}}}}}
status: {active: [{name: j}], lastScheduleTime: '2026-01-01T00:58:00Z'}
)",
       R"(["x","*/5 * * * *","Etc/UTC","True",1,"2m","5m","c","i","<none>"])"},
      {"CronJobNew", "batch/CronJob", "spec: {schedule: '@daily'}",
       R"(["x","@daily","<none>","False",0,"<none>","5m","","","<none>"])"},
      {"DisruptionBudget", "policy/PodDisruptionBudget",
       "spec: {minAvailable: 50%}\nstatus: {disruptionsAllowed: 2}", R"(["x","50%","N/A",2,"5m"])"},
      {"DisruptionBudgetOfNumber", "policy/PodDisruptionBudget", "spec: {maxUnavailable: 1}",
       R"(["x","N/A","1",0,"5m"])"},
      {"Scale", "autoscaling/Scale", "spec: {replicas: 5}\nstatus: {replicas: 3}",
       R"(["x",5,3,"5m"])"},
      {"Autoscaler", "autoscaling/HorizontalPodAutoscaler", R"(
spec:
  scaleTargetRef: {kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 9
  metrics:
  - {type: Resource, resource: {name: cpu, target: {averageUtilization: 80}}}
  - {type: Pods, pods: {target: {averageValue: 1500m}}}
  - {type: External, external: {target: {averageValue: '30'}}}
status:
  currentReplicas: 4
  currentMetrics: [{type: Resource, resource: {name: cpu, current: {averageUtilization: 12}}}]
)",
       R"(["x","Deployment/web","cpu: 12%/80%, <unknown>/1500m + 1 more...","2",9,4,"5m"])"},
      {"AutoscalerOther", "autoscaling/HorizontalPodAutoscaler", R"(
spec: {metrics: [{type: Object, object: {target: {averageValue: 10}}}, {type: Odd}]}
status: {currentMetrics: [{object: {current: {averageValue: 3}}}]}
)",
       R"(["x","/","3/10 (avg), <unknown type>","1",0,0,"5m"])"},
      {"AutoscalerValues", "autoscaling/HorizontalPodAutoscaler", R"(
spec: {metrics: [{type: ContainerResource, containerResource: {name: memory, target: {averageValue: 2048Mi}}}, {type: External, external: {target: {value: 7}}}]}
status: {currentMetrics: [{containerResource: {current: {averageValue: 512Mi}}}]}
)",
       R"(["x","/","memory: 512Mi/2Gi, <unknown>/7","1",0,0,"5m"])"},
      {"Service", "Service",
       "spec: {type: NodePort, clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], externalIPs: [1.1.1.1, "
       "2.2.2.2], ports: [{port: 80, protocol: TCP, nodePort: 30080}, {port: 53, protocol: UDP}], "
       "selector: {b: c, a: b}}",
       R"(["x","NodePort","10.0.0.1","1.1.1.1,2.2.2.2","80:30080/TCP,53/UDP","5m","a=b,b=c"])"},
      {"ServiceBare", "Service", "",
       R"(["x","ClusterIP","<none>","<none>","<none>","5m","<none>"])"},
      {"ServiceBalanced", "Service",
       "spec: {type: LoadBalancer, clusterIPs: [None], externalIPs: [9.9.9.9]}\nstatus: "
       "{loadBalancer: {ingress: [{ip: 2.2.2.2}, {hostname: h}, {ip: 1.1.1.1}, {}]}}",
       R"(["x","LoadBalancer","None","1.1.1.1,2.2.2.2,h,9.9.9.9","<none>","5m","<none>"])"},
      {"ServicePending", "Service", "spec: {type: LoadBalancer}",
       R"(["x","LoadBalancer","<none>","<pending>","<none>","5m","<none>"])"},
      {"ServiceElsewhere", "Service", "spec: {type: ExternalName, externalName: db.example}",
       R"(["x","ExternalName","<none>","db.example","<none>","5m","<none>"])"},
      {"ServiceOdd", "Service", "spec: {type: Odd}",
       R"(["x","Odd","<none>","<unknown>","<none>","5m","<none>"])"},
      {"EndpointsNone", "Endpoints", "", R"(["x","<none>","5m"])"},
      {"EndpointsEmpty", "Endpoints", "subsets: [{}]", R"(["x","","5m"])"},
      {"EndpointsMany", "Endpoints",
       "subsets: [{addresses: [{ip: 1.1.1.1}, {ip: 'fd00::1'}], ports: [{port: 80}, {port: 81}]}, "
       "{addresses: [{ip: 3.3.3.3}]}]",
       R"(["x","1.1.1.1:80,[fd00::1]:80,1.1.1.1:81 + 2 more...","5m"])"},
      {"EndpointSlice", "discovery.k8s.io/EndpointSlice",
       "addressType: IPv4\nports: [{port: 80}, {name: web}, {}]\nendpoints: [{addresses: [1.1.1.1, "
       "2.2.2.2]}, {addresses: [3.3.3.3, 4.4.4.4]}]",
       R"(["x","IPv4","80,web,*","1.1.1.1,2.2.2.2,3.3.3.3 + 1 more...","5m"])"},
      {"EndpointSliceBare", "discovery.k8s.io/EndpointSlice", "",
       R"(["x","","<unset>","<unset>","5m"])"},
      {"Ingress", "networking.k8s.io/Ingress",
       "spec: {ingressClassName: nginx, tls: [{}], rules: [{host: a}, {}, {host: b}, {host: c}, "
       "{host: d}]}\nstatus: {loadBalancer: {ingress: [{ip: 1.1.1.1}]}}",
       R"(["x","nginx","a,b,c + 2 more...","1.1.1.1","80, 443","5m"])"},
      {"IngressBare", "networking.k8s.io/Ingress", "", R"(["x","<none>","*","","80","5m"])"},
      {"IngressClass", "networking.k8s.io/IngressClass",
       "spec: {controller: c/d, parameters: {apiGroup: k8s.example, kind: P, name: n1}}",
       R"(["x","c/d","P.k8s.example/n1","5m"])"},
      {"IngressClassBare", "networking.k8s.io/IngressClass", "", R"(["x","","<none>","5m"])"},
      {"NetworkPolicy", "networking.k8s.io/NetworkPolicy",
       "spec: {podSelector: {matchLabels: {a: b}}}", R"(["x","a=b","5m"])"},
      {"ServiceCIDR", "networking.k8s.io/ServiceCIDR", "spec: {cidrs: [10.0.0.0/24, 'fd00::/64']}",
       R"(["x","10.0.0.0/24,fd00::/64","5m"])"},
      {"IPAddress", "networking.k8s.io/IPAddress",
       "spec: {parentRef: {group: Apps, resource: services, namespace: n1, name: s}}",
       R"(["x","services.apps/n1/s"])"},
      {"IPAddressOfNobody", "networking.k8s.io/IPAddress", "", R"(["x","<none>"])"},
      {"Volume", "PersistentVolume", R"(
metadata: {annotations: {volume.beta.kubernetes.io/storage-class: old}}
spec: {capacity: {storage: 10240Mi}, accessModes: [ReadWriteMany, ReadWriteOnce, ReadWriteMany], persistentVolumeReclaimPolicy: Delete, claimRef: {namespace: n1, name: c}, storageClassName: new, volumeMode: Block}
status: {phase: Bound, reason: r}
)",
       R"(["x","10Gi","RWO,RWX","Delete","Bound","n1/c","old","<unset>","r","5m","Block"])"},
      {"VolumeBare", "PersistentVolume", "",
       R"(["x","0","","Retain","","","","<unset>","","5m","Filesystem"])"},
      {"ClaimBound", "PersistentVolumeClaim",
       "spec: {volumeName: v, storageClassName: s, volumeAttributesClassName: gold}\nstatus: "
       "{phase: Bound, capacity: {storage: 1Gi}, accessModes: [ReadWriteOncePod, ReadOnlyMany]}",
       R"(["x","Bound","v","1Gi","ROX,RWOP","s","gold","5m","Filesystem"])"},
      {"ClaimPending", "PersistentVolumeClaim",
       "status: {phase: Pending, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce]}",
       R"(["x","Pending","","","","","<unset>","5m","Filesystem"])"},
      {"ClaimOfNoClass", "PersistentVolumeClaim", "spec: {volumeAttributesClassName: ''}",
       R"(["x","","","","","","","5m","Filesystem"])"},
      {"ClaimDeleted", "PersistentVolumeClaim",
       "metadata: {deletionTimestamp: '2026-01-01T00:59:00Z'}\nstatus: {phase: Bound}",
       R"(["x","Terminating","","","","","<unset>","5m","Filesystem"])"},
      {"StorageClass", "storage.k8s.io/StorageClass",
       "metadata: {annotations: {storageclass.kubernetes.io/is-default-class: "
       "'true'}}\nprovisioner: p\nreclaimPolicy: Retain\nvolumeBindingMode: "
       "WaitForFirstConsumer\nallowVolumeExpansion: true",
       R"j(["x (default)","p","Retain","WaitForFirstConsumer",true,"5m"])j"},
      {"StorageClassBare", "storage.k8s.io/StorageClass", "",
       R"(["x","","Delete","Immediate",false,"5m"])"},
      {"AttributesClass", "storage.k8s.io/VolumeAttributesClass", "driverName: d",
       R"(["x","d","5m"])"},
      {"Attachment", "storage.k8s.io/VolumeAttachment",
       "spec: {attacher: a, nodeName: n1, source: {persistentVolumeName: v}}\nstatus: {attached: "
       "true}",
       R"(["x","a","v","n1",true,"5m"])"},
      {"CSINode", "storage.k8s.io/CSINode", "spec: {drivers: [{name: a}, {name: b}]}",
       R"(["x",2,"5m"])"},
      {"CSIDriverBare", "storage.k8s.io/CSIDriver", "",
       R"(["x",true,false,false,"<unset>",false,"<none>","5m"])"},
      {"CSIDriver", "storage.k8s.io/CSIDriver",
       "spec: {attachRequired: false, podInfoOnMount: true, storageCapacity: true, tokenRequests: "
       "[{audience: a}, {audience: b}], requiresRepublish: true, volumeLifecycleModes: "
       "[Persistent, "
       "Ephemeral]}",
       R"(["x",false,true,true,"a,b",true,"Persistent,Ephemeral","5m"])"},
      {"CSICapacity", "storage.k8s.io/CSIStorageCapacity", "storageClassName: s\ncapacity: 2048Mi",
       R"(["x","s","2Gi"])"},
      {"CSICapacityUnknown", "storage.k8s.io/CSIStorageCapacity", "", R"(["x","","<unset>"])"},
      {"Role", "rbac.authorization.k8s.io/Role", "", R"(["x","2026-01-01T00:55:00Z"])"},
      {"RoleBinding", "rbac.authorization.k8s.io/RoleBinding",
       "roleRef: {kind: Role, name: r}\nsubjects: [{kind: User, name: u}, {kind: Group, name: g}, "
       "{kind: User, name: v}, {kind: ServiceAccount, namespace: n1, name: s}, {kind: Odd, name: "
       "o}]",
       R"(["x","Role/r","5m","u, v","g","n1/s"])"},
      {"SigningRequest", "certificates.k8s.io/CertificateSigningRequest",
       "spec: {signerName: k/s, username: u, expirationSeconds: 3600}\nstatus: {certificate: Yg==, "
       "conditions: [{type: Approved}]}",
       R"(["x","5m","k/s","u","60m","Approved,Issued"])"},
      {"SigningRequestDenied", "certificates.k8s.io/CertificateSigningRequest",
       "status: {conditions: [{type: Approved}, {type: Failed}, {type: Denied}]}",
       R"(["x","5m","<none>","","<none>","Denied,Failed"])"},
      {"Webhooks", "admissionregistration.k8s.io/MutatingWebhookConfiguration",
       "webhooks: [{name: a}]", R"(["x",1,"5m"])"},
      {"APIService", "apiregistration.k8s.io/APIService",
       "spec: {service: {namespace: n1, name: s}}\nstatus: {conditions: [{type: Available, status: "
       "'False', reason: MissingEndpoints}]}",
       R"j(["x","n1/s","False (MissingEndpoints)","5m"])j"},
      {"APIServiceLocal", "apiregistration.k8s.io/APIService",
       "status: {conditions: [{type: Available, status: 'True', reason: Local}]}",
       R"(["x","Local","True","5m"])"},
      {"PriorityClass", "scheduling.k8s.io/PriorityClass",
       "value: -10\nglobalDefault: true\npreemptionPolicy: Never",
       R"(["x",-10,true,"5m","Never"])"},
      {"Lease", "coordination.k8s.io/Lease", "spec: {holderIdentity: h}", R"(["x","h","5m"])"},
      {"RuntimeClass", "node.k8s.io/RuntimeClass", "handler: nvidia", R"(["x","nvidia","5m"])"},
      {"ClaimOfDevicesPending", "resource.k8s.io/ResourceClaim", "", R"(["x","pending","5m"])"},
      {"ClaimOfDevicesReserved", "resource.k8s.io/ResourceClaim",
       "status: {allocation: {}, reservedFor: [{name: p}]}", R"(["x","allocated,reserved","5m"])"},
      {"ClaimOfDevicesDeleted", "resource.k8s.io/ResourceClaim",
       "metadata: {deletionTimestamp: '2026-01-01T00:59:00Z'}\nstatus: {allocation: {}}",
       R"(["x","deleted,allocated","5m"])"},
      {"ResourceSlice", "resource.k8s.io/ResourceSlice",
       "spec: {nodeName: n1, driver: gpu.nvidia.com, pool: {name: p}}",
       R"(["x","n1","gpu.nvidia.com","p","5m"])"},
      {"Pod", "Pod", R"(
spec: {nodeName: n1, containers: [{name: c, resources: {requests: {nvidia.com/gpu: 1}}}], initContainers: [{name: s, restartPolicy: Always}], readinessGates: [{conditionType: g}]}
status:
  phase: Running
  reason: r
  podIPs: [{ip: 10.0.0.1}]
  conditions: [{type: g, status: 'True', reason: r}]
  initContainerStatuses: [{name: s, restartCount: 1, started: true, ready: true, state: {running: {startedAt: t}}, lastState: {terminated: {exitCode: 1, signal: 9, finishedAt: '2026-01-01T00:58:00Z'}}}]
  containerStatuses: [{name: c, restartCount: 1, ready: true, state: {terminated: {exitCode: 1, signal: 9}, waiting: {reason: ''}}}]
)",
       R"j(["x","1/2","Signal:9","2 (2m ago)","5m","10.0.0.1","n1","<none>","1/1"])j"},
  };
}

} // namespace berth::test
