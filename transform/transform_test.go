// SPDX-License-Identifier: Apache-2.0

package transform_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/informerkit/informer/transform"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type object = *metav1.PartialObjectMetadata

func Example() {
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "a", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}}
	small, err := transform.DropManagedFields(obj)
	fmt.Println(small.Name, len(small.ManagedFields), err)
	// Output: a 0 <nil>
}

func TestChain(t *testing.T) {
	var order []string
	step := func(name string, err error) func(object) (object, error) {
		return func(obj object) (object, error) {
			order = append(order, name)
			return obj, err
		}
	}
	failed := errors.New("failed")
	_, err := transform.Chain(step("one", nil), step("two", failed), step("three", nil))(new(metav1.PartialObjectMetadata))
	if !errors.Is(err, failed) || fmt.Sprint(order) != "[one two]" {
		t.Errorf("%v, after %v", err, order)
	}
}
