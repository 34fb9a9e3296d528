// SPDX-License-Identifier: Apache-2.0

// Command operator is an operator on controller-runtime whose caches are this library's: the one
// line that says so is in newManager. Without it, the same program runs on client-go's informers.
//
// A Site has pages. The operator keeps a config map for each, which the site owns; finds them by
// an index; writes down how many there are in the status; and clears them away, held by a
// finalizer, when the site is deleted.
//
//	operator -server https://127.0.0.1:6443 -token-file token -ca-file ca.crt
//
// The server has to have the CRD of site.go, SiteCRD.
package main
