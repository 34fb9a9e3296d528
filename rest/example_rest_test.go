// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/informerkit/informer/rest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// A list is handed over object by object, and a watch goes on where it ends.
func ExampleClient() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if req.URL.Query().Get("watch") == "true" {
			_, _ = io.WriteString(w, `{"type":"MODIFIED","object":{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"b","resourceVersion":"8"}}}`)
			return
		}
		_, _ = io.WriteString(w, `{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"7"},"items":[
			{"metadata":{"name":"a","resourceVersion":"3"}},
			{"metadata":{"name":"b","resourceVersion":"5"}}]}`)
	}))
	defer server.Close()

	ctx := context.Background()
	widgets, err := rest.New[*unstructured.Unstructured](rest.Config{BaseURL: server.URL},
		rest.Resource{Group: "example.com", Version: "v1", Resource: "widgets"})
	if err != nil {
		fmt.Println(err)
		return
	}
	list, err := widgets.ListStream(ctx, metav1.ListOptions{}, nil, func(obj runtime.Object) error {
		widget := obj.(*unstructured.Unstructured)
		fmt.Println(widget.GetKind(), widget.GetName(), widget.GetResourceVersion())
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("list at", list.ResourceVersion)

	stream, err := widgets.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		fmt.Println(event.Type, event.Object.(*unstructured.Unstructured).GetName())
	}
	// Output:
	// Widget a 3
	// Widget b 5
	// list at 7
	// MODIFIED b
}
