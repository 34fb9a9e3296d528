// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// storeModel is a Store as a map: an object is a word, its key is what stands before the
// colon, and the letters behind it are the values of its index.
type storeModel map[string]string

func storeWordKey(word string) (string, error) {
	key, _, _ := strings.Cut(word, ":")
	return key, nil
}

// storeWordValues has duplicates where a letter comes twice, none for "", and fails for
// words with an e.
func storeWordValues(word string) ([]string, error) {
	_, letters, _ := strings.Cut(word, ":")
	if strings.Contains(letters, "e") {
		return nil, fmt.Errorf("an e")
	}
	if letters == "" {
		return nil, nil
	}
	return strings.Split(letters, ""), nil
}

func newWordStore() *Store[string] {
	return NewStore(StoreOptions[string]{KeyFunc: storeWordKey, Indexers: Indexers[string]{
		"letter": storeWordValues,
		"word":   func(word string) ([]string, error) { return []string{word}, nil },
	}})
}

// compareStore compares everything that a reader can see with the model.
func compareStore(t *testing.T, s *Store[string], m storeModel) {
	t.Helper()
	if err := CheckStore(s); err != nil {
		t.Fatal(err)
	}
	if all := maps.Collect(s.All()); !maps.Equal(all, m) || s.Len() != len(m) {
		t.Fatalf("store %v, model %v", all, m)
	}
	letters, words := map[string][]string{}, []string{}
	for _, word := range m {
		words = append(words, word)
		values, _ := storeWordValues(word)
		slices.Sort(values)
		for _, value := range slices.Compact(values) {
			letters[value] = append(letters[value], word)
		}
	}
	if got := s.List(); !equalSorted(got, words) {
		t.Fatalf("list %v, model %v", got, words)
	}
	if got, _ := s.IndexValues("letter"); !equalSorted(got, slices.Collect(maps.Keys(letters))) {
		t.Fatalf("values %v, model %v", got, letters)
	}
	for value, want := range letters {
		if got, _ := s.ByIndex("letter", value); !equalSorted(got, want) {
			t.Fatalf("%s: %v, model %v", value, got, want)
		}
	}
}

func equalSorted(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// step does to both what two bytes say.
func (m storeModel) step(t *testing.T, s *Store[string], op, arg byte) {
	key := fmt.Sprintf("k%d", arg%40)
	word := key + ":" + strings.Repeat(string(rune('a'+arg%7)), int(arg>>6)) + string(rune('a'+op%5))
	var err error
	switch op >> 5 {
	case 0, 1, 2:
		err, m[key] = s.Add(t.Context(), word), word
	case 3, 4:
		err = s.Delete(t.Context(), word)
		delete(m, key)
	case 5:
		d := Delta[string]{Type: DeltaUpdated, Key: key, Object: word, UID: "u", ResourceVersion: "1"}
		err, m[key] = s.Apply(Deltas[string]{d}), word
	case 6:
		s.List() // the next write copies
		reader := s.s.mu.enter(0)
		s.s.table.Values(0)
		reader.leave()
		return
	default:
		m.replace(t, s, uint64(op)<<8|uint64(arg))
		return
	}
	if _, bad := storeWordValues(word); (err != nil) != (bad != nil && m[key] == word) {
		t.Fatalf("op %d of %q: %v", op>>5, word, err)
	}
}

// replace lists a random part of what there is, changed here and there, and more.
func (m storeModel) replace(t *testing.T, s *Store[string], seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	list, err := s.BeginReplace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	next := storeModel{}
	for i := range 1 + r.IntN(400) {
		word := fmt.Sprintf("k%d:%c", i, 'a'+r.IntN(4))
		if old, ok := m[fmt.Sprintf("k%d", i)]; ok && r.IntN(2) == 0 {
			word = old
		}
		key, _ := storeWordKey(word)
		if r.IntN(4) == 0 {
			continue
		}
		next[key] = word
		if err := list.Put(word); err != nil {
			t.Fatal(err)
		}
	}
	if r.IntN(8) == 0 {
		list.Abort()
		return
	}
	_ = list.Commit("1") // words with an e among the old ones
	clear(m)
	maps.Copy(m, next)
}

func FuzzStore(f *testing.F) {
	f.Add([]byte{0, 1, 0, 2, 3, 65, 100, 1, 192, 0, 2, 193, 5, 130, 160, 7, 224, 1, 100, 2, 255, 9})
	r := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		steps := make([]byte, 400)
		for i := range steps {
			steps[i] = byte(r.Uint32())
		}
		f.Add(steps)
	}
	f.Fuzz(func(t *testing.T, steps []byte) {
		s, m := newWordStore(), storeModel{}
		for i := 0; i+1 < len(steps); i += 2 {
			m.step(t, s, steps[i], steps[i+1])
			compareStore(t, s, m)
		}
	})
}

// TestStoreFrozenStates keeps what readers took, and compares it after many more writes.
func TestStoreFrozenStates(t *testing.T) {
	type frozen struct {
		state snapshot[string]
		want  []snapped[string]
	}
	r := rand.New(rand.NewPCG(3, 4))
	s, m := newWordStore(), storeModel{}
	var kept []frozen
	for i := range 3000 {
		m.step(t, s, byte(r.UintN(224)), byte(r.Uint32()))
		if i%100 == 0 {
			m.replace(t, s, uint64(i))
		}
		if i%37 == 0 {
			state := snapshotOf(s.view)
			kept = append(kept, frozen{state, readAll(state)})
		}
	}
	for i, f := range kept {
		if now := readAll(f.state); !slices.Equal(now, f.want) {
			t.Fatalf("state %d has changed since it was taken", i)
		}
	}
	compareStore(t, s, m)
}

func readAll[T any](state snapshot[T]) (all []snapped[T]) {
	for obj, ok := state.next(); ok; obj, ok = state.next() {
		all = append(all, obj)
	}
	return all
}
