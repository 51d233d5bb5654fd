package cache

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

// fill stores the answers to n questions and n texts, and returns a Backend on the store.
func fill(t testing.TB, s *Store, n int) *Backend {
	t.Helper()
	b := Wrap(&backendtest.Fake{}, s, Use, nil)
	for i := range n {
		if _, err := b.Generate(t.Context(), ask(fmt.Sprint("question ", i))); err != nil {
			t.Fatal(err)
		}
		if _, err := backend.Embed(t.Context(), b, []string{fmt.Sprint("text ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFlippedBit damages values bit by bit: none may be read.
func TestFlippedBit(t *testing.T) {
	p, err := newPacker()
	if err != nil {
		t.Fatal(err)
	}
	key := backend.EncodeKey(backend.Info{}, backend.Embedding, backend.Pair{Text: "a"})
	for _, payload := range []string{"", "short", strings.Repeat("long, so that it is compressed; ", 30)} {
		value := p.pack(key, partAnswer, []byte(payload))
		if got, err := p.unpack(key, partAnswer, value); err != nil || string(got) != payload {
			t.Fatalf("%.10q came back as %.10q, %v", payload, got, err)
		}
		if _, err := p.unpack(key, partRequest, value); err == nil {
			t.Error("an answer was read as a request")
		}
		if _, err := p.unpack(backend.Key{}, partAnswer, value); err == nil {
			t.Error("a value was read under another key")
		}
		for bit := range 8 * len(value) {
			value[bit/8] ^= 1 << (bit % 8)
			if _, err := p.unpack(key, partAnswer, value); err == nil {
				t.Fatalf("bit %d of %d flipped, and not noticed", bit, 8*len(value))
			}
			value[bit/8] ^= 1 << (bit % 8)
		}
		for n := range value {
			if _, err := p.unpack(key, partAnswer, value[:n]); err == nil {
				t.Fatalf("cut to %d bytes of %d, and not noticed", n, len(value))
			}
		}
	}
}

// TestDamagedEntry checks that a damaged entry is asked again and written anew.
func TestDamagedEntry(t *testing.T) {
	s := open(t)
	b := fill(t, s, 3)
	fake := b.engine.(*backendtest.Fake)
	req := ask("question 1")
	key := backend.GenerateKey(b.Info(), req)
	if _, err := s.db.Exec("UPDATE answers SET answer = zeroblob(length(answer)) WHERE key = ?", key[:]); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Entry(t.Context(), key.String()); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("Entry of a damaged one: %v", err)
	}
	for i, want := range []int{1, 0, 0} { // asked again, then answered from memory and from the file
		before := fake.Stats().Calls()
		if _, err := b.Generate(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if n := fake.Stats().Calls() - before; n != want {
			t.Errorf("round %d: %d calls, want %d", i, n, want)
		}
		if i == 1 {
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := s.Entry(t.Context(), key.String()[:12]); err != nil {
		t.Error(err)
	}
	if st, err := s.Stats(t.Context()); err != nil || st.Damaged == 0 {
		t.Errorf("stats are %+v, %v", st, err)
	}
}

// TestForeignFiles opens what is not ours: an error that says so, and not a byte is changed.
func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	check := func(name, want string, write func(path string)) {
		t.Helper()
		path := filepath.Join(dir, name)
		write(path)
		before, _ := os.ReadFile(path)
		s, err := Open(path, nil)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Errorf("%s was changed", name)
		}
	}
	sqlFile := func(statements string) func(string) {
		return func(path string) {
			db, err := sql.Open("sqlite", dsn(path))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.Exec(statements); err != nil {
				t.Fatal(err)
			}
		}
	}
	check("text", "move it away", func(path string) { os.WriteFile(path, []byte("not a database"), 0o600) })
	check("long text", "move it away", func(path string) { os.WriteFile(path, make([]byte, 5000), 0o600) })
	check("other tables", "not a cache of assay", sqlFile("CREATE TABLE bookmarks (url TEXT)"))
	check("other program", "not a cache of assay", sqlFile("PRAGMA application_id = 77; CREATE TABLE x (y)"))
	check("newer", "newer assay",
		sqlFile(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 99; CREATE TABLE x (y)", applicationID)))
	check("truncated", "damaged", func(path string) {
		s, err := Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s, 50)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// Half of the first page is left: its header promises more.
		os.WriteFile(path, whole[:2048], 0o600)
	})
	if s, err := Open(dir, nil); err == nil {
		s.Close()
		t.Error("a folder was opened")
	}
}

// TestDamagedPages overwrites the middle of a file: the run goes on, with a warning.
func TestDamagedPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.db")
	s := openAt(t, path)
	fill(t, s, 200)
	s.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 8192; i < len(data); i++ {
		data[i] = byte(i * 7)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var warnings []string
	s, err = Open(path, func(err error) { mu.Lock(); warnings = append(warnings, err.Error()); mu.Unlock() })
	if err != nil {
		t.Logf("refused: %v", err) // as good
		return
	}
	b := Wrap(&backendtest.Fake{}, s, Use, nil)
	for i := range 200 {
		if _, err := b.Generate(t.Context(), ask(fmt.Sprint("question ", i))); err != nil {
			t.Fatal(err)
		}
	}
	checkErr := s.Check()
	s.Close()
	if len(warnings) == 0 || !strings.Contains(warnings[0], "move it away") {
		t.Errorf("warnings are %q", warnings)
	}
	if checkErr == nil {
		t.Error("Check found nothing wrong")
	}
}

// TestCannotWrite has writes fail for a while: the run goes on, answers are kept in memory, and written
// when that is possible again.
func TestCannotWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.db")
	warnings := make(chan error, 10)
	s, err := Open(path, func(err error) { warnings <- err })
	if err != nil {
		t.Fatal(err)
	}
	const full = "CREATE TRIGGER full BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'no room'); END"
	if _, err := s.db.Exec(full); err != nil {
		t.Fatal(err)
	}
	fake := &backendtest.Fake{}
	b := Wrap(fake, s, Use, nil)
	for range 2 {
		for i := range 10 {
			if _, err := b.Generate(t.Context(), ask(fmt.Sprint("question ", i))); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Flush(); err == nil || !strings.Contains(err.Error(), "no room") {
			t.Errorf("Flush: %v", err)
		}
	}
	if n := fake.Stats().Calls(); n != 10 {
		t.Errorf("%d calls, want 10: answers in memory count", n)
	}
	if len(warnings) != 1 {
		t.Errorf("%d warnings, want 1", len(warnings))
	}
	if _, err := s.db.Exec("DROP TRIGGER full"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if st, err := openAt(t, path).Stats(t.Context()); err != nil || st.Entries != 10 {
		t.Errorf("stats are %+v, %v, want 10 entries", st, err)
	}
}

func TestLostAnswers(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "answers.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	const full = "CREATE TRIGGER full BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'no room'); END"
	if _, err := s.db.Exec(full); err != nil {
		t.Fatal(err)
	}
	b := Wrap(&backendtest.Fake{}, s, Use, nil)
	for i := range 3 {
		if _, err := b.Generate(t.Context(), ask(fmt.Sprint("question ", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "3 answers could not be kept") {
		t.Errorf("Close: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
}

// TestMain lets the test binary be the other process of TestProcesses and TestKilled.
func TestMain(m *testing.M) {
	if path := os.Getenv("CACHE_TEST_CHILD"); path != "" {
		child(path)
		return
	}
	os.Exit(m.Run())
}

// child asks questions, in an order of its own, and prints each before it goes on with the next.
func child(path string) {
	s, err := Open(path, func(err error) { fmt.Println("warning:", err) })
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	b := Wrap(&backendtest.Fake{}, s, Use, nil)
	n := 400
	if os.Getenv("CACHE_TEST_ENDLESS") != "" {
		n = 1 << 30
	}
	for _, i := range order(n) {
		if _, err := b.Generate(context.Background(), ask(fmt.Sprint("question ", i))); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		if i%100 == 0 {
			if err := s.Flush(); err != nil {
				fmt.Println("error:", err)
				os.Exit(1)
			}
		}
		fmt.Println(i)
	}
	if err := s.Close(); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func order(n int) []int {
	if n > 1000 {
		list := make([]int, 1000000)
		for i := range list {
			list[i] = i
		}
		return list
	}
	return rand.Perm(n)
}

func childCommand(t *testing.T, path string, env ...string) *exec.Cmd {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), "CACHE_TEST_CHILD="+path), env...)
	return cmd
}

// TestProcesses has three processes make and fill one file.
func TestProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.db")
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			out, err := childCommand(t, path).CombinedOutput()
			if err != nil || strings.Contains(string(out), ":") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	s := openAt(t, path)
	st, err := s.Stats(t.Context())
	if err != nil || st.Entries != 400 || st.TotalHits+st.TotalMisses != 1200 {
		t.Errorf("stats are %+v, %v", st, err)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// TestKilled kills a process that writes, and checks that nothing it had flushed is lost.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.db")
	for round := range 3 {
		cmd := childCommand(t, path, "CACHE_TEST_ENDLESS=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		last := ""
		for n := 0; n < 250+100*round && lines.Scan(); n++ {
			last = lines.Text()
		}
		cmd.Process.Kill()
		cmd.Wait()
		if strings.Contains(last, ":") {
			t.Fatal(last)
		}
		s := openAt(t, path)
		if err := s.Check(); err != nil {
			t.Error(err)
		}
		fake := &backendtest.Fake{}
		b := Wrap(fake, s, Use, nil)
		for i := range 201 { // each hundredth question was flushed, with all before it
			if _, err := b.Generate(t.Context(), ask(fmt.Sprint("question ", i))); err != nil {
				t.Fatal(err)
			}
		}
		if n := fake.Stats().Calls(); n != 0 {
			t.Errorf("round %d: %d answers are lost", round, n)
		}
		s.Close()
	}
}

func TestTouch(t *testing.T) {
	s := open(t)
	b := fill(t, s, 2)
	old := time.Now().Add(-30 * 24 * time.Hour)
	if _, err := s.db.Exec("UPDATE answers SET created = ?, used = ?", old.UnixMilli(), old.UnixMilli()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Generate(t.Context(), ask("question 0")); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	e, err := s.Entry(t.Context(), backend.GenerateKey(b.Info(), ask("question 0")).String())
	if err != nil || time.Since(e.LastUsed) > time.Hour || time.Since(e.Created) < 29*24*time.Hour {
		t.Errorf("entry is %+v, %v", e, err)
	}
	p, err := s.Prune(t.Context(), 8*24*time.Hour, 0)
	if err != nil || p.Entries != 3 {
		t.Errorf("pruned %+v, %v, want the 3 that were not used", p, err)
	}
}
