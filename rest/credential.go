// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"encoding/base64"
)

// credential is what proves to a server who asks.
type credential struct {
	header           string // Authorization; "": none
	certificate, key string // in PEM; "": none
	run              int    // of the plugin that handed it out
}

// bearer is a token as a credential.
func bearer(token string) credential { return credential{header: "Bearer " + token} }

// credentials is where a credential comes from.
type credentials interface {
	// current returns what to send now.
	current(ctx context.Context) (credential, error)
	// renew is called when the server has refused a credential with 401, and reports
	// whether there is another one now.
	renew(ctx context.Context, refused credential) bool
	// fault is why there may be no other one, for the error of a 401; nil: nothing.
	fault() error
}

// newCredentials makes those of a Config whose defaults are applied.
func newCredentials(config Config) credentials {
	switch {
	case config.Exec != nil:
		return config.Exec.of(config)
	case config.BearerTokenFile != "":
		return &tokens{file: config.BearerTokenFile}
	case config.BearerToken != "":
		return fixed(bearer(config.BearerToken))
	case config.Username != "" || config.Password != "":
		pair := base64.StdEncoding.EncodeToString([]byte(config.Username + ":" + config.Password))
		return fixed{header: "Basic " + pair}
	}
	return fixed{}
}

// fixed never changes.
type fixed credential

func (f fixed) current(context.Context) (credential, error) { return credential(f), nil }
func (f fixed) renew(context.Context, credential) bool      { return false }
func (f fixed) fault() error                                { return nil }
