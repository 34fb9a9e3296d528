// SPDX-License-Identifier: Apache-2.0

// Package rest reads one collection of a Kubernetes API over net/http, without
// client-go: a Client is an informer.ListerWatcher and an informer.StreamLister.
//
//	config, err := rest.InClusterConfig() // or rest.LoadKubeconfig
//	...
//	pods, err := rest.New[*corev1.Pod](config, rest.Resource{Version: "v1", Resource: "pods"})
//	...
//	inf := informer.New(pods, informer.Options[*corev1.Pod]{})
//
// The type parameter decides how objects are read: *unstructured.Unstructured as maps,
// *metav1.PartialObjectMetadata as metadata alone, for which the server is asked to leave
// out the rest, and a pointer to a struct with metav1.TypeMeta and metav1.ObjectMeta as
// that struct.
//
// # Servers
//
// A Config says how to reach a server. In a pod it is InClusterConfig; elsewhere
// LoadKubeconfig reads it where kubectl does. Tokens and certificates may rotate: what is
// in files is read again, and what a credential plugin hands out is renewed when it
// expires, or is refused with 401. Nothing that proves who asks is sent to another host
// than that of BaseURL, wherever it redirects to, save by a transport of
// Config.HTTPClient that does so itself.
//
// Discover asks a server what it serves, and finds a resource by a name that a person
// writes, by a kind, or by a Go type:
//
//	served, err := rest.Discover(ctx, config)
//	...
//	deployments, err := served.Find("deploy")
//	...
//	client, err := rest.New[*appsv1.Deployment](config, deployments.In("default"))
//
// # Encodings
//
// Config.Encoding asks for JSON, Protobuf or CBOR. Protobuf is for types that have a
// method Unmarshal, as those of k8s.io/api do; others are asked for in JSON. What came is
// read as what its content type says, and a server that refuses an encoding is asked for
// JSON from then on. A program that names neither Protobuf nor CBOR is linked without what
// reads them, and without the Unmarshal of all types of an API.
//
// # Memory
//
// Lists are decoded item by item from the body. What is held at any moment beside the
// objects handed over is one item's bytes, at most Config.MaxItemSize, in a buffer that
// grows to at most three times that, and a quarter of a megabyte of items for each of up
// to 8 goroutines that decode them while the next ones are read. The events of a watch are
// decoded by such goroutines where several have come at once; they end with the burst, and
// a single event is decoded where it is read. Compressed bodies are decompressed as they
// are read, and what they become is limited too, by Config.MaxListSize. Strings that
// repeat, in JSON and Protobuf, and slices of exact length keep the objects small.
//
// # Equality with apimachinery
//
// A typed object is what apimachinery's JSON decoder makes of the same bytes: names match
// with their case, unknown ones are ignored, of repeated ones the last counts, null leaves
// the zero value, and integers in fields of type any are int64. Unstructured objects hold
// int64 and float64 as apimachinery's do. Typed objects have an empty TypeMeta, from lists
// and watches alike, as client-go's typed clients hand out; objects of metadata alone
// always have the kind PartialObjectMetadata.
//
// Protobuf of types in packages below k8s.io/ is read by their struct tags, and by their
// Unmarshal where a message has something in it that no encoder writes; the result is the
// same. Messages that are nested more than 10,000 deep are refused, and so are those with more
// than 8 entries of maps that end before their values do, and CBOR with more than 32 tags, or
// arrays without a length, in each other.
//
// A quantity whose exponent is beyond ±999, or that is longer than 1,024 bytes, is refused in
// every encoding: apimachinery reads 1e-2000000000 for hours. Its object is one that cannot be
// decoded. A type with an UnmarshalJSON or Unmarshal of its own is taken to read what its tags
// tell of; what else it does is its own affair.
//
// # Errors
//
// Errors name the operation and the URL without its query, never a token and never the
// content of an object. Config.ListTimeout ends a list that waits too long for the server;
// a watch ends when the server says or the connection is dead. What the server refused is
// an *apierrors.StatusError, whatever came as its body. The sentinels of this package say
// what was wrong with an answer that was not refused.
package rest
