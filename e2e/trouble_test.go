// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/backoff"
	"github.com/informerkit/informer/rest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

type partialObject = metav1.PartialObjectMetadata

// access is a way to reach the server, for both kinds of clients.
type access struct {
	url, token, caFile string
	namespace          string
	resource           schema.GroupVersionResource
}

func (a access) rest(t *testing.T) informer.ListerWatcher {
	return must(rest.New[*partialObject](
		rest.Config{BaseURL: a.url, BearerToken: a.token, CAFile: a.caFile},
		rest.Resource{
			Group: a.resource.Group, Version: a.resource.Version, Resource: a.resource.Resource, Namespace: a.namespace,
		},
	))(t)
}

func (a access) clientGo(t *testing.T) informer.ListerWatcher {
	client := must(metadata.NewForConfig(&clientrest.Config{
		Host: a.url, BearerToken: a.token, TLSClientConfig: clientrest.TLSClientConfig{CAFile: a.caFile},
	}))(t)
	return informer.FromClient(client.Resource(a.resource).Namespace(a.namespace))
}

// TestTrouble: what keeps a mirror from its first list is what the wait for it says, with the name
// of the source and the operation, and it stays a typed error.
func TestTrouble(t *testing.T) {
	t.Parallel()
	good := access{url: cluster.URL, token: cluster.Token, caFile: cluster.CAFile, resource: configMapResource}
	with := func(change func(*access)) access {
		bad := good
		change(&bad)
		return bad
	}
	for name, row := range map[string]struct {
		access access
		is     func(error) bool
	}{
		"wrong CA":         {with(func(a *access) { a.caFile = strangersCA(t) }), isUnknownAuthority},
		"wrong token":      {with(func(a *access) { a.token = "wrong" }), apierrors.IsUnauthorized},
		"no permission":    {with(func(a *access) { a.token = cluster.NobodyToken }), apierrors.IsForbidden},
		"no such resource": {with(func(a *access) { a.resource.Resource = "nothings" }), apierrors.IsNotFound},
		"no such group":    {with(func(a *access) { a.resource.Group = "none.example.com" }), apierrors.IsNotFound},
		"no server":        {with(func(a *access) { a.url = "https://" + closedPort(t) }), isRefused},
	} {
		t.Run(name+", rest", func(t *testing.T) {
			t.Parallel()
			checkTrouble(t, row.access.rest(t), informer.ReflectorOptions{}, row.is)
		})
		t.Run(name+", client-go", func(t *testing.T) {
			t.Parallel()
			checkTrouble(t, row.access.clientGo(t), informer.ReflectorOptions{}, row.is)
		})
	}
}

// checkTrouble waits for a sync that cannot be until the source has failed twice: the first failure
// is then known to the wait for certain.
func checkTrouble(t *testing.T, source informer.ListerWatcher, how informer.ReflectorOptions, is func(error) bool) {
	ctx, cancel := context.WithTimeout(klog.NewContext(t.Context(), newStory().logger()), failSafe)
	defer cancel()
	given := errors.New("two failures")
	wait, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)

	failures := 0
	options := informer.Options[*partialObject]{ReflectorOptions: how}
	options.Name = "the troubled one"
	options.Backoff = backoff.Options{Initial: time.Millisecond}
	options.OnError = func(_ context.Context, err error) {
		if !is(err) {
			t.Errorf("the hook got %v, which is another error", err)
		}
		// A list that an object has failed is not repeated within 5 minutes.
		held := strings.Contains(err.Error(), "object without a name")
		if failures++; failures == 2 || held {
			giveUp(given)
		}
	}
	inf := informer.New(source, options)
	done := make(chan error, 1)
	go func() { done <- inf.Run(ctx) }()

	err := inf.WaitForSync(wait)
	var waited *informer.WaitError
	var failed *informer.SourceError
	if !errors.As(err, &waited) || !errors.Is(err, given) || !is(err) {
		t.Fatalf("WaitForSync: %v; want a WaitError of the cause and of the failure", err)
	}
	if !errors.As(err, &failed) || failed.Operation == "" || !strings.Contains(err.Error(), options.Name) {
		t.Errorf("WaitForSync: %v; want source and operation named", err)
	}
	if strings.Contains(err.Error(), cluster.Token) || strings.Contains(err.Error(), cluster.NobodyToken) {
		t.Errorf("WaitForSync quotes a token")
	}
	if sources := inf.Status().Sources; len(sources) != 1 || sources[0].LastError == "" || sources[0].Failures == 0 {
		t.Errorf("status of the sources is %+v; want a last error", sources)
	}
	if inf.HasSynced() {
		t.Error("it says that it has synced")
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func isUnknownAuthority(err error) bool {
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &unknown)
}

func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// closedPort is an address that nobody listens on.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// strangersCA is the file of a certificate that did not sign the server's.
func strangersCA(t *testing.T) string {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a stranger"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der := must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	path := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
