// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPods(t *testing.T) {
	bodies, err := newBodies()
	if err != nil {
		t.Fatal(err)
	}
	p := bodies.json
	if size := p.size(); size < 3_500 || size > 3_900 {
		t.Errorf("a pod has %d bytes, want about 3,700", size)
	}
	var pod corev1.Pod
	if err := json.Unmarshal(p.append(nil, 42), &pod); err != nil {
		t.Fatal(err)
	}
	if pod.Name != "name-00000042" || pod.UID != "00000000-0000-4000-8000-000000000042" || pod.Spec.NodeName != "node-0042" {
		t.Errorf("pod 42 is %s, %s on %s", pod.Name, pod.UID, pod.Spec.NodeName)
	}
}
