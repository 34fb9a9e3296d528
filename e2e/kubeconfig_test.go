// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/e2e/internal/kube"
	"github.com/informerkit/informer/rest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// authority signs certificates of clients.
type authority struct {
	dir         string
	certificate *x509.Certificate
	key         crypto.Signer
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir(), key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "e2e clients"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der := must(x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key))(t)
	a.certificate = must(x509.ParseCertificate(der))(t)
	a.write(t, "ca.crt", "CERTIFICATE", der)
	return a
}

func newKey(t *testing.T) crypto.Signer {
	t.Helper()
	return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
}

func (a *authority) write(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	write(t, filepath.Join(a.dir, name), string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
}

// sign writes a certificate and a key for a user who may do everything.
func (a *authority) sign(t *testing.T, name string) {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name, Organization: []string{"system:masters"}},
		NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	a.write(t, name+".crt", "CERTIFICATE", must(x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key))(t))
	a.write(t, name+".key", "PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key))(t))
}

// base64Of is a file as a kubeconfig holds it.
func (a *authority) base64Of(t *testing.T, name string) string {
	t.Helper()
	return base64.StdEncoding.EncodeToString(must(os.ReadFile(filepath.Join(a.dir, name)))(t))
}

// kubeconfigOf writes a kubeconfig with a context for each user, by name.
func (a *authority) kubeconfigOf(t *testing.T, c *kube.Cluster, namespace string, users map[string]string) string {
	t.Helper()
	a.write(t, "server.crt", "CERTIFICATE", must(pemOf(c.CAFile))(t))
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: token\nclusters:\n"+
		"- {name: inline, cluster: {server: '%s', certificate-authority-data: %s}}\n"+
		"- {name: by file, cluster: {server: '%s', certificate-authority: server.crt}}\nusers:\n", c.URL, a.base64Of(t, "server.crt"), c.URL)
	for name, user := range users {
		text += fmt.Sprintf("- {name: %s, user: %s}\n", name, user)
	}
	text += "contexts:\n"
	for name := range users {
		cluster := map[bool]string{true: "inline", false: "by file"}[len(name)%2 == 0]
		text += fmt.Sprintf("- {name: %s, context: {cluster: %s, user: %s, namespace: %s}}\n", name, cluster, name, namespace)
	}
	path := filepath.Join(a.dir, "config")
	write(t, path, text)
	return path
}

func pemOf(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s: no PEM", path)
	}
	return block.Bytes, nil
}

// TestKubeconfig: a mirror for each way in which a kubeconfig may say who asks. The file is all that
// it is given.
func TestKubeconfig(t *testing.T) {
	a := newAuthority(t)
	c := ownCluster(t, kube.Options{Flags: []string{"--client-ca-file=" + filepath.Join(a.dir, "ca.crt")}})
	r := newCollection(t, c, rigOptions{})
	a.sign(t, "admin")
	write(t, filepath.Join(a.dir, "token"), c.Token)
	plugin := "#!/bin/sh\necho \"$KUBERNETES_EXEC_INFO\" >> " + a.dir + "/runs\necho hush >&2\n" +
		`printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/%s","status":{"token":"%s"}}' "$1" "$TOKEN"` + "\n"
	write(t, filepath.Join(a.dir, "plugin"), plugin)
	if err := os.Chmod(filepath.Join(a.dir, "plugin"), 0o700); err != nil {
		t.Fatal(err)
	}
	execUser := func(version string) string {
		return fmt.Sprintf("{exec: {apiVersion: client.authentication.k8s.io/%s, command: ./plugin, args: [%s], env: [{name: TOKEN, value: '%s'}], "+
			"interactiveMode: Never, provideClusterInfo: true}}", version, version, c.Token)
	}
	path := a.kubeconfigOf(t, c, r.objects.namespace, map[string]string{
		"token":       "{token: '" + c.Token + "'}",
		"token-file":  "{tokenFile: token}",
		"certificate": "{client-certificate: admin.crt, client-key: admin.key}",
		"inline-cert": fmt.Sprintf("{client-certificate-data: %s, client-key-data: %s}", a.base64Of(t, "admin.crt"), a.base64Of(t, "admin.key")),
		"exec":        execUser("v1"),
		"exec-beta":   execUser("v1beta1"),
		"acting":      "{token: '" + c.Token + "', as: somebody, as-groups: ['system:masters'], as-user-extra: {why: [e2e]}}",
		"powerless":   "{token: '" + c.Token + "', as: nobody}",
	})
	for _, name := range []string{"", "token-file", "certificate", "inline-cert", "exec", "exec-beta", "acting"} {
		t.Run("context "+name, func(t *testing.T) {
			m := mirrorOf(t, r, rest.KubeconfigOptions{Path: path, Context: name})
			m.sync(t)
			r.objects.create(t, "made", "front")
			r.objects.update(t, "old-0", "seen by "+name)
			m.converge(t, "changes, context "+name)
			r.objects.delete(t, "made")
			m.converge(t, "a deletion, context "+name)
		})
	}
	runs := string(must(os.ReadFile(filepath.Join(a.dir, "runs")))(t))
	if strings.Count(runs, "\n") != 2 || strings.Count(runs, `"server":"`+c.URL+`"`) != 2 {
		t.Errorf("the plugin ran for each request, or was not told for what:\n%s", runs)
	}
	config, _ := mustLoad(t, rest.KubeconfigOptions{Path: path, Context: "powerless"})
	client := must(rest.New[*corev1.ConfigMap](config, rest.Resource{Version: "v1", Resource: "configmaps"}))(t)
	if _, err := client.List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `"nobody"`) {
		t.Errorf("as nobody: %v", err)
	}
}

func mustLoad(t *testing.T, options rest.KubeconfigOptions) (rest.Config, string) {
	t.Helper()
	config, namespace, err := rest.LoadKubeconfig(options)
	if err != nil {
		t.Fatal(err)
	}
	return config, namespace
}

// mirrorOf mirrors the ConfigMaps of a rig with nothing but a kubeconfig and a short name.
func mirrorOf(t *testing.T, r *rig, options rest.KubeconfigOptions) *mirror[*corev1.ConfigMap] {
	t.Helper()
	config, namespace := mustLoad(t, options)
	found := must(must(rest.Discover(t.Context(), config))(t).Find("cm"))(t)
	client := must(rest.New[*corev1.ConfigMap](config, found.In(namespace)))(t)
	direct := must(kubernetes.NewForConfig(rigOptions{}.direct(r.Cluster)))(t).CoreV1().ConfigMaps(namespace)
	return startMirror(t, client, asLister(direct.List), informer.Options[*corev1.ConfigMap]{})
}
