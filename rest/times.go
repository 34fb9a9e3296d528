// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func fillTime(c *cursor, v reflect.Value) bool {
	t, ok := parseTime(c, time.RFC3339)
	v.Addr().Interface().(*metav1.Time).Time = t
	return ok
}

func fillMicroTime(c *cursor, v reflect.Value) bool {
	t, ok := parseTime(c, metav1.RFC3339Micro)
	v.Addr().Interface().(*metav1.MicroTime).Time = t
	return ok
}

// parseTime reads a time as the types of metav1 do, without their garbage for the form
// that servers write.
func parseTime(c *cursor, layout string) (t time.Time, ok bool) {
	switch c.next() {
	case 'n':
		return t, fillNull(c)
	case '"':
	default:
		return t, false
	}
	quoted := c.quoted()
	text := quoted[1 : len(quoted)-1]
	if t, ok := parseSeconds(text); ok && layout == time.RFC3339 {
		return t.Local(), true
	}
	t, err := time.Parse(layout, string(text))
	return t.Local(), err == nil
}

// parseSeconds reads 2006-01-02T15:04:05Z and nothing else.
func parseSeconds(text []byte) (t time.Time, ok bool) {
	const form = "dddd-dd-ddTdd:dd:ddZ"
	if len(text) != len(form) {
		return t, false
	}
	var parts [6]int
	part := 0
	for i, b := range text {
		switch {
		case form[i] != 'd' && form[i] != b:
			return t, false
		case form[i] != 'd':
			part++
		case b < '0' || b > '9':
			return t, false
		default:
			parts[part] = 10*parts[part] + int(b-'0')
		}
	}
	hour, minute, second := parts[3], parts[4], parts[5]
	t = time.Date(parts[0], time.Month(parts[1]), parts[2], hour, minute, second, 0, time.UTC)
	// A date that there is not has become another one.
	ok = int(t.Month()) == parts[1] && t.Day() == parts[2] && hour < 24 && minute < 60 && second < 60
	return t, ok
}
