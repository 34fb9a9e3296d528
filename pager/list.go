// SPDX-License-Identifier: Apache-2.0

package pager

import (
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// inspect returns the metadata of a page, or says why it is none.
func inspect(page runtime.Object) (metav1.ListMeta, error) {
	if isNil(page) {
		return metav1.ListMeta{}, fmt.Errorf("%w: nil", ErrNotList)
	}
	if err := statusError(page); err != nil {
		return metav1.ListMeta{}, err
	}
	list, err := meta.ListAccessor(page)
	if err != nil || !meta.IsListType(page) {
		return metav1.ListMeta{}, fmt.Errorf("%w: %s", ErrNotList, typeOf(page))
	}
	info := metav1.ListMeta{
		ResourceVersion:    list.GetResourceVersion(),
		Continue:           list.GetContinue(),
		RemainingItemCount: list.GetRemainingItemCount(),
		ShardInfo:          shardInfo(page, list),
	}
	return info, nil
}

// isNil reports whether obj is nil, or a nil pointer to an object.
func isNil(obj runtime.Object) bool {
	if obj == nil {
		return true
	}
	v := reflect.ValueOf(obj)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// statusError returns the failure that a Status in place of a page describes; nil if page is something else.
func statusError(page runtime.Object) error {
	kind := page.GetObjectKind().GroupVersionKind()
	if _, ok := page.(*metav1.Status); !ok && (kind.Kind != "Status" || kind.Group != "" || kind.Version != "v1") {
		return nil
	}
	if status, ok := apierrors.FromObject(page).(*apierrors.StatusError); ok && status.ErrStatus.Status == metav1.StatusFailure {
		return status
	}
	return nil
}

// typeOf names the type of an object, and its kind where the object says it. No content.
func typeOf(obj runtime.Object) string {
	if kind := obj.GetObjectKind().GroupVersionKind(); kind.Kind != "" {
		return fmt.Sprintf("%T (%s)", obj, kind.Kind)
	}
	return fmt.Sprintf("%T", obj)
}

// shardInfo returns the server's echo of a shard selector; nil if there is none.
func shardInfo(page runtime.Object, list meta.List) *metav1.ShardInfo {
	if sharded, ok := list.(metav1.ShardedListInterface); ok {
		return sharded.GetShardInfo()
	}
	if sharded, ok := page.(metav1.ShardedListInterface); ok {
		return sharded.GetShardInfo()
	}
	content, ok := page.(*unstructured.UnstructuredList)
	if !ok {
		return nil
	}
	selector, ok, err := unstructured.NestedString(content.Object, "metadata", "shardInfo", "selector")
	if !ok || err != nil {
		return nil
	}
	return &metav1.ShardInfo{Selector: selector}
}

// appendItems moves the items of page to the end of whole.
func appendItems(whole, page runtime.Object) error {
	if reflect.TypeOf(whole) != reflect.TypeOf(page) {
		return fmt.Errorf("%w of the type of page one: %s, not %s", ErrNotList, typeOf(page), typeOf(whole))
	}
	to, err := items(whole)
	if err != nil {
		return err
	}
	from, err := items(page)
	if err != nil {
		return err
	}
	to.Set(reflect.AppendSlice(to, from))
	return nil
}

// items returns the field Items of a list, which can be set.
func items(list runtime.Object) (reflect.Value, error) {
	pointer, err := meta.GetItemsPtr(list)
	if err != nil {
		return reflect.Value{}, fmt.Errorf("%w with a field Items: %s", ErrNotList, typeOf(list))
	}
	return conversion.EnforcePtr(pointer)
}

// eachItem calls handle with each item of a page, copied shallowly if it is part of the page's memory.
//
// An error of handle is returned as it is. Errors of apimachinery are not: they would print the item.
func eachItem(r result, handle func(obj runtime.Object) error) error {
	var stopped error
	number := 0
	err := meta.EachListItemWithAlloc(r.object, func(obj runtime.Object) error {
		if isNil(obj) {
			return ErrNotList
		}
		number++
		stopped = handle(obj)
		return stopped
	})
	if err == nil || stopped != nil {
		return stopped
	}
	return pageError(r.page, fmt.Errorf("%w of objects: item %d of %s", ErrNotList, number, typeOf(r.object)))
}
