// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
)

// history is how many revisions etcd has before kube-apiserver sees it.
const history = 20

// ageKey is where the history is written, outside of kube-apiserver's keys.
const ageKey = "/informerkit-e2e/age"

func (c *Cluster) etcdURL() string  { return fmt.Sprintf("http://127.0.0.1:%d", c.ports.etcd) }
func (c *Cluster) peerURL() string  { return fmt.Sprintf("http://127.0.0.1:%d", c.ports.peer) }
func (c *Cluster) etcdData() string { return filepath.Join(c.dir, "etcd") }

func (c *Cluster) etcdArgs() []string {
	return append(c.memberArgs(),
		"--listen-client-urls="+c.etcdURL(),
		"--advertise-client-urls="+c.etcdURL(),
		"--listen-peer-urls="+c.peerURL(),
		"--unsafe-no-fsync",
		"--log-level=warn",
	)
}

// memberArgs are what etcd and the restoring of a snapshot have to agree on.
func (c *Cluster) memberArgs() []string {
	return []string{
		"--name=default",
		"--data-dir=" + c.etcdData(),
		"--initial-cluster=default=" + c.peerURL(),
		"--initial-advertise-peer-urls=" + c.peerURL(),
	}
}

func (c *Cluster) etcdReady(ctx context.Context) error {
	return get(ctx, http.DefaultClient, c.etcdURL()+"/health")
}

// post asks etcd's JSON gateway, which is part of the server. The caller closes the answer.
func (c *Cluster) post(ctx context.Context, path string, body any) (io.ReadCloser, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.etcdURL()+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		content, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		return nil, fmt.Errorf("etcd %s: %s: %s", path, response.Status, content)
	}
	return response.Body, nil
}

// revision asks for something whose answer is a header, and returns the revision in it.
func (c *Cluster) revision(ctx context.Context, path string, body any) (int64, error) {
	answer, err := c.post(ctx, path, body)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Close() }()
	var got headed
	if err := json.NewDecoder(answer).Decode(&got); err != nil {
		return 0, fmt.Errorf("etcd %s: %w", path, err)
	}
	return got.Header.Revision, nil
}

// headed is what every answer of etcd has.
type headed struct {
	Header struct {
		Revision int64 `json:"revision,string"`
	} `json:"header"`
}

// ageEtcd gives etcd a history.
func (c *Cluster) ageEtcd(ctx context.Context) error {
	for range history {
		if _, err := c.revision(ctx, "/v3/kv/put", aged()); err != nil {
			return err
		}
	}
	return nil
}

// aged names the key of the history in the gateway's form.
func aged() map[string]string {
	return map[string]string{"key": base64.StdEncoding.EncodeToString([]byte(ageKey))}
}

// Revision returns etcd's revision, which is the resource version of a consistent list.
func (c *Cluster) Revision(ctx context.Context) (int64, error) {
	return c.revision(ctx, "/v3/kv/range", aged())
}

// Compact makes etcd forget what was before the revision. The watch caches of a kube-apiserver that
// runs still remember it.
func (c *Cluster) Compact(ctx context.Context, revision int64) error {
	_, err := c.revision(ctx, "/v3/kv/compaction", map[string]any{"revision": revision, "physical": true})
	return err
}

// Snapshot writes a snapshot of etcd, which has to be running, to a file.
func (c *Cluster) Snapshot(ctx context.Context, path string) error {
	answer, err := c.post(ctx, "/v3/maintenance/snapshot", struct{}{})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Close() }()
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(copyParts(file, json.NewDecoder(answer)), file.Close())
}

// copyParts writes the parts that a snapshot comes in.
func copyParts(to io.Writer, parts *json.Decoder) error {
	for {
		var part struct {
			Result *struct {
				Blob []byte `json:"blob"`
			} `json:"result"`
			Error json.RawMessage `json:"error"`
		}
		err := parts.Decode(&part)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("snapshot of etcd: %w", err)
		case part.Result == nil:
			return fmt.Errorf("snapshot of etcd broke off: %s", part.Error)
		}
		if _, err := to.Write(part.Result.Blob); err != nil {
			return err
		}
	}
}

// RestoreSnapshot puts a snapshot in place of etcd's data. Etcd has to be stopped, and then started.
func (c *Cluster) RestoreSnapshot(ctx context.Context, path string) error {
	if err := c.clearData(); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, c.binaries.Etcdutl, append([]string{"snapshot", "restore", path}, c.memberArgs()...)...)
	cmd.SysProcAttr = dieWithParent()
	if printed, err := runLocked(cmd); err != nil {
		return fmt.Errorf("restore of %s: %w\n%s", path, err, printed)
	}
	return nil
}

// CopyData copies etcd's data to a folder that does not exist yet. Etcd has to be stopped.
func (c *Cluster) CopyData(dir string) error {
	if c.Etcd.PID() != 0 {
		return errors.New("copy of etcd's data: etcd is running")
	}
	return os.CopyFS(dir, os.DirFS(c.etcdData()))
}

// RestoreData puts what CopyData copied in place of etcd's data. Etcd has to be stopped, and then
// started.
func (c *Cluster) RestoreData(dir string) error {
	if err := c.clearData(); err != nil {
		return err
	}
	return os.CopyFS(c.etcdData(), os.DirFS(dir))
}

func (c *Cluster) clearData() error {
	if c.Etcd.PID() != 0 {
		return errors.New("restore of etcd's data: etcd is running")
	}
	return os.RemoveAll(c.etcdData())
}
