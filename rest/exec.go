// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// The protocol of credential plugins and what limits them here:
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
const (
	execV1       = "client.authentication.k8s.io/v1"
	execV1beta1  = "client.authentication.k8s.io/v1beta1"
	execPatience = time.Minute // for one that asks nobody
	maxExecOut   = 1 << 20     // bytes of its answer
)

// ExecPluginOptions configures an ExecPlugin. The zero value runs the program without
// arguments, and gives it no terminal.
type ExecPluginOptions struct {
	// APIVersion is that of the protocol: "client.authentication.k8s.io/v1", or
	// "…/v1beta1"; "": v1.
	APIVersion string
	// Args are the arguments, without the name of the program.
	Args []string
	// Env is set beside the environment of this process, by name.
	Env map[string]string
	// InteractiveMode is "Never", "IfAvailable" or "Always": whether the program gets
	// standard input and error of this process, where that is a terminal, to ask its user
	// something. "": Never.
	InteractiveMode string
	// ProvideClusterInfo tells the program which server it is for.
	ProvideClusterInfo bool
	// ClusterConfig is JSON that a kubeconfig has for the program, and goes with that.
	ClusterConfig []byte
	// InstallHint is what to do where the program is missing; it is part of the error.
	InstallHint string
	// Stderr is where the program's standard error goes; nil: nowhere, or where it may
	// ask its user something, to that of this process. It never becomes part of an error.
	Stderr io.Writer
}

// ExecPlugin is a program that hands out a token or a client certificate. What it has
// handed out is used until it expires or is refused with 401; then the program is run
// again, within the context of the request that needs it, and for a minute at most where
// it asks nobody.
//
// Concurrency: any number of clients may share one. It runs one process at a time, and
// those who wait for it use what it hands out.
type ExecPlugin struct {
	command string
	options ExecPluginOptions
	turn    chan struct{} // held by who runs the process

	// of returns the credentials for a server. It is a field so that programs which make
	// no plugin are linked without what runs one.
	of func(Config) credentials

	mu   sync.Mutex
	uses map[string]credentials
}

// NewExecPlugin makes a plugin of a program: a path, or a name that is looked for in PATH.
// It is not run yet.
//
// Ownership: the plugin copies the options.
//
// Errors: options that cannot be.
func NewExecPlugin(command string, options ExecPluginOptions) (*ExecPlugin, error) {
	options.APIVersion = cmp.Or(options.APIVersion, execV1)
	options.InteractiveMode = cmp.Or(options.InteractiveMode, "Never")
	options.Args, options.Env = slices.Clone(options.Args), maps.Clone(options.Env)
	options.ClusterConfig = slices.Clone(options.ClusterConfig)
	switch {
	case command == "":
		return nil, errors.New("rest: credential plugin without command")
	case options.APIVersion != execV1 && options.APIVersion != execV1beta1:
		return nil, fmt.Errorf("rest: credential plugin: apiVersion is neither %s nor %s", execV1, execV1beta1)
	case !slices.Contains([]string{"Never", "IfAvailable", "Always"}, options.InteractiveMode):
		return nil, errors.New("rest: credential plugin: interactiveMode is none of Never, IfAvailable and Always")
	}
	for name := range options.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, errors.New("rest: credential plugin: env has a name that cannot be")
		}
	}
	p := &ExecPlugin{command: command, options: options, turn: make(chan struct{}, 1), uses: map[string]credentials{}}
	p.of = p.credentials
	return p, nil
}

// Format implements fmt.Formatter, for every verb. Arguments and environment may be secret.
func (p *ExecPlugin) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "rest.ExecPlugin{command: %q, …}", p.command)
}

// credentials returns those for a server. What the program hands out for one is not sent
// to another one if it was told which it is for.
func (p *ExecPlugin) credentials(config Config) credentials {
	cluster, key := execCluster{}, ""
	if p.options.ProvideClusterInfo {
		cluster = execCluster{
			Server:             config.BaseURL,
			TLSServerName:      config.TLSServerName,
			Insecure:           config.InsecureSkipTLSVerify,
			CA:                 config.CAData,
			ProxyURL:           config.ProxyURL,
			DisableCompression: config.DisableCompression,
			Config:             p.options.ClusterConfig,
			caFile:             config.CAFile,
		}
		key = fmt.Sprintf("%#v", cluster)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.uses[key] == nil {
		p.uses[key] = &execUse{plugin: p, cluster: cluster}
	}
	return p.uses[key]
}

// interactive reports whether the program may ask its user something.
func (p *ExecPlugin) interactive() (bool, error) {
	if p.options.InteractiveMode == "Never" {
		return false, nil
	}
	is := isTerminal(os.Stdin)
	if !is && p.options.InteractiveMode == "Always" {
		return false, errors.New("needs a terminal, and standard input is none")
	}
	return is, nil
}

// isTerminal reports whether a file is a device for characters that is not the null device.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// hint is the install hint as it may stand in an error.
func (p *ExecPlugin) hint() string {
	if p.options.InstallHint == "" {
		return ""
	}
	return " (" + printable(p.options.InstallHint, maxWarning) + ")"
}
