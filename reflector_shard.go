// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// A shard is cut out here, whatever the server does: of two servers behind one address,
// one may know the selector and the other may not.

// setShard has the collection listed again, in another part.
func (r *Reflector) setShard(shard Shard) {
	r.nextShard.Store(&shard)
	select {
	case r.reshard <- struct{}{}:
	default: // the reader looks already
	}
}

// shardChanged reports whether another part is wanted than the one under way.
func (r *Reflector) shardChanged() bool { return *r.nextShard.Load() != r.shard }

// adoptShard begins the part that is wanted now.
func (r *Reflector) adoptShard() { r.shard = *r.nextShard.Load() }

// shardUnlisted reports whether the round has to begin with a list, which has an echo of
// the selector; a watch-list has none.
func (r *Reflector) shardUnlisted() bool {
	if r.synced {
		return r.shard != r.listedShard
	}
	return !r.shard.whole()
}

// rescoped returns what the list under way changes of the scope, nil if nothing.
func (r *Reflector) rescoped() *rescope {
	if !r.synced || r.shard == r.listedShard {
		return nil
	}
	return &rescope{from: r.listedShard, to: r.shard}
}

// elsewhere reports whether an object belongs to another part. One without an identity
// does not: it is for others to say what is wrong with it.
func (r *Reflector) elsewhere(obj runtime.Object) bool {
	if r.shard.whole() || notAnObject(obj) != nil {
		return false
	}
	m, ok := obj.(metav1.Object)
	return ok && m.GetName() != "" && !r.shard.holdsObject(m)
}

// pushOut takes note of an event for an object of another part. If it is there, one of the
// same name that was in this part is not any more.
func (r *Reflector) pushOut(ctx context.Context, event watch.EventType, m metav1.Object) error {
	if event == watch.Deleted {
		return nil
	}
	return r.loseOther(ctx, m, m.GetUID())
}
