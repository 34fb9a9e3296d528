// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"
)

// maxKubeconfig is how many bytes of a file are read, and one more is an error.
const maxKubeconfig = 16 << 20

// kubeconfigs is what several files say together.
type kubeconfigs struct {
	paths                     []string // that were there
	current                   string
	clusters, users, contexts entries
}

// entries are those of one kind, by name.
type entries struct {
	kind   string
	byName map[string]entry
}

// entry is not read before it is used: what is wrong with others does no harm.
type entry struct {
	path string // of the file
	raw  jsontext.Value
}

// kubeconfigFile is a file as far as every file is read.
type kubeconfigFile struct {
	APIVersion     string       `json:"apiVersion"`
	Kind           string       `json:"kind"`
	CurrentContext string       `json:"current-context"`
	Clusters       []namedEntry `json:"clusters"`
	Users          []namedEntry `json:"users"`
	Contexts       []namedEntry `json:"contexts"`
}

type namedEntry struct {
	Name    string         `json:"name"`
	Cluster jsontext.Value `json:"cluster"`
	User    jsontext.Value `json:"user"`
	Context jsontext.Value `json:"context"`
}

type contextEntry struct {
	Cluster    string         `json:"cluster"`
	User       string         `json:"user"`
	Namespace  string         `json:"namespace"`
	Extensions jsontext.Value `json:"extensions"`
}

type clusterEntry struct {
	Server                   string           `json:"server"`
	TLSServerName            string           `json:"tls-server-name"`
	InsecureSkipTLSVerify    bool             `json:"insecure-skip-tls-verify"`
	CertificateAuthority     string           `json:"certificate-authority"`
	CertificateAuthorityData []byte           `json:"certificate-authority-data"`
	ProxyURL                 string           `json:"proxy-url"`
	DisableCompression       bool             `json:"disable-compression"`
	Extensions               []namedExtension `json:"extensions"`
}

type namedExtension struct {
	Name      string         `json:"name"`
	Extension jsontext.Value `json:"extension"`
}

type userEntry struct {
	ClientCertificate     string              `json:"client-certificate"`
	ClientCertificateData []byte              `json:"client-certificate-data"`
	ClientKey             string              `json:"client-key"`
	ClientKeyData         []byte              `json:"client-key-data"`
	Token                 string              `json:"token"`
	TokenFile             string              `json:"tokenFile"`
	As                    string              `json:"as"`
	AsUID                 string              `json:"as-uid"`
	AsGroups              []string            `json:"as-groups"`
	AsUserExtra           map[string][]string `json:"as-user-extra"`
	Username              string              `json:"username"`
	Password              string              `json:"password"`
	Exec                  *execEntry          `json:"exec"`
	Extensions            jsontext.Value      `json:"extensions"`
}

type execEntry struct {
	APIVersion         string   `json:"apiVersion"`
	Command            string   `json:"command"`
	Args               []string `json:"args"`
	Env                []envVar `json:"env"`
	InstallHint        string   `json:"installHint"`
	ProvideClusterInfo bool     `json:"provideClusterInfo"`
	InteractiveMode    string   `json:"interactiveMode"`
}

type envVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// readKubeconfigs reads files and merges them. One that is missing is an error if it was
// asked for by name.
func readKubeconfigs(paths []string, named bool) (*kubeconfigs, error) {
	k := newKubeconfigs()
	for _, path := range paths {
		if slices.Contains(k.paths, path) {
			continue // listed twice
		}
		file, err := readKubeconfig(path)
		switch {
		case errors.Is(err, os.ErrNotExist) && !named:
			continue
		case errors.Is(err, os.ErrNotExist):
			return nil, fmt.Errorf("%w: %w", ErrNoKubeconfig, err)
		case err == nil:
			err = k.merge(path, file)
		}
		if err != nil {
			return nil, fmt.Errorf("%w %s: %w", ErrKubeconfig, path, err)
		}
	}
	if len(k.paths) == 0 {
		return nil, fmt.Errorf("%w: none of %s", ErrNoKubeconfig, strings.Join(paths, ", "))
	}
	return k, nil
}

func newKubeconfigs() *kubeconfigs {
	return &kubeconfigs{
		clusters: entries{"cluster", map[string]entry{}},
		users:    entries{"user", map[string]entry{}},
		contexts: entries{"context", map[string]entry{}},
	}
}

// merge adds what other files have not said before.
func (k *kubeconfigs) merge(path string, file *kubeconfigFile) error {
	k.paths = append(k.paths, path)
	if k.current == "" {
		k.current = file.CurrentContext
	}
	for _, part := range []struct {
		into entries
		from []namedEntry
		raw  func(namedEntry) jsontext.Value
	}{
		{k.clusters, file.Clusters, func(e namedEntry) jsontext.Value { return e.Cluster }},
		{k.users, file.Users, func(e namedEntry) jsontext.Value { return e.User }},
		{k.contexts, file.Contexts, func(e namedEntry) jsontext.Value { return e.Context }},
	} {
		for _, named := range part.from {
			old, known := part.into.byName[named.Name]
			if known && old.path == path {
				return fmt.Errorf("two entries for %s %s", part.into.kind, quotedName(named.Name))
			}
			if !known {
				part.into.byName[named.Name] = entry{path, part.raw(named)}
			}
		}
	}
	return nil
}

