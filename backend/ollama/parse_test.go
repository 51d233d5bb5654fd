package ollama

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ollama/ollama/api"
)

func TestParseAddress(t *testing.T) {
	check := func(address, want string) {
		t.Helper()
		u, err := parseAddress(address)
		if err != nil {
			t.Errorf("%q: %v", address, err)
		} else if u.String() != want {
			t.Errorf("%q is %s, want %s", address, u, want)
		}
	}
	check("", "http://127.0.0.1:11434")
	check("10.1.2.3", "http://10.1.2.3:11434")
	check("example:80", "http://example:80")
	check(" box ", "http://box:11434")
	check(":1234", "http://127.0.0.1:1234")
	check("0.0.0.0", "http://127.0.0.1:11434")
	check("0.0.0.0:99", "http://127.0.0.1:99")
	check("[::]:99", "http://[::1]:99")
	check("::1", "http://[::1]:11434")
	check("[::1]", "http://[::1]:11434")
	check("[fe80::1]:5", "http://[fe80::1]:5")
	check("http://box", "http://box:80")
	check("https://box", "https://box:443")
	check("https://box:8443/models/ollama/", "https://box:8443/models/ollama")

	if u, err := parseAddress("http://box/a/b"); err != nil ||
		u.JoinPath("/api/chat").String() != "http://box:80/a/b/api/chat" {
		t.Errorf("a path under an address with a path is %v, %v", u.JoinPath("/api/chat"), err)
	}

	for _, address := range []string{"ftp://box", "http://user:word@box", "box:port", "box:70000", "box:0",
		"box:-1", "box?x",
		"http://box#x", "a b", "1:2:3:4", "http://http://box", "box\x00:1\n2"} {
		if u, err := parseAddress(address); err == nil {
			t.Errorf("%q was taken for %s", address, u)
		}
	}
}

func TestConnectEnvironment(t *testing.T) {
	t.Setenv("OLLAMA_HOST", ` "0.0.0.0:777" `)
	if s := mustConnect(t, ""); s.String() != "http://127.0.0.1:777" {
		t.Errorf("OLLAMA_HOST gives %s", s)
	}
	if s := mustConnect(t, "box"); s.String() != "http://box:11434" {
		t.Errorf("an address given besides OLLAMA_HOST gives %s", s)
	}
}

func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"", "box:1", "https://[::1]/x", "0.0.0.0", "a@b", "//", "[", "::", "http://%zz"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, address string) {
		u, err := parseAddress(address)
		if err != nil {
			return
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Port() == "" || u.User != nil {
			t.Errorf("%q is %+v", address, u)
		}
		again, err := parseAddress(u.Scheme + "://" + u.Host + "/" + u.Path)
		if err != nil || !reflect.DeepEqual(again, u) {
			t.Errorf("%q is %s, and that is %s, %v", address, u, again, err)
		}
	})
}

func TestOlderThan(t *testing.T) {
	for version, want := range map[string][2]bool{
		"0.12.5": {true, true}, "0.9.0": {true, true}, "0.1.48-rc1": {true, true},
		"0.12.6": {true, false}, "0.17.4": {true, false}, "1.0.0": {true, false}, "0.13.0-rc2": {true, false},
		"0.0.0": {false, false}, "dev": {false, false}, "0.17": {false, false},
	} {
		if known, old := olderThan(version, 12, 6); [2]bool{known, old} != want {
			t.Errorf("%s: known %v, too old %v; want %v", version, known, old, want)
		}
	}
	for version, want := range map[string]bool{"0.17.4": true, "0.17.4-rc1+dirty_2": true, "": false, "0 1": false,
		"0.1\n":                 false,
		strings.Repeat("1", 65): false} {
		if plainVersion(version) != want {
			t.Errorf("version %q is plain: %v", version, !want)
		}
	}
}

func TestNamed(t *testing.T) {
	list := []api.ListModelResponse{{Name: "llama3:latest"}, {Name: "llama3:8b"}, {Name: "host:5000/me/It:latest"}}
	check := func(name string, want int) {
		t.Helper()
		got := named(list, name)
		if want < 0 && got != nil || want >= 0 && got != &list[want] {
			t.Errorf("%q is found as %v, want number %d", name, got, want)
		}
	}
	check("llama3", 0)
	check("Llama3:LATEST", 0)
	check("library/llama3", 0)
	check("registry.ollama.ai/library/llama3:8b", 1)
	check("host:5000/me/it", 2)
	check("llama", -1)
	check("llama3:7b", -1)
	check("", -1)
}

func TestMostAtOnce(t *testing.T) {
	at := func(from, to int) span {
		return span{time.UnixMilli(int64(from)), time.UnixMilli(int64(to))}
	}
	check := func(want int, spans ...span) {
		t.Helper()
		if got := mostAtOnce(spans); got != want {
			t.Errorf("%v: %d at once, want %d", spans, got, want)
		}
	}
	check(1, at(0, 10))
	check(1, at(0, 10), at(10, 20), at(20, 30))
	check(2, at(0, 11), at(10, 20), at(20, 30))
	check(2, at(0, 10), at(0, 10))
	check(3, at(0, 100), at(10, 20), at(15, 40), at(30, 50))
	check(1, at(5, 5), at(5, 5)) // no times at all
}

// TestLargeAnswer checks that no more of an answer is read than allowed.
func TestLargeAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"version":"`+strings.Repeat("1", 1000)+`"}`)
	}))
	defer server.Close()
	x := mustConnect(t, server.URL).exchange()
	x.left = 100
	_, err := x.client().Version(t.Context())
	want{nil, "too large"}.check(t, "1000 bytes of 100", x.outcome(t.Context(), err))

	// What package api makes of it does not matter.
	if err := x.outcome(t.Context(), &url.Error{
		Op: "Get", Err: errors.New("something"),
	}); !strings.Contains(err.Error(), "too large") {
		t.Error(err)
	}
}
