// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/rest"

	restclient "k8s.io/client-go/rest"
)

// RESTConfig makes a configuration for package rest of one of client-go, with its transport:
// certificates, tokens and their renewal, exec plugins and auth providers, impersonation,
// proxies, dialers and wrappers. Clients that are made of it share connections.
//
// QPS, Burst and RateLimiter are not used: there is one request at a time, and one backoff.
// Content types are those of package rest. A Timeout cuts watches too, as in client-go; a watch
// that was cut is resumed.
//
// Errors: what client-go says of a configuration that cannot be.
func RESTConfig(config *restclient.Config) (rest.Config, error) {
	if config == nil {
		return rest.Config{}, fmt.Errorf("configuration of client-go: nil")
	}
	client, err := restclient.HTTPClientFor(config)
	if err != nil {
		return rest.Config{}, fmt.Errorf("configuration of client-go: %w", err)
	}
	return restConfig(config, client)
}

func restConfig(config *restclient.Config, client *http.Client) (rest.Config, error) {
	base, _, err := restclient.DefaultServerUrlFor(config)
	if err != nil {
		return rest.Config{}, fmt.Errorf("configuration of client-go: %w", err)
	}
	return rest.Config{
		BaseURL:            base.String(),
		HTTPClient:         client,
		UserAgent:          cmp.Or(config.UserAgent, restclient.DefaultKubernetesUserAgent()),
		DisableCompression: config.DisableCompression,
	}, nil
}

// NewForConfig returns a client of package rest, which decodes lists item by item, for a
// configuration of client-go.
//
// Errors: those of RESTConfig and rest.New.
func NewForConfig[T informer.Object](config *restclient.Config, resource rest.Resource) (*rest.Client[T], error) {
	own, err := RESTConfig(config)
	if err != nil {
		return nil, err
	}
	return rest.New[T](own, resource)
}
