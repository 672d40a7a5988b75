package blackbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/record/mirror"
)

// The reader finds what a process had in its file: open, or ended well.
func TestReadsWhatWasOpen(t *testing.T) {
	b := openBox(t, t.TempDir(), nil)
	s := begin(b, "GET /items/5")
	s.Write(&mirror.Entry{Kind: mirror.Mark, Name: "cache.miss"})
	end(begin(b, "GET /ended"))
	receipt := put(b, "taken")
	put(b, "waits")
	b.Spool().Done(receipt)
	_, d := take(t, died(t, b))
	if len(d.Open) != 1 || d.Open[0].Name != "GET /items/5" || len(d.Open[0].Entries) != 1 || d.Kind != Gone {
		t.Errorf("open is %+v, and the kind is %s", d.Open, d.Kind)
	}
	if len(d.Items) != 1 || string(d.Items[0].Body) != "waits" || d.Facts.PID != os.Getpid() || d.Facts.Service != "shop" {
		t.Errorf("the items are %+v, and the facts %+v", d.Items, d.Facts)
	}
	if f, err := Take(b.name); f != nil || err != nil {
		t.Errorf("the file of a living process: taken %v, %v", f, err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	before := must(os.ReadFile(b.name))
	s.Write(&mirror.Entry{Kind: mirror.Mark, Name: "late"})
	end(s)
	if put(b, "late") > 0 || b.Region().Take() != nil {
		t.Error("a closed box takes requests and spans")
	}
	b.beat()
	if !slices.Equal(must(os.ReadFile(b.name)), before) {
		t.Error("a write after Close")
	}
	if _, d := take(t, b.name); d.Kind != Ended || len(d.Open) != 1 || len(d.Items) != 1 {
		t.Errorf("after Close, the kind is %s", d.Kind)
	}
}

func newest(b *Box) Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.status
}

// There is one heartbeat in five seconds without requests, and ten in a second with them.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openBox(t, t.TempDir(), nil)
		defer b.Close()
		beats := func(d time.Duration) int {
			before := newest(b).Beat
			time.Sleep(d)
			synctest.Wait()
			return int(newest(b).Beat - before)
		}
		beats(time.Minute)
		if n := beats(time.Minute); n != 12 {
			t.Errorf("%d heartbeats in a minute without requests", n)
		}
		time.Sleep(time.Second) // between two heartbeats
		s := begin(b, "GET /")
		if n := beats(busyBeat); n != 1 {
			t.Errorf("%d heartbeats just after the first request", n)
		}
		if n := beats(10 * time.Second); n != 100 {
			t.Errorf("%d heartbeats in 10 s with a request", n)
		}
		for range 1000 { // each one wakes nothing
			end(begin(b, "GET /other"))
		}
		if n := beats(10 * time.Second); n != 100 {
			t.Errorf("%d heartbeats in 10 s with a request", n)
		}
		end(s)
		beats(time.Second)
		if n := beats(time.Minute); n != 12 {
			t.Errorf("%d heartbeats in a minute after the last request", n)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if n := beats(time.Minute); n != 0 {
			t.Errorf("%d heartbeats after Close", n)
		}
	})
}

// A request that begins in the middle of a heartbeat is not left for five seconds.
func TestRequestDuringHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openBox(t, t.TempDir(), nil)
		defer b.Close()
		time.Sleep(time.Minute)
		var once atomic.Bool
		b.SetCounts(func() []Count {
			if !once.Swap(true) {
				begin(b, "GET /")
			}
			return nil
		})
		time.Sleep(idleBeat) // a heartbeat asks for the counts
		synctest.Wait()
		if at := newest(b).At; !once.Load() || time.Since(at) > busyBeat {
			t.Errorf("the request has begun %t; the last heartbeat was %v ago", once.Load(), time.Since(at))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if at := newest(b).At; time.Since(at) > busyBeat {
			t.Errorf("the last heartbeat was %v ago", time.Since(at))
		}
	})
}

