// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/rest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
)

// Pod has the shape and, with its managed fields, the 3.7 KB of a pod.
type Pod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              PodSpec   `json:"spec,omitempty"`
	Status            PodStatus `json:"status,omitempty"`
}

// PodSpec is the wish.
type PodSpec struct {
	Containers    []Container       `json:"containers"`
	NodeName      string            `json:"nodeName,omitempty"`
	NodeSelector  map[string]string `json:"nodeSelector,omitempty"`
	RestartPolicy string            `json:"restartPolicy,omitempty"`
	Grace         *int64            `json:"terminationGracePeriodSeconds,omitempty"`
}

// Container is one of its processes.
type Container struct {
	Name      string                       `json:"name"`
	Image     string                       `json:"image,omitempty"`
	Args      []string                     `json:"args,omitempty"`
	Env       []EnvVar                     `json:"env,omitempty"`
	Resources map[string]map[string]string `json:"resources,omitempty"`
}

// EnvVar is a variable.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// PodStatus is the truth.
type PodStatus struct {
	Phase      string      `json:"phase,omitempty"`
	PodIP      string      `json:"podIP,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"`
}

// Condition is a part of it.
type Condition struct {
	Type   string      `json:"type"`
	Status string      `json:"status"`
	Time   metav1.Time `json:"lastTransitionTime,omitempty"`
}

// DeepCopyObject is shallow, which is enough here.
func (p *Pod) DeepCopyObject() runtime.Object { out := *p; return &out }

func podJSON(i int) string {
	condition := `{"type":"%s","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:04:05Z"}`
	var conditions, env, fields []string
	for _, name := range []string{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		conditions = append(conditions, fmt.Sprintf(condition, name))
	}
	for n := range 8 {
		env = append(env, fmt.Sprintf(`{"name":"VARIABLE_%d","value":"some value of it %d"}`, n, i))
	}
	for n := range 34 {
		fields = append(fields, fmt.Sprintf(`"f:field-number-%d":{".":{},"f:part":{}}`, n))
	}
	return fmt.Sprintf(`{"metadata":{"name":"pod-%d","generateName":"pod-","namespace":"namespace-%d","uid":"6ba7b810-9dad-11d1-80b4-%012d",`+
		`"resourceVersion":"%d","creationTimestamp":"2026-01-02T03:04:05Z","labels":{"app":"application","pod-template-hash":"5d4f8c7b9"},`+
		`"annotations":{"example.com/checksum":"0123456789abcdef0123456789abcdef"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"pod","uid":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","controller":true}],`+
		`"managedFields":[{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{%s}}]},`+
		`"spec":{"containers":[{"name":"main","image":"registry.example.com/team/application:v1.2.3","args":["--one=1","--two=2"],"env":[%s],"resources":{"limits":{"cpu":"500m","memory":"128Mi"},"requests":{"cpu":"100m","memory":"64Mi"}}}],`+
		`"nodeName":"node-%d","nodeSelector":{"kubernetes.io/os":"linux"},"restartPolicy":"Always","terminationGracePeriodSeconds":30},`+
		`"status":{"phase":"Running","podIP":"10.1.2.3","conditions":[%s]}}`,
		i, i%50, i, 1000+i, strings.Join(fields, ","), strings.Join(env, ","), i%100, strings.Join(conditions, ","))
}

const benchItems = 1000

func podList() []byte {
	var b bytes.Buffer
	b.WriteString(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[`)
	for i := range benchItems {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(podJSON(i))
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// perItem turns what was measured for a list into figures for one item of it.
func perItem(b *testing.B, body []byte) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchItems, "ns/item")
	b.SetBytes(int64(len(body)))
}

func benchList[T informer.Object](b *testing.B, known func(metav1.Object, uint64) bool) {
	body := podList()
	client := newClient[T](b, rest.Config{BaseURL: "http://server", HTTPClient: &http.Client{Transport: canned{200, body}}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.ListStream(b.Context(), metav1.ListOptions{}, known, func(runtime.Object) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	perItem(b, body)
}

func BenchmarkListTyped(b *testing.B)        { benchList[*Pod](b, nil) }
func BenchmarkListUnstructured(b *testing.B) { benchList[*unstructured.Unstructured](b, nil) }
func BenchmarkListMetadata(b *testing.B)     { benchList[*metav1.PartialObjectMetadata](b, nil) }
func BenchmarkListUnchanged(b *testing.B) {
	benchList[*Pod](b, func(metav1.Object, uint64) bool { return true })
}

// The whole list in one go, as other clients decode it.
func BenchmarkWhole(b *testing.B) {
	body := podList()
	for name, unmarshal := range map[string]func([]byte, any) error{"encoding-json": stdjson.Unmarshal, "apimachinery": utiljson.Unmarshal} {
		b.Run(name+"/typed", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var list struct {
					Items []Pod `json:"items"`
				}
				if err := unmarshal(body, &list); err != nil || len(list.Items) != benchItems {
					b.Fatal(err)
				}
			}
			perItem(b, body)
		})
		b.Run(name+"/unstructured", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var list map[string]any
				if err := unmarshal(body, &list); err != nil {
					b.Fatal(err)
				}
			}
			perItem(b, body)
		})
	}
}

func BenchmarkWatch(b *testing.B) {
	event := []byte(`{"type":"MODIFIED","object":` + strings.Replace(podJSON(1), `{"metadata"`, `{"kind":"Pod","apiVersion":"v1","metadata"`, 1) + "}\n")
	body := bytes.Repeat(event, benchItems)
	client := newClient[*Pod](b, rest.Config{BaseURL: "http://server", HTTPClient: &http.Client{Transport: canned{200, body}}})
	b.ReportAllocs()
	for b.Loop() {
		w, err := client.Watch(b.Context(), metav1.ListOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for event := range w.ResultChan() {
			if event.Type != watch.Modified {
				b.Fatal(event.Type)
			}
		}
	}
	perItem(b, body)
}
