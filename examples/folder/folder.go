// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// File is an Object: embedding gives all methods but DeepCopyObject.
type File struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Size int64 // in bytes
}

// DeepCopyObject copies the file's description.
func (f *File) DeepCopyObject() runtime.Object {
	c := *f
	c.ObjectMeta = *f.ObjectMeta.DeepCopy()
	return &c
}

// pollPeriod is how often a folder is looked at while it is watched.
const pollPeriod = 20 * time.Millisecond

// folder is an informer.ListerWatcher. Its versions count the looks that found something
// new, so they are numbers that grow, as those of an API server are.
type folder struct {
	path string

	mu      sync.Mutex
	version uint64
	files   map[string]*File // as of the version
}

// look brings the files up to date, and returns what is new, as events.
func (f *folder) look() ([]watch.Event, error) {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var events []watch.Event
	found := map[string]*File{}
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed a moment ago
		} else if err != nil {
			return nil, err
		}
		known := f.files[entry.Name()]
		if known != nil && known.Size == info.Size() && known.CreationTimestamp.Time.Equal(info.ModTime()) {
			found[entry.Name()] = known
			continue
		}
		file := f.next(entry.Name(), info)
		found[entry.Name()] = file
		kind := watch.Modified
		if known == nil {
			kind = watch.Added
		}
		events = append(events, watch.Event{Type: kind, Object: file})
	}
	for name, file := range f.files {
		if found[name] == nil {
			f.version++
			gone := file.DeepCopyObject().(*File)
			gone.ResourceVersion = strconv.FormatUint(f.version, 10)
			events = append(events, watch.Event{Type: watch.Deleted, Object: gone})
		}
	}
	f.files = found
	return events, nil
}

func (f *folder) next(name string, info fs.FileInfo) *File {
	f.version++
	file := &File{Size: info.Size()}
	file.Name, file.ResourceVersion = name, strconv.FormatUint(f.version, 10)
	file.CreationTimestamp = metav1.NewTime(info.ModTime()) // it has no other time
	return file
}

// List returns all files.
func (f *folder) List(context.Context, metav1.ListOptions) (runtime.Object, error) {
	if _, err := f.look(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	list := &informer.ObjectList[*File]{ListMeta: metav1.ListMeta{ResourceVersion: strconv.FormatUint(f.version, 10)}}
	for _, file := range f.files {
		list.Items = append(list.Items, file)
	}
	return list, nil
}

// Watch looks again and again. What it finds is new since the last look, so it serves the
// version that this had, and answers any other one as an API server does: expired.
func (f *folder) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	events := make(chan watch.Event)
	stream := watch.NewProxyWatcher(events)
	f.mu.Lock()
	fresh := options.ResourceVersion == strconv.FormatUint(f.version, 10)
	f.mu.Unlock()
	go func() {
		defer close(events)
		if !fresh {
			send(ctx, stream, events, watch.Event{Type: watch.Error, Object: &metav1.Status{Code: 410, Reason: metav1.StatusReasonExpired}})
			return
		}
		f.poll(ctx, stream, events)
	}()
	return stream, nil
}

func (f *folder) poll(ctx context.Context, stream *watch.ProxyWatcher, events chan<- watch.Event) {
	ticker := time.NewTicker(pollPeriod)
	defer ticker.Stop()
	for {
		found, err := f.look()
		if err != nil {
			return // the next list says why
		}
		for _, event := range found {
			if !send(ctx, stream, events, event) {
				return
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		case <-stream.StopChan():
			return
		}
	}
}

// send reports whether the stream goes on.
func send(ctx context.Context, stream *watch.ProxyWatcher, events chan<- watch.Event, event watch.Event) bool {
	select {
	case events <- event:
		return true
	case <-ctx.Done():
	case <-stream.StopChan():
	}
	return false
}

// IsWatchListSemanticsUnSupported says that a watch does not begin with what there is.
func (*folder) IsWatchListSemanticsUnSupported() bool { return true }
