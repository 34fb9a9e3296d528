// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/rest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A kubeconfig and the name of a resource are enough for a client.
func ExampleLoadKubeconfig() {
	answers := map[string]string{
		"/api":    `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis":   `{"kind":"APIGroupList","groups":[]}`,
		"/api/v1": `{"kind":"APIResourceList","resources":[{"name":"configmaps","namespaced":true,"kind":"ConfigMap","shortNames":["cm"],"verbs":["list","watch"]}]}`,
		"/api/v1/namespaces/web/configmaps": `{"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"7"},"items":[
			{"metadata":{"name":"settings","namespace":"web","resourceVersion":"3"}}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answers[req.URL.Path])
	}))
	defer server.Close()
	dir, err := os.MkdirTemp("", "kubeconfig")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "config")
	kubeconfig := `
current-context: production
contexts:
- {name: production, context: {cluster: here, user: me, namespace: web}}
clusters:
- {name: here, cluster: {server: "` + server.URL + `"}}
users:
- {name: me, user: {token: secret}}
`
	if err := os.WriteFile(path, []byte(kubeconfig), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	list, err := listByName(context.Background(), path, "cm")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range list {
		fmt.Println(name)
	}
	// Output:
	// settings
}

// listByName lists what a person names in a kubeconfig's current context.
func listByName(ctx context.Context, kubeconfig, name string) (names []string, err error) {
	config, namespace, err := rest.LoadKubeconfig(rest.KubeconfigOptions{Path: kubeconfig})
	if err != nil {
		return nil, err
	}
	served, err := rest.Discover(ctx, config)
	if err != nil {
		return nil, err
	}
	resource, err := served.Find(name)
	if err != nil {
		return nil, err
	}
	client, err := rest.New[*metav1.PartialObjectMetadata](config, resource.In(namespace))
	if err != nil {
		return nil, err
	}
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, item := range list.(*informer.ObjectList[*metav1.PartialObjectMetadata]).Items {
		names = append(names, item.Name)
	}
	return names, nil
}
