// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/informertest"

	"k8s.io/klog/v2"
)

// fuzzQuirks are what a program of FuzzMirror switches between.
var fuzzQuirks = []informertest.Quirks{
	{}, {NoBookmarks: true}, {NoMarker: true}, {RefuseWatchList: true}, {IgnoreWatchList: true}, {NoPaging: true},
	{IgnoreTimeout: true}, {HalfOpen: true}, {Truncate: true}, {ExpireTokens: true}, {RepeatTokens: true},
	{DropEvents: 2}, {DuplicateEvents: 2}, {ReorderEvents: 2}, {Slow: time.Second}, {Latency: 5 * time.Second},
}

// fuzzStep does what one byte of a program says.
func fuzzStep(t *testing.T, pods *informertest.Collection[*pod], code byte, saved **informertest.Snapshot) {
	name := fmt.Sprint("pod-", code>>4)
	switch code & 15 {
	case 0, 1: // what is there already, or is not, is an error that says so
		_, _ = pods.Create(t.Context(), parse(name))
	case 2, 3, 4:
		_, _ = pods.Update(t.Context(), parse(name+" {"+pods.ResourceVersion()+"}"))
	case 5:
		_ = pods.Delete(t.Context(), "ns", name)
	case 6:
		pods.CutStreams()
	case 7:
		pods.Compact()
	case 8:
		pods.FailNext(int(code>>4), errors.New("down"))
	case 9:
		pods.FailNext(int(code>>4), status([]int32{400, 401, 404, 410, 429, 500, 503}[(code>>4)%7], "no"))
	case 10:
		pods.SetQuirks(fuzzQuirks[code>>4])
	case 11:
		*saved = pods.Snapshot()
	case 12:
		if *saved != nil {
			pods.Restore(*saved)
		}
	case 13:
		time.Sleep(time.Duration(code>>4) * time.Second)
	case 14:
		time.Sleep(time.Duration(code>>4) * time.Minute)
	default:
		pods.Recover()
	}
}

// P1: whatever a source did, once it is well again the mirror becomes equal to it.
func FuzzMirror(f *testing.F) {
	f.Add([]byte("\x00\x10\x02\xde\x06\x07\x12\x2e"))
	f.Add([]byte{0x00, 0x0b, 0x10, 0x02, 0x1e, 0x0c, 0x20, 0x5d, 0x30, 0x2e})
	f.Add([]byte{0xba, 0x00, 0x10, 0x02, 0x05, 0x2e, 0x07, 0x06, 0x38})
	f.Add([]byte{0x7a, 0x00, 0x6e, 0x8a, 0x06, 0x10, 0x2e, 0x09, 0x19, 0x29})
	f.Add([]byte{0x2a, 0x06, 0x07, 0x00, 0x4a, 0x06, 0x99, 0x69, 0x1e, 0xaa, 0x07})
	f.Fuzz(func(t *testing.T, program []byte) {
		program = program[:min(len(program), 60)]
		synctest.Test(t, func(t *testing.T) {
			pods := informertest.NewCollection(t, parse("pod-1"), parse("pod-2"), parse("pod-3"), parse("pod-4"))
			options := informer.Options[*pod]{}
			options.Verify, options.PageSize = 5*time.Minute, 2
			mirror := informer.New(pods, options)
			ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
			done := make(chan error, 1)
			go func() { done <- mirror.Run(ctx) }()
			var saved *informertest.Snapshot
			for _, code := range program {
				fuzzStep(t, pods, code, &saved)
			}
			pods.Recover()
			pods.SetQuirks(informertest.Quirks{})
			time.Sleep(30 * time.Minute) // a stream that hangs, the longest backoff, and two of Verify
			synctest.Wait()
			pods.RequireEqual(t, mirror.Store())
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	})
}
