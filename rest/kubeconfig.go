// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// KubeconfigOptions says what LoadKubeconfig reads. The zero value is what kubectl reads
// without flags.
type KubeconfigOptions struct {
	// Path is the file; "": those that the environment variable KUBECONFIG lists, merged,
	// and where it is empty ~/.kube/config. Files of the list may be missing.
	Path string
	// Context is the one of the file to use; "": its current one.
	Context string
	// PluginStderr is where the standard error of a credential plugin goes, as
	// ExecPluginOptions.Stderr has it.
	PluginStderr io.Writer
}

// LoadKubeconfig reads how to reach a server from a kubeconfig file:
// https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
// It returns the namespace of the context too, "" if it has none.
//
// Of several files, the first that has an entry, or a current context, wins. Paths are
// relative to the file that they stand in; data wins over files, and a token file over a
// token. Extensions are ignored, but for that which a credential plugin is given. What is
// not supported, auth-provider above all, is an error where the context uses it.
//
// Two calls share nothing, a credential plugin neither: call it once for all clients.
//
// Errors: ErrNoKubeconfig; ErrKubeconfig for what stands in it, with file, context and
// field. They name entries and fields, and never hold a value.
func LoadKubeconfig(options KubeconfigOptions) (config Config, namespace string, err error) {
	paths := []string{options.Path}
	if options.Path == "" {
		if paths, err = kubeconfigPaths(os.Getenv("KUBECONFIG")); err != nil {
			return Config{}, "", err
		}
	}
	merged, err := readKubeconfigs(paths, options.Path != "")
	if err != nil {
		return Config{}, "", err
	}
	name := options.Context
	if name == "" {
		name = merged.current
	}
	chosen, err := merged.choose(name)
	if err == nil {
		config, err = chosen.config(options.PluginStderr)
	}
	if err != nil {
		return Config{}, "", fmt.Errorf("%w %s: context %s: %w", ErrKubeconfig, merged.where(name), quotedName(name), err)
	}
	return config, chosen.context.Namespace, nil
}

// kubeconfigPaths is where kubectl looks.
func kubeconfigPaths(variable string) ([]string, error) {
	paths := slices.DeleteFunc(filepath.SplitList(variable), func(path string) bool { return path == "" })
	if len(paths) > 0 {
		return paths, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoKubeconfig, err)
	}
	return []string{filepath.Join(home, ".kube", "config")}, nil
}

// chosen is what a context consists of.
type chosen struct {
	context contextEntry
	cluster clusterEntry
	user    userEntry

	clusterName, userName string
	clusterDir, userDir   string // what their paths are relative to
}

// choose finds a context, its cluster and its user.
func (k *kubeconfigs) choose(name string) (*chosen, error) {
	if name == "" {
		return nil, errors.New("current-context is not set, and no context was asked for")
	}
	c := &chosen{}
	if _, err := k.contexts.read(name, &c.context); err != nil {
		return nil, err
	}
	if c.context.Cluster == "" {
		return nil, errors.New("field cluster is missing")
	}
	var err error
	c.clusterName, c.userName = c.context.Cluster, c.context.User
	if c.clusterDir, err = k.clusters.read(c.clusterName, &c.cluster); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", quotedName(c.clusterName), err)
	}
	if c.userName == "" {
		return c, nil // nobody in particular
	}
	if c.userDir, err = k.users.read(c.userName, &c.user); err != nil {
		return nil, fmt.Errorf("user %s: %w", quotedName(c.userName), err)
	}
	return c, nil
}

// config makes a Config, and checks it.
func (c *chosen) config(stderr io.Writer) (Config, error) {
	config := Config{}
	if err := c.setCluster(&config); err != nil {
		return Config{}, fmt.Errorf("cluster %s: %w", quotedName(c.clusterName), err)
	}
	if err := c.setUser(&config, stderr); err != nil {
		return Config{}, fmt.Errorf("user %s: %w", quotedName(c.userName), err)
	}
	if _, _, err := config.withDefaults(); err != nil {
		return Config{}, err
	}
	return config, nil
}

