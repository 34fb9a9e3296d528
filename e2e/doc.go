// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the library against a real kube-apiserver and a real etcd, which its tests
// build from Go modules (once, into a cache folder), start on loopback and stop.
//
// It is a module of its own, so that client-go and k8s.io/api never reach an importer of the
// library. Run "go run ./cmd/kubebuild" first where the build could take longer than the time limit
// of go test, which is ten minutes.
package e2e
