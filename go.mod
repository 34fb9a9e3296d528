module github.com/informerkit/informer

go 1.26.0

require (
	github.com/go-json-experiment/json v1.27.2
	k8s.io/apimachinery v0.37.2
	k8s.io/klog/v2 v2.140.0
	k8s.io/utils v0.0.0-20261023123148-ca04ba58ecab
)
