// SPDX-License-Identifier: Apache-2.0

// Package transform has ready-made transforms: functions that make an object smaller
// before it is queued and stored. None touches its identity or its version.
package transform

import "github.com/informerkit/informer"

// DropManagedFields removes metadata.managedFields, which record which client set which
// field: often half of an object, and of no use to a controller.
func DropManagedFields[T informer.Object](obj T) (T, error) {
	obj.SetManagedFields(nil)
	return obj, nil
}

// Chain applies transforms in order; the first error ends it.
func Chain[T informer.Object](transforms ...informer.TransformFunc[T]) informer.TransformFunc[T] {
	return func(obj T) (T, error) {
		var err error
		for _, t := range transforms {
			if obj, err = t(obj); err != nil {
				break
			}
		}
		return obj, err
	}
}
