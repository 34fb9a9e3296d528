// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The strings in a pod that differ from pod to pod. Each has the length of what takes its
// place, so that all pods have the same size.
const (
	markName = "name-00000000"
	markUID  = "00000000-0000-4000-8000-000000000000"
	markNode = "node-0000"

	markVersion = "12345678"
)

// podTemplate is a pod as a Deployment makes them, with the managed fields of the three
// clients that usually write one: 3.7 KB of JSON.
func podTemplate() *corev1.Pod {
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	yes := true
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{},
		ObjectMeta: metav1.ObjectMeta{
			Name: markName, Namespace: "team-one", UID: markUID, ResourceVersion: markVersion,
			CreationTimestamp: now, GenerateName: "name-",
			Labels:      map[string]string{"app.kubernetes.io/name": "web", "app.kubernetes.io/part-of": "shop", "pod-template-hash": "5d4f8c7b9"},
			Annotations: map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "9090"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-5d4f8c7b9", UID: markUID, Controller: &yes, BlockOwnerDeletion: &yes,
			}},
			ManagedFields: managedFields(now),
		},
		Spec:   podSpec(),
		Status: podStatus(now),
	}
}

func managedFields(now metav1.Time) []metav1.ManagedFieldsEntry {
	var out []metav1.ManagedFieldsEntry
	for manager, fields := range map[string]string{
		"kube-controller-manager": `{"f:metadata":{"f:annotations":{".":{},"f:prometheus.io/port":{},"f:prometheus.io/scrape":{}},"f:generateName":{},"f:labels":{".":{},"f:app.kubernetes.io/name":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"00000000\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{},"f:resources":{}}}}}`,
		"kubelet":                 `{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{}}}`,
	} {
		out = append(out, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &now,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
		})
	}
	return out
}

func podSpec() corev1.PodSpec {
	probe := &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080), Scheme: "HTTP"}},
		PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
	}
	return corev1.PodSpec{
		NodeName: markNode, ServiceAccountName: "web", RestartPolicy: "Always", DNSPolicy: "ClusterFirst", SchedulerName: "default-scheduler",
		Containers: []corev1.Container{{
			Name: "web", Image: "registry.example.com/shop/web:v1.2.3", ImagePullPolicy: "IfNotPresent",
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: "TCP"}, {Name: "metrics", ContainerPort: 9090, Protocol: "TCP"}},
			Env:   []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}, {Name: "REGION", Value: "eu-central-1"}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")},
				Limits:   corev1.ResourceList{"memory": resource.MustParse("256Mi")},
			},
			LivenessProbe: probe, ReadinessProbe: probe,
			VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/web"}, {Name: "kube-api-access", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}},
		}},
		Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "web"}}}}},
		Tolerations: []corev1.Toleration{
			{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute"},
			{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute"},
		},
	}
}

func podStatus(now metav1.Time) corev1.PodStatus {
	status := corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: "10.0.0.1", PodIP: "10.1.0.1", StartTime: &now, QOSClass: "Burstable",
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "web", Ready: true, Image: "registry.example.com/shop/web:v1.2.3", ContainerID: "containerd://" + strings.Repeat("a", 64),
			ImageID: "registry.example.com/shop/web@sha256:" + strings.Repeat("b", 64),
			State:   corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		}},
	}
	for _, condition := range []corev1.PodConditionType{"Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: condition, Status: "True", LastTransitionTime: now})
	}
	return status
}

// pods makes one pod after another from a template, whichever way it is encoded.
type pods struct {
	template []byte
	marks    []mark
}

// mark is a place in the template, and what is written there.
type mark struct {
	at   int // where its number ends
	kind string
}

func newPods(template []byte) *pods {
	p := &pods{template: template}
	for at := 0; at < len(template); at++ {
		for _, kind := range []string{markName, markUID, markNode, markVersion} {
			if bytes.HasPrefix(template[at:], []byte(kind)) {
				at += len(kind)
				p.marks = append(p.marks, mark{at: at, kind: kind})
			}
		}
	}
	return p
}

// firstVersion is that of the first pod: all versions are equally long.
const firstVersion = 20_000_000

// eventVersion is the version of the last of n events.
func eventVersion(n int) string { return strconv.Itoa(firstVersion + n - 1) }

// size is the length of one pod in bytes.
func (p *pods) size() int { return len(p.template) }

// append appends pod i.
func (p *pods) append(to []byte, i int) []byte { return p.appendAt(to, i, i) }

// appendAt appends pod i with another one's version. It writes digits and formats nothing:
// the server has to be faster than those who are measured.
func (p *pods) appendAt(to []byte, i, version int) []byte {
	start := len(to)
	to = append(to, p.template...)
	for _, m := range p.marks {
		n := i
		switch m.kind {
		case markVersion:
			n = firstVersion + version
		case markNode:
			n = i % 1000
		}
		for at := start + m.at - 1; n > 0; at-- {
			to[at] = '0' + byte(n%10)
			n /= 10
		}
	}
	return to
}
