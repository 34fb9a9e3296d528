// SPDX-License-Identifier: Apache-2.0

// Package decode compares what the rest package of this project makes of an answer with
// what apimachinery's decoders make of it, for every type of k8s.io/api. It needs no server.
package decode