// where names the file that a context comes from, or all.
func (k *kubeconfigs) where(context string) string {
	if entry, ok := k.contexts.byName[context]; ok {
		return entry.path
	}
	return strings.Join(k.paths, ", ")
}

// read decodes an entry and returns the folder of its file.
func (e entries) read(name string, into any) (dir string, err error) {
	found, ok := e.byName[name]
	if !ok {
		return "", fmt.Errorf("no such %s, but %s", e.kind, e.names())
	}
	dir = filepath.Dir(found.path)
	if len(found.raw) == 0 || string(found.raw) == "null" {
		return dir, nil
	}
	err = json.Unmarshal(found.raw, into, lenient(), json.RejectUnknownMembers(true))
	return dir, fieldError(reflect.TypeOf(into).Elem(), err)
}

// names lists the entries, a few of them.
func (e entries) names() string {
	const most = 10
	var out []string
	for _, name := range slices.Sorted(maps.Keys(e.byName)) {
		if out = append(out, quotedName(name)); len(out) == most {
			break
		}
	}
	switch more := len(e.byName) - len(out); {
	case len(out) == 0:
		return "none at all"
	case more > 0:
		return fmt.Sprintf("%s and %d more", strings.Join(out, ", "), more)
	}
	return strings.Join(out, ", ")
}

// fieldError says which field is wrong, and nothing of its value.
func fieldError(t reflect.Type, err error) error {
	var semantic *json.SemanticError
	if err == nil || !errors.As(err, &semantic) {
		return err
	}
	switch {
	case errors.Is(err, json.ErrUnknownName):
	case semantic.GoType == reflect.TypeFor[[]byte]() && semantic.JSONKind == '"':
		return fmt.Errorf("field %s is not base64", safePointer(t, semantic.JSONPointer))
	default:
		return fmt.Errorf("field %s: a JSON %s does not fit", safePointer(t, semantic.JSONPointer), kindName(semantic.JSONKind))
	}
	in := ""
	if parent := semantic.JSONPointer.Parent(); parent != "" {
		in = " in " + safePointer(t, parent)
	}
	field := semantic.JSONPointer.LastToken()
	if !looksLikeField(field) {
		return fmt.Errorf("a field%s is not supported; its name looks like a value: is a space missing after a colon?", in)
	}
	return fmt.Errorf("field %q%s is not supported", field, in)
}

// looksLikeField reports whether a name may be shown: in {token:value}, all of it is one.
func looksLikeField(name string) bool {
	return len(name) > 0 && len(name) <= 40 && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// readKubeconfig reads one file.
func readKubeconfig(path string) (*kubeconfigFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxKubeconfig+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxKubeconfig {
		return nil, fmt.Errorf("larger than %d bytes", maxKubeconfig)
	}
	return parseKubeconfig(text)
}

func parseKubeconfig(text []byte) (*kubeconfigFile, error) {
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, yamlError(err)
	}
	file := &kubeconfigFile{}
	if string(data) == "null" {
		return file, nil // an empty file
	}
	if err := json.Unmarshal(data, file, lenient()); err != nil {
		return nil, discreet(reflect.TypeFor[kubeconfigFile](), err)
	}
	switch {
	case file.Kind != "" && file.Kind != "Config":
		return nil, fmt.Errorf("%s, and no Config", safeKind(file.Kind))
	case file.APIVersion != "" && file.APIVersion != "v1":
		return nil, errors.New("apiVersion is not v1")
	}
	return file, nil
}

var yamlLine = regexp.MustCompile(`line [0-9]+`)

// yamlError keeps the line of an error of the YAML package, which may quote what it read.
func yamlError(err error) error {
	if line := yamlLine.FindString(err.Error()); line != "" {
		return errors.New("invalid YAML at or near " + line)
	}
	return errors.New("invalid YAML")
}

// plugin makes the plugin of an entry.
func (e *execEntry) plugin(c *chosen, stderr io.Writer) (*ExecPlugin, error) {
	switch {
	case e.Command == "":
		return nil, errors.New("command is missing")
	case e.APIVersion != execV1 && e.APIVersion != execV1beta1:
		return nil, fmt.Errorf("apiVersion is neither %s nor %s", execV1, execV1beta1)
	case e.InteractiveMode == "" && e.APIVersion == execV1:
		return nil, errors.New("interactiveMode is missing")
	case e.InteractiveMode == "":
		e.InteractiveMode = "IfAvailable"
	}
	options := ExecPluginOptions{
		APIVersion: e.APIVersion, Args: e.Args, Env: map[string]string{}, InteractiveMode: e.InteractiveMode,
		ProvideClusterInfo: e.ProvideClusterInfo, InstallHint: e.InstallHint, Stderr: stderr,
	}
	for _, variable := range e.Env {
		options.Env[variable.Name] = variable.Value
	}
	for _, extension := range c.cluster.Extensions {
		if extension.Name == "client.authentication.k8s.io/exec" {
			options.ClusterConfig = extension.Extension
		}
	}
	command := e.Command
	if filepath.Base(command) != command { // a path, and no name to look for in PATH
		command = within(c.userDir, command)
	}
	return NewExecPlugin(command, options)
}
