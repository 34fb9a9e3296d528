// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	finalizer = "example.com/pages"
	byOwner   = "owner" // an index of config maps by the UID of the site that owns them
	textKey   = "text"
)

// ownerOf is the index function.
func ownerOf(obj client.Object) []string {
	owner := metav1.GetControllerOf(obj)
	if owner == nil || owner.Kind != "Site" {
		return nil
	}
	return []string{string(owner.UID)}
}

// reconciler brings the config maps of a site to what the site says.
type reconciler struct {
	client client.Client // reads from the cache
	scheme *runtime.Scheme
}

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	site := &Site{}
	if err := r.client.Get(ctx, request.NamespacedName, site); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	pages := &corev1.ConfigMapList{}
	err := r.client.List(ctx, pages, client.InNamespace(site.Namespace), client.MatchingFields{byOwner: string(site.UID)})
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("pages of %s: %w", request, err)
	}
	if site.DeletionTimestamp != nil {
		return reconcile.Result{}, r.clearAway(ctx, site, pages.Items)
	}
	if controllerutil.AddFinalizer(site, finalizer) {
		return reconcile.Result{}, r.client.Update(ctx, site) // whose event comes back here
	}
	if err := r.publish(ctx, site, pages.Items); err != nil {
		return reconcile.Result{}, err
	}
	status := SiteStatus{Pages: len(site.Spec.Pages), ObservedGeneration: site.Generation}
	if site.Status == status {
		return reconcile.Result{}, nil
	}
	site.Status = status
	return reconcile.Result{}, r.client.Status().Update(ctx, site)
}

// publish creates, updates and deletes config maps.
func (r *reconciler) publish(ctx context.Context, site *Site, there []corev1.ConfigMap) error {
	known := map[string]*corev1.ConfigMap{}
	for i := range there {
		known[there[i].Name] = &there[i]
	}
	for name, text := range site.Spec.Pages {
		name = site.Name + "-" + name
		page := known[name]
		delete(known, name)
		if err := r.publishPage(ctx, site, page, wanted{name, text}); err != nil {
			return err
		}
	}
	for _, page := range known {
		if err := client.IgnoreNotFound(r.client.Delete(ctx, page)); err != nil {
			return err
		}
	}
	return nil
}

// wanted is a page as it is to be.
type wanted struct{ name, text string }

// publishPage creates a page, or updates the one that is there.
func (r *reconciler) publishPage(ctx context.Context, site *Site, page *corev1.ConfigMap, want wanted) error {
	switch {
	case page == nil:
		page = &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: want.name},
			Data:       map[string]string{textKey: want.text},
		}
		if err := controllerutil.SetControllerReference(site, page, r.scheme); err != nil {
			return err
		}
		return client.IgnoreAlreadyExists(r.client.Create(ctx, page)) // the cache will have it soon
	case page.Data[textKey] != want.text:
		page.Data = map[string]string{textKey: want.text}
		return r.client.Update(ctx, page)
	}
	return nil
}

// clearAway deletes what the site owns, and then lets it go.
func (r *reconciler) clearAway(ctx context.Context, site *Site, pages []corev1.ConfigMap) error {
	for i := range pages {
		if err := client.IgnoreNotFound(r.client.Delete(ctx, &pages[i])); err != nil {
			return err
		}
	}
	if !controllerutil.RemoveFinalizer(site, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(r.client.Update(ctx, site))
}
