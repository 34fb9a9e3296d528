// SPDX-License-Identifier: Apache-2.0

package decode

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	authenticationv1 "k8s.io/api/authentication/v1"
	authenticationv1alpha1 "k8s.io/api/authentication/v1alpha1"
	authenticationv1beta1 "k8s.io/api/authentication/v1beta1"
	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	batchv1beta1 "k8s.io/api/batch/v1beta1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1alpha1 "k8s.io/api/certificates/v1alpha1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1alpha2 "k8s.io/api/coordination/v1alpha2"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"
	eventsv1 "k8s.io/api/events/v1"
	eventsv1beta1 "k8s.io/api/events/v1beta1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta1 "k8s.io/api/flowcontrol/v1beta1"
	flowcontrolv1beta2 "k8s.io/api/flowcontrol/v1beta2"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	nodev1 "k8s.io/api/node/v1"
	nodev1alpha1 "k8s.io/api/node/v1alpha1"
	nodev1beta1 "k8s.io/api/node/v1beta1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	storagev1alpha1 "k8s.io/api/storage/v1alpha1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// subjects are the types of k8s.io/api that have metadata. TestSubjects holds them to be all.
var subjects = []subject{
	subjectOf[*admissionregistrationv1.MutatingAdmissionPolicyBinding](schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicyBinding"}),
	subjectOf[*admissionregistrationv1.MutatingAdmissionPolicy](schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicy"}),
	subjectOf[*admissionregistrationv1.MutatingWebhookConfiguration](schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"}),
	subjectOf[*admissionregistrationv1.ValidatingAdmissionPolicyBinding](schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyBinding"}),
	subjectOf[*admissionregistrationv1.ValidatingAdmissionPolicy](schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"}),
	subjectOf[*admissionregistrationv1.ValidatingWebhookConfiguration](schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"}),
	subjectOf[*admissionregistrationv1alpha1.MutatingAdmissionPolicyBinding](schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1alpha1", Kind: "MutatingAdmissionPolicyBinding"}),
	subjectOf[*admissionregistrationv1alpha1.MutatingAdmissionPolicy](schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1alpha1", Kind: "MutatingAdmissionPolicy"}),
	subjectOf[*admissionregistrationv1alpha1.ValidatingAdmissionPolicyBinding](schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1alpha1", Kind: "ValidatingAdmissionPolicyBinding"}),
	subjectOf[*admissionregistrationv1alpha1.ValidatingAdmissionPolicy](schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1alpha1", Kind: "ValidatingAdmissionPolicy"}),
	subjectOf[*admissionregistrationv1beta1.MutatingAdmissionPolicyBinding](schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1beta1", Kind: "MutatingAdmissionPolicyBinding"}),
	subjectOf[*admissionregistrationv1beta1.MutatingAdmissionPolicy](schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1beta1", Kind: "MutatingAdmissionPolicy"}),
	subjectOf[*admissionregistrationv1beta1.MutatingWebhookConfiguration](schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1beta1", Kind: "MutatingWebhookConfiguration"}),
	subjectOf[*admissionregistrationv1beta1.ValidatingAdmissionPolicyBinding](schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1beta1", Kind: "ValidatingAdmissionPolicyBinding"}),
	subjectOf[*admissionregistrationv1beta1.ValidatingAdmissionPolicy](schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1beta1", Kind: "ValidatingAdmissionPolicy"}),
	subjectOf[*admissionregistrationv1beta1.ValidatingWebhookConfiguration](schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1beta1", Kind: "ValidatingWebhookConfiguration"}),
	subjectOf[*apiserverinternalv1alpha1.StorageVersion](schema.GroupVersionKind{Group: "internal.apiserver.k8s.io", Version: "v1alpha1", Kind: "StorageVersion"}),
	subjectOf[*appsv1.ControllerRevision](schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"}),
	subjectOf[*appsv1.DaemonSet](schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}),
	subjectOf[*appsv1.Deployment](schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}),
	subjectOf[*appsv1.ReplicaSet](schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}),
	subjectOf[*appsv1.StatefulSet](schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}),
	subjectOf[*appsv1beta1.ControllerRevision](schema.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "ControllerRevision"}),
	subjectOf[*appsv1beta1.Deployment](schema.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "Deployment"}),
	subjectOf[*appsv1beta1.Scale](schema.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "Scale"}),
	subjectOf[*appsv1beta1.StatefulSet](schema.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "StatefulSet"}),
	subjectOf[*appsv1beta2.ControllerRevision](schema.GroupVersionKind{Group: "apps", Version: "v1beta2", Kind: "ControllerRevision"}),
	subjectOf[*appsv1beta2.DaemonSet](schema.GroupVersionKind{Group: "apps", Version: "v1beta2", Kind: "DaemonSet"}),
	subjectOf[*appsv1beta2.Deployment](schema.GroupVersionKind{Group: "apps", Version: "v1beta2", Kind: "Deployment"}),
	subjectOf[*appsv1beta2.ReplicaSet](schema.GroupVersionKind{Group: "apps", Version: "v1beta2", Kind: "ReplicaSet"}),
	subjectOf[*appsv1beta2.Scale](schema.GroupVersionKind{Group: "apps", Version: "v1beta2", Kind: "Scale"}),
	subjectOf[*appsv1beta2.StatefulSet](schema.GroupVersionKind{Group: "apps", Version: "v1beta2", Kind: "StatefulSet"}),
	subjectOf[*authenticationv1.SelfSubjectReview](schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "SelfSubjectReview"}),
	subjectOf[*authenticationv1.TokenRequest](schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"}),
	subjectOf[*authenticationv1.TokenReview](schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenReview"}),
	subjectOf[*authenticationv1alpha1.SelfSubjectReview](schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1alpha1", Kind: "SelfSubjectReview"}),
	subjectOf[*authenticationv1beta1.SelfSubjectReview](schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1beta1", Kind: "SelfSubjectReview"}),
	subjectOf[*authenticationv1beta1.TokenReview](schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1beta1", Kind: "TokenReview"}),
	subjectOf[*authorizationv1.LocalSubjectAccessReview](schema.GroupVersionKind{Group: "authorization.k8s.io", Version: "v1", Kind: "LocalSubjectAccessReview"}),
	subjectOf[*authorizationv1.SelfSubjectAccessReview](schema.GroupVersionKind{Group: "authorization.k8s.io", Version: "v1", Kind: "SelfSubjectAccessReview"}),
	subjectOf[*authorizationv1.SelfSubjectRulesReview](schema.GroupVersionKind{Group: "authorization.k8s.io", Version: "v1", Kind: "SelfSubjectRulesReview"}),
	subjectOf[*authorizationv1.SubjectAccessReview](schema.GroupVersionKind{Group: "authorization.k8s.io", Version: "v1", Kind: "SubjectAccessReview"}),
	subjectOf[*authorizationv1beta1.LocalSubjectAccessReview](schema.GroupVersionKind{Group: "authorization.k8s.io", Version: "v1beta1", Kind: "LocalSubjectAccessReview"}),
	subjectOf[*authorizationv1beta1.SelfSubjectAccessReview](schema.GroupVersionKind{Group: "authorization.k8s.io", Version: "v1beta1", Kind: "SelfSubjectAccessReview"}),
	subjectOf[*authorizationv1beta1.SelfSubjectRulesReview](schema.GroupVersionKind{Group: "authorization.k8s.io", Version: "v1beta1", Kind: "SelfSubjectRulesReview"}),
	subjectOf[*authorizationv1beta1.SubjectAccessReview](schema.GroupVersionKind{Group: "authorization.k8s.io", Version: "v1beta1", Kind: "SubjectAccessReview"}),
	subjectOf[*autoscalingv1.HorizontalPodAutoscaler](schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"}),
	subjectOf[*autoscalingv1.Scale](schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}),
	subjectOf[*autoscalingv2.HorizontalPodAutoscaler](schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}),
	subjectOf[*batchv1.CronJob](schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}),
	subjectOf[*batchv1.Job](schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}),
	subjectOf[*batchv1beta1.CronJob](schema.GroupVersionKind{Group: "batch", Version: "v1beta1", Kind: "CronJob"}),
	subjectOf[*certificatesv1.CertificateSigningRequest](schema.GroupVersionKind{Group: "certificates.k8s.io", Version: "v1", Kind: "CertificateSigningRequest"}),
	subjectOf[*certificatesv1.ClusterTrustBundle](schema.GroupVersionKind{Group: "certificates.k8s.io", Version: "v1", Kind: "ClusterTrustBundle"}),
	subjectOf[*certificatesv1.PodCertificateRequest](schema.GroupVersionKind{Group: "certificates.k8s.io", Version: "v1", Kind: "PodCertificateRequest"}),
	subjectOf[*certificatesv1alpha1.ClusterTrustBundle](schema.GroupVersionKind{Group: "certificates.k8s.io", Version: "v1alpha1", Kind: "ClusterTrustBundle"}),
	subjectOf[*certificatesv1beta1.CertificateSigningRequest](schema.GroupVersionKind{Group: "certificates.k8s.io", Version: "v1beta1", Kind: "CertificateSigningRequest"}),
	subjectOf[*certificatesv1beta1.ClusterTrustBundle](schema.GroupVersionKind{Group: "certificates.k8s.io", Version: "v1beta1", Kind: "ClusterTrustBundle"}),
	subjectOf[*certificatesv1beta1.PodCertificateRequest](schema.GroupVersionKind{Group: "certificates.k8s.io", Version: "v1beta1", Kind: "PodCertificateRequest"}),
	subjectOf[*coordinationv1.Lease](schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}),
	subjectOf[*coordinationv1alpha2.LeaseCandidate](schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1alpha2", Kind: "LeaseCandidate"}),
	subjectOf[*coordinationv1beta1.LeaseCandidate](schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1beta1", Kind: "LeaseCandidate"}),
	subjectOf[*coordinationv1beta1.Lease](schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1beta1", Kind: "Lease"}),
	subjectOf[*corev1.Binding](schema.GroupVersionKind{Group: "", Version: "v1", Kind: "Binding"}),
	subjectOf[*corev1.ComponentStatus](schema.GroupVersionKind{Group: "", Version: "v1", Kind: "ComponentStatus"}),
	subjectOf[*corev1.ConfigMap](schema.GroupVersionKind{Group: "", Version: "v1", Kind: "ConfigMap"}),
	//lint:ignore SA1019 every type is compared, also what is deprecated
	subjectOf[*corev1.Endpoints](schema.GroupVersionKind{Group: "", Version: "v1", Kind: "Endpoints"}),
	subjectOf[*corev1.Event](schema.GroupVersionKind{Group: "", Version: "v1", Kind: "Event"}),
	subjectOf[*corev1.LimitRange](schema.GroupVersionKind{Group: "", Version: "v1", Kind: "LimitRange"}),
	subjectOf[*corev1.Namespace](schema.GroupVersionKind{Group: "", Version: "v1", Kind: "Namespace"}),
	subjectOf[*corev1.Node](schema.GroupVersionKind{Group: "", Version: "v1", Kind: "Node"}),
	subjectOf[*corev1.PersistentVolumeClaim](schema.GroupVersionKind{Group: "", Version: "v1", Kind: "PersistentVolumeClaim"}),
	subjectOf[*corev1.PersistentVolume](schema.GroupVersionKind{Group: "", Version: "v1", Kind: "PersistentVolume"}),
	subjectOf[*corev1.PodTemplate](schema.GroupVersionKind{Group: "", Version: "v1", Kind: "PodTemplate"}),
	subjectOf[*corev1.Pod](schema.GroupVersionKind{Group: "", Version: "v1", Kind: "Pod"}),
	subjectOf[*corev1.RangeAllocation](schema.GroupVersionKind{Group: "", Version: "v1", Kind: "RangeAllocation"}),
	subjectOf[*corev1.ReplicationController](schema.GroupVersionKind{Group: "", Version: "v1", Kind: "ReplicationController"}),
	subjectOf[*corev1.ResourceQuota](schema.GroupVersionKind{Group: "", Version: "v1", Kind: "ResourceQuota"}),
	subjectOf[*corev1.Secret](schema.GroupVersionKind{Group: "", Version: "v1", Kind: "Secret"}),
	subjectOf[*corev1.ServiceAccount](schema.GroupVersionKind{Group: "", Version: "v1", Kind: "ServiceAccount"}),
	subjectOf[*corev1.Service](schema.GroupVersionKind{Group: "", Version: "v1", Kind: "Service"}),
	subjectOf[*discoveryv1.EndpointSlice](schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}),
	subjectOf[*discoveryv1beta1.EndpointSlice](schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1beta1", Kind: "EndpointSlice"}),
	subjectOf[*eventsv1.Event](schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"}),
	subjectOf[*eventsv1beta1.Event](schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1beta1", Kind: "Event"}),
	subjectOf[*extensionsv1beta1.DaemonSet](schema.GroupVersionKind{Group: "extensions", Version: "v1beta1", Kind: "DaemonSet"}),
	subjectOf[*extensionsv1beta1.Deployment](schema.GroupVersionKind{Group: "extensions", Version: "v1beta1", Kind: "Deployment"}),
	subjectOf[*extensionsv1beta1.Ingress](schema.GroupVersionKind{Group: "extensions", Version: "v1beta1", Kind: "Ingress"}),
	subjectOf[*extensionsv1beta1.NetworkPolicy](schema.GroupVersionKind{Group: "extensions", Version: "v1beta1", Kind: "NetworkPolicy"}),
	subjectOf[*extensionsv1beta1.ReplicaSet](schema.GroupVersionKind{Group: "extensions", Version: "v1beta1", Kind: "ReplicaSet"}),
	subjectOf[*extensionsv1beta1.Scale](schema.GroupVersionKind{Group: "extensions", Version: "v1beta1", Kind: "Scale"}),
	subjectOf[*flowcontrolv1.FlowSchema](schema.GroupVersionKind{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Kind: "FlowSchema"}),
	subjectOf[*flowcontrolv1.PriorityLevelConfiguration](schema.GroupVersionKind{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Kind: "PriorityLevelConfiguration"}),
	subjectOf[*flowcontrolv1beta1.FlowSchema](schema.GroupVersionKind{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta1", Kind: "FlowSchema"}),
	subjectOf[*flowcontrolv1beta1.PriorityLevelConfiguration](schema.GroupVersionKind{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta1", Kind: "PriorityLevelConfiguration"}),
	subjectOf[*flowcontrolv1beta2.FlowSchema](schema.GroupVersionKind{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta2", Kind: "FlowSchema"}),
	subjectOf[*flowcontrolv1beta2.PriorityLevelConfiguration](schema.GroupVersionKind{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta2", Kind: "PriorityLevelConfiguration"}),
	subjectOf[*flowcontrolv1beta3.FlowSchema](schema.GroupVersionKind{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta3", Kind: "FlowSchema"}),
	subjectOf[*flowcontrolv1beta3.PriorityLevelConfiguration](schema.GroupVersionKind{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta3", Kind: "PriorityLevelConfiguration"}),
	subjectOf[*lifecyclev1alpha1.EvictionRequest](schema.GroupVersionKind{Group: "lifecycle.k8s.io", Version: "v1alpha1", Kind: "EvictionRequest"}),
	subjectOf[*lifecyclev1alpha1.Eviction](schema.GroupVersionKind{Group: "lifecycle.k8s.io", Version: "v1alpha1", Kind: "Eviction"}),
	subjectOf[*networkingv1.IPAddress](schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "IPAddress"}),
	subjectOf[*networkingv1.IngressClass](schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "IngressClass"}),
	subjectOf[*networkingv1.Ingress](schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}),
	subjectOf[*networkingv1.NetworkPolicy](schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}),
	subjectOf[*networkingv1.ServiceCIDR](schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "ServiceCIDR"}),
	subjectOf[*networkingv1beta1.IPAddress](schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1beta1", Kind: "IPAddress"}),
	subjectOf[*networkingv1beta1.IngressClass](schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1beta1", Kind: "IngressClass"}),
	subjectOf[*networkingv1beta1.Ingress](schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1beta1", Kind: "Ingress"}),
	subjectOf[*networkingv1beta1.ServiceCIDR](schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1beta1", Kind: "ServiceCIDR"}),
	subjectOf[*nodev1.RuntimeClass](schema.GroupVersionKind{Group: "node.k8s.io", Version: "v1", Kind: "RuntimeClass"}),
	subjectOf[*nodev1alpha1.RuntimeClass](schema.GroupVersionKind{Group: "node.k8s.io", Version: "v1alpha1", Kind: "RuntimeClass"}),
	subjectOf[*nodev1beta1.RuntimeClass](schema.GroupVersionKind{Group: "node.k8s.io", Version: "v1beta1", Kind: "RuntimeClass"}),
	subjectOf[*policyv1.Eviction](schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}),
	subjectOf[*policyv1.PodDisruptionBudget](schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}),
	subjectOf[*policyv1beta1.Eviction](schema.GroupVersionKind{Group: "policy", Version: "v1beta1", Kind: "Eviction"}),
	subjectOf[*policyv1beta1.PodDisruptionBudget](schema.GroupVersionKind{Group: "policy", Version: "v1beta1", Kind: "PodDisruptionBudget"}),
	subjectOf[*rbacv1.ClusterRoleBinding](schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"}),
	subjectOf[*rbacv1.ClusterRole](schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}),
	subjectOf[*rbacv1.RoleBinding](schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"}),
	subjectOf[*rbacv1.Role](schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}),
	subjectOf[*rbacv1alpha1.ClusterRoleBinding](schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1alpha1", Kind: "ClusterRoleBinding"}),
	subjectOf[*rbacv1alpha1.ClusterRole](schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1alpha1", Kind: "ClusterRole"}),
	subjectOf[*rbacv1alpha1.RoleBinding](schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1alpha1", Kind: "RoleBinding"}),
	subjectOf[*rbacv1alpha1.Role](schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1alpha1", Kind: "Role"}),
	subjectOf[*rbacv1beta1.ClusterRoleBinding](schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1beta1", Kind: "ClusterRoleBinding"}),
	subjectOf[*rbacv1beta1.ClusterRole](schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1beta1", Kind: "ClusterRole"}),
	subjectOf[*rbacv1beta1.RoleBinding](schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1beta1", Kind: "RoleBinding"}),
	subjectOf[*rbacv1beta1.Role](schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1beta1", Kind: "Role"}),
	subjectOf[*resourcev1.DeviceClass](schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: "DeviceClass"}),
	subjectOf[*resourcev1.DeviceTaintRule](schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: "DeviceTaintRule"}),
	subjectOf[*resourcev1.ResourceClaimTemplate](schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaimTemplate"}),
	subjectOf[*resourcev1.ResourceClaim](schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaim"}),
	subjectOf[*resourcev1.ResourceSlice](schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceSlice"}),
	subjectOf[*resourcev1alpha3.DeviceTaintRule](schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1alpha3", Kind: "DeviceTaintRule"}),
	subjectOf[*resourcev1alpha3.ResourcePoolStatusRequest](schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1alpha3", Kind: "ResourcePoolStatusRequest"}),
	subjectOf[*resourcev1beta1.DeviceClass](schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1beta1", Kind: "DeviceClass"}),
	subjectOf[*resourcev1beta1.ResourceClaimTemplate](schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1beta1", Kind: "ResourceClaimTemplate"}),
	subjectOf[*resourcev1beta1.ResourceClaim](schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1beta1", Kind: "ResourceClaim"}),
	subjectOf[*resourcev1beta1.ResourceSlice](schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1beta1", Kind: "ResourceSlice"}),
	subjectOf[*resourcev1beta2.DeviceClass](schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1beta2", Kind: "DeviceClass"}),
	subjectOf[*resourcev1beta2.DeviceTaintRule](schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1beta2", Kind: "DeviceTaintRule"}),
	subjectOf[*resourcev1beta2.ResourceClaimTemplate](schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1beta2", Kind: "ResourceClaimTemplate"}),
	subjectOf[*resourcev1beta2.ResourceClaim](schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1beta2", Kind: "ResourceClaim"}),
	subjectOf[*resourcev1beta2.ResourceSlice](schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1beta2", Kind: "ResourceSlice"}),
	subjectOf[*schedulingv1.PriorityClass](schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}),
	subjectOf[*schedulingv1alpha3.CompositePodGroup](schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1alpha3", Kind: "CompositePodGroup"}),
	subjectOf[*schedulingv1alpha3.PodGroup](schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1alpha3", Kind: "PodGroup"}),
	subjectOf[*schedulingv1alpha3.Workload](schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1alpha3", Kind: "Workload"}),
	subjectOf[*schedulingv1beta1.PodGroup](schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1beta1", Kind: "PodGroup"}),
	subjectOf[*schedulingv1beta1.PriorityClass](schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1beta1", Kind: "PriorityClass"}),
	subjectOf[*schedulingv1beta1.Workload](schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1beta1", Kind: "Workload"}),
	subjectOf[*storagemigrationv1.StorageVersionMigration](schema.GroupVersionKind{Group: "storagemigration.k8s.io", Version: "v1", Kind: "StorageVersionMigration"}),
	subjectOf[*storagemigrationv1beta1.StorageVersionMigration](schema.GroupVersionKind{Group: "storagemigration.k8s.io", Version: "v1beta1", Kind: "StorageVersionMigration"}),
	subjectOf[*storagev1.CSIDriver](schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "CSIDriver"}),
	subjectOf[*storagev1.CSINode](schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "CSINode"}),
	subjectOf[*storagev1.CSIStorageCapacity](schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "CSIStorageCapacity"}),
	subjectOf[*storagev1.StorageClass](schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}),
	subjectOf[*storagev1.VolumeAttachment](schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "VolumeAttachment"}),
	subjectOf[*storagev1.VolumeAttributesClass](schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "VolumeAttributesClass"}),
	subjectOf[*storagev1alpha1.CSIStorageCapacity](schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1alpha1", Kind: "CSIStorageCapacity"}),
	subjectOf[*storagev1alpha1.VolumeAttachment](schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1alpha1", Kind: "VolumeAttachment"}),
	subjectOf[*storagev1alpha1.VolumeAttributesClass](schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1alpha1", Kind: "VolumeAttributesClass"}),
	subjectOf[*storagev1beta1.CSIDriver](schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1beta1", Kind: "CSIDriver"}),
	subjectOf[*storagev1beta1.CSINode](schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1beta1", Kind: "CSINode"}),
	subjectOf[*storagev1beta1.CSIStorageCapacity](schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1beta1", Kind: "CSIStorageCapacity"}),
	subjectOf[*storagev1beta1.StorageClass](schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1beta1", Kind: "StorageClass"}),
	subjectOf[*storagev1beta1.VolumeAttachment](schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1beta1", Kind: "VolumeAttachment"}),
	subjectOf[*storagev1beta1.VolumeAttributesClass](schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1beta1", Kind: "VolumeAttributesClass"}),
}