// What happens to the file of a living process is told once. Requests go on, and the file of another process stays.
func TestFileIsLost(t *testing.T) {
	for _, c := range []struct {
		name string
		lose func(t *testing.T, file string)
		want string
	}{
		{"the volume is gone", func(t *testing.T, file string) {
			if err := os.RemoveAll(filepath.Dir(file)); err != nil {
				t.Fatal(err)
			}
		}, "the file was removed"},
		{"another file has the name", func(t *testing.T, file string) {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("another"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "another file has the name"},
		{"the file is cut", func(t *testing.T, file string) {
			if err := os.Truncate(file, 0); err != nil {
				t.Fatal(err)
			}
		}, "a write to the mapped file has failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "box")
				var told []string
				b := openBox(t, dir, func(err error) { told = append(told, err.Error()) })
				open := begin(b, "GET /open")
				c.lose(t, b.name)
				time.Sleep(time.Minute)
				synctest.Wait()
				if len(told) != 1 || !strings.Contains(told[0], b.name) || !strings.Contains(told[0], c.want) {
					t.Errorf("told %q, want one line with %q", told, c.want)
				}
				open.Write(&mirror.Entry{Kind: mirror.Mark, Name: "late"})
				end(open)
				if b.Region().Take() != nil {
					t.Error("a lost box has room for a request")
				}
				if err := b.Close(); err != nil {
					t.Error(err)
				}
				switch text, err := os.ReadFile(b.name); {
				case err == nil && string(text) != "another", err != nil && c.name == "another file has the name":
					t.Errorf("the file has %q, %v", text, err)
				}
			})
		})
	}
}

// A file that is cut while requests run ends the black box, and not the program.
func TestFileIsCutUnderLoad(t *testing.T) {
	var told atomic.Int32
	b := openBox(t, t.TempDir(), func(error) { told.Add(1) })
	done, cut := make(chan bool), make(chan bool)
	const requests = 8
	for range requests {
		s := begin(b, "GET /")
		go func() {
			defer func() { done <- true }()
			for i := range 2000 {
				if i == 1000 {
					done <- true
					<-cut
				}
				s.Attributes().Text("key", "value")
				s.Write(&mirror.Entry{Kind: mirror.Mark, Name: "mark"})
				s.Route("/items/{id}")
			}
		}()
	}
	for range requests {
		<-done
	}
	if err := os.Truncate(b.name, 0); err != nil {
		t.Fatal(err)
	}
	close(cut)
	for range requests {
		<-done
	}
	if told.Load() != 1 || !b.memory.Closed() {
		t.Errorf("told %d times", told.Load())
	}
}

// A box needs a directory that it can write. The error names the directory, and nothing is left behind.
func TestOpenFails(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("the program's"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, filepath.Join(file, "below"), filepath.Join(dir, "zero\x00byte"), "not UTF-8 \xff"} {
		b, err := Open(Config{Dir: name, Self: nobody, Failed: func(err error) { t.Error(err) }})
		if err == nil || !strings.Contains(err.Error(), dir) && !strings.Contains(err.Error(), `"not UTF-8 \xff": must be UTF-8`) {
			t.Errorf("%q: %v, %v", name, b, err)
		}
	}
	if entries := must(os.ReadDir(dir)); len(entries) != 1 || string(must(os.ReadFile(file))) != "the program's" {
		t.Errorf("left behind: %v", entries)
	}
}

// A relative directory is one of the time of Start.
func TestRelativeDirectory(t *testing.T) {
	before := t.TempDir()
	t.Chdir(before)
	b := openBox(t, "box", nil)
	t.Chdir(t.TempDir())
	b.write(false)
	if names := must(Find(filepath.Join(before, "box"))); len(names) != 1 || names[0] != b.Name() || b.memory.Closed() {
		t.Errorf("the box is %s, and the files are %q", b.Name(), names)
	}
}

// What has no room in the facts and in the status is left out.
func TestLargeFacts(t *testing.T) {
	b, err := Open(Config{Dir: t.TempDir(), Service: "shop", Resource: make([]byte, factsSize), Origin: time.Now(), Self: nobody, Failed: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	b.SetCounts(func() (all []Count) {
		for range 10_000 {
			all = append(all, Count{"spans", 1})
		}
		return all
	})
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	_, d := take(t, b.name)
	if d.Facts.Service != "shop" || d.Facts.Resource != nil || d.Kind != Ended || len(d.Status.Counts) < 100 {
		t.Errorf("the facts are %+v, with %d counts", d.Facts, len(d.Status.Counts))
	}
}