func (c *chosen) setCluster(config *Config) error {
	cluster := c.cluster
	switch {
	case cluster.Server == "":
		return errors.New("field server is missing")
	case cluster.InsecureSkipTLSVerify && (cluster.CertificateAuthority != "" || len(cluster.CertificateAuthorityData) > 0):
		return errors.New("field insecure-skip-tls-verify excludes a certificate authority")
	}
	if _, err := parseBase(cluster.Server); err != nil {
		return renamed("server", "BaseURL", err)
	}
	if _, err := parseProxy(cluster.ProxyURL); err != nil {
		return renamed("proxy-url", "ProxyURL", err)
	}
	config.BaseURL = cluster.Server
	config.CAData = cluster.CertificateAuthorityData
	if len(config.CAData) == 0 {
		config.CAFile = within(c.clusterDir, cluster.CertificateAuthority)
	}
	config.InsecureSkipTLSVerify = cluster.InsecureSkipTLSVerify
	config.TLSServerName = cluster.TLSServerName
	config.ProxyURL = cluster.ProxyURL
	config.DisableCompression = cluster.DisableCompression
	return nil
}

// renamed says of a field in a kubeconfig what was said of that of Config.
func renamed(field, was string, err error) error {
	return errors.New("field " + field + strings.TrimPrefix(err.Error(), was))
}

func (c *chosen) setUser(config *Config, stderr io.Writer) error {
	user := c.user
	if err := user.check(); err != nil {
		return err
	}
	config.CertData, config.KeyData = user.ClientCertificateData, user.ClientKeyData
	if len(config.CertData) == 0 {
		config.CertFile = within(c.userDir, user.ClientCertificate)
	}
	if len(config.KeyData) == 0 {
		config.KeyFile = within(c.userDir, user.ClientKey)
	}
	if err := oneKind(config); err != nil {
		return err
	}
	config.BearerTokenFile = within(c.userDir, user.TokenFile)
	if config.BearerTokenFile == "" {
		config.BearerToken = user.Token
	}
	config.Username, config.Password = user.Username, user.Password
	config.Impersonate = Impersonation{User: user.As, UID: user.AsUID, Groups: user.AsGroups, Extra: user.AsUserExtra}
	if user.Exec == nil {
		return nil
	}
	plugin, err := user.Exec.plugin(c, stderr)
	if err != nil {
		return fmt.Errorf("field exec: %w", err)
	}
	config.Exec = plugin
	return nil
}

// oneKind reads the file of a pair whose other half is data, for a Config has both in one
// form. Such a file is not read again.
func oneKind(config *Config) error {
	var err error
	switch {
	case len(config.CertData) > 0 && config.KeyFile != "":
		if config.KeyData, err = os.ReadFile(config.KeyFile); err != nil {
			return fmt.Errorf("field client-key: %w", err)
		}
		config.KeyFile = ""
	case len(config.KeyData) > 0 && config.CertFile != "":
		if config.CertData, err = os.ReadFile(config.CertFile); err != nil {
			return fmt.Errorf("field client-certificate: %w", err)
		}
		config.CertFile = ""
	}
	return nil
}

// check finds what of a user does not go together.
func (u userEntry) check() error {
	certificate := u.ClientCertificate != "" || len(u.ClientCertificateData) > 0
	key := u.ClientKey != "" || len(u.ClientKeyData) > 0
	token := u.Token != "" || u.TokenFile != ""
	basic := u.Username != "" || u.Password != ""
	switch {
	case certificate && !key:
		return errors.New("field client-key is missing")
	case key && !certificate:
		return errors.New("field client-certificate is missing")
	case token && basic:
		return errors.New("fields token and username exclude each other")
	case u.Exec != nil && (token || basic):
		return errors.New("field exec excludes token and username")
	case u.As == "" && (u.AsUID != "" || len(u.AsGroups) > 0 || len(u.AsUserExtra) > 0):
		return errors.New("field as is missing, and others need it")
	}
	return nil
}

// within is a path as seen from a folder; "" stays what it is.
func within(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// quotedName is a name from a file as it may stand in an error.
func quotedName(name string) string { return fmt.Sprintf("%q", printable(name, 100)) }
