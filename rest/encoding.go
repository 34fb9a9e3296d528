// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"fmt"
	"mime"
	"strings"
)

// Encoding is how a server is asked to write objects, by its media type.
type Encoding string

// The encodings, as https://kubernetes.io/docs/reference/using-api/api-concepts/ has them.
// All servers have JSON, those of Kubernetes have Protobuf for built-in types and, from
// 1.32 on and where it is switched on, CBOR for all.
const (
	JSON     Encoding = "application/json"
	Protobuf Encoding = "application/vnd.kubernetes.protobuf"
	CBOR     Encoding = "application/cbor"
)

// stream is the media type to ask for a watch in. For CBOR a server sends a sequence, and
// says so, but does not know application/cbor-seq where it is asked for.
func (e Encoding) stream() string {
	if e == Protobuf {
		return string(e) + ";stream=watch"
	}
	return string(e)
}

// encodingOf reads a content type. What is not said, or not clearly, is taken for JSON.
// An encoding that was not asked for is none that could be read.
func encodingOf(header string, asked Encoding) (Encoding, error) {
	media, _, err := mime.ParseMediaType(header)
	switch {
	case media == string(asked), media == "application/cbor-seq" && asked == CBOR:
		return asked, nil
	case header == "", media == "application/json", strings.HasSuffix(media, "+json"),
		media == "text/plain", media == "application/octet-stream":
		return JSON, nil
	case err != nil:
		return "", fmt.Errorf("%w: unreadable content type", ErrContentType)
	}
	return "", fmt.Errorf("%w but %s", ErrContentType, safeMedia(media))
}

// safeMedia is a media type for an error message, if it has the form of one.
func safeMedia(media string) string {
	if _, name, ok := strings.Cut(media, "/"); !ok || name == "" || len(media) > 127 {
		return "a content type of no known form"
	}
	return media
}
