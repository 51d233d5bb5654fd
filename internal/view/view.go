// Package view is a local page over runs: the list of a run's rows, each row with its evidence in place, two runs side by
// side, and labels by key.
//
//  1. An index, one SQLite file for each run outside of its folder, is made from the results and the dataset while the
//     page is already shown, and goes on as long as the run does. It is thrown away when the run is another.
//  2. The list is paged, sorted, filtered and searched by that index, whatever the number of rows.
//  3. A row is laid out by package exhibit, from the sample in the index and the results in the run folder.
//  4. Pages are made on the server by templates that escape what datasets and models say. The script of the page fetches
//     parts of them and listens to keys; it makes no markup of its own.
//
// Only who knows the token in the address is answered, from this machine's own addresses, under a content policy that lets
// the page ask for nothing from elsewhere. Nothing is written but the index and the file of labels.
package view

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/assay-eval/assay/backend/cache"
	"github.com/assay-eval/assay/internal/exhibit"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study/labels"
	"github.com/assay-eval/assay/internal/view/index"
)

// Options say what a viewer shows.
type Options struct {
	Folder string // where the indexes are kept
	Token  string // the first part of the address
	Data   string // the dataset, where it is not any more where the runs found it; "": it is

	Labels string // the file that labels are written to; "": nothing can be labelled
	Scale  int    // labels are from 1 to Scale; 0: they are 0 and 1

	// Answers finds an answer of a model by its key; nil: none can be looked up.
	Answers func(ctx context.Context, key string) (*cache.Entry, error)
}

// A Viewer answers the requests of the page. Make one with [Open].
type Viewer struct {
	options Options
	indexes []*index.Index
	pages   *template.Template
	routes  *http.ServeMux
	stop    func()
	done    sync.WaitGroup

	mu   sync.Mutex
	book *labels.Book // nil: nothing can be labelled

	slicing sync.Mutex
	slices  map[*index.Index]*sliced // of the runs of which they were looked at
}

// Find lists the run folders that are named, or lie in a folder that is.
func Find(dirs []string) ([]string, error) {
	var found []string
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "run.json")); err == nil {
			found = append(found, dir)
			continue
		}
		list, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*", "run.json"))
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, runs.Inputf("%s is no run folder, and holds none", dir).WithHint(
				"assay run --data FILE -o DIR makes one")
		}
		for _, path := range list {
			found = append(found, filepath.Dir(path))
		}
	}
	return found, nil
}

// escapeGlob makes a pattern that only the path itself matches.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path // where nothing can be escaped
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// Open opens the runs in the folders and begins to index them. Close ends that.
func Open(ctx context.Context, dirs []string, o Options) (*Viewer, error) {
	pages, err := exhibit.Template()
	if err == nil {
		pages, err = pages.Parse(pageTemplates)
	}
	if err != nil {
		return nil, err
	}
	v := &Viewer{options: o, pages: pages, routes: http.NewServeMux(), stop: func() {}, slices: map[*index.Index]*sliced{}}
	if o.Labels != "" {
		if v.book, err = labels.OpenBook(o.Labels); err != nil {
			return nil, &runs.InputError{Err: err}
		}
	}
	index.Sweep(o.Folder, time.Now())
	for _, dir := range dirs {
		run, err := runs.Open(dir)
		if err == nil {
			var x *index.Index
			if x, err = index.Open(run, o.Folder, v.open); err == nil {
				v.indexes = append(v.indexes, x)
			}
		}
		if err != nil {
			v.Close()
			return nil, err
		}
	}
	ctx, v.stop = context.WithCancel(ctx)
	v.done.Go(func() {
		for _, x := range v.indexes { // the first rows of all, then one run after the other: the first is looked at
			x.Peek(ctx)
		}
		for _, x := range v.indexes {
			v.done.Go(func() { x.Follow(ctx) })
			x.Caught(ctx)
		}
	})
	v.route()
	return v, nil
}

// Close ends the indexing and closes the indexes.
func (v *Viewer) Close() error {
	v.stop()
	v.done.Wait()
	var err error
	for _, x := range v.indexes {
		err = errors.Join(err, x.Close())
	}
	return err
}

// open opens the dataset of a run.
func (v *Viewer) open(ctx context.Context, run *runs.Run) (index.Data, error) {
	source := labels.Source{Data: v.options.Data}
	data, err := source.Open(ctx, &runs.Scores{Run: run})
	if err != nil {
		return index.Data{}, err
	}
	return index.Data{Samples: data.Samples(ctx), Close: data.Close}, nil
}

// policy lets the page load its own style and script and ask this server, and nothing else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'self'; frame-ancestors 'none'"

func (v *Viewer) route() {
	file := func(kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind+"; charset=utf-8")
			fmt.Fprint(w, text)
		}
	}
	v.routes.HandleFunc("GET /page.css", file("text/css", exhibit.Style+pageStyle))
	v.routes.HandleFunc("GET /page.js", file("text/javascript", pageScript+exhibit.Script))
	v.routes.HandleFunc("GET /{$}", v.page("page"))
	v.routes.HandleFunc("GET /list", v.page("list"))
	v.routes.HandleFunc("GET /sample", v.page("sample"))
	v.routes.HandleFunc("GET /panel", v.page("panel"))
	v.routes.HandleFunc("GET /export", v.export)
	v.routes.HandleFunc("GET /call", v.page("call"))
	v.routes.HandleFunc("GET /state", v.state)
	v.routes.HandleFunc("POST /label", v.label)
}

// ServeHTTP answers a request whose path begins with the token and that was sent to an address of this machine's own: a
// name that someone else made point here is none.
func (v *Viewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	first, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if subtle.ConstantTimeCompare([]byte(first), []byte(v.options.Token)) != 1 || !local(r.Host) {
		http.Error(w, "the address lacks the token that assay view printed with it", http.StatusForbidden)
		return
	}
	r = r.Clone(r.Context())
	r.URL.Path, r.URL.RawPath = "/"+rest, ""
	v.routes.ServeHTTP(w, r)
}

// local reports whether a request was sent to this machine by its own name.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// page answers with the template of that name, and what it shows.
func (v *Viewer) page(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var text strings.Builder
		shown, err := v.show(r.Context(), name, r.URL.Query())
		if err == nil {
			err = v.pages.ExecuteTemplate(&text, name, shown)
		}
		if err != nil {
			refuse(w, err)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, text.String())
	}
}

// refuse says why there is no answer.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if errors.As(err, new(*runs.InputError)) {
		status = http.StatusBadRequest
	} else if errors.Is(err, index.ErrNoRow) {
		status = http.StatusNotFound
	}
	http.Error(w, err.Error(), status)
}

// state answers with how far the indexes are.
func (v *Viewer) state(w http.ResponseWriter, _ *http.Request) {
	list := []runState{}
	for _, x := range v.indexes {
		list = append(list, progress(x))
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(list)
}

// A runState is how far one run's index is.
type runState struct {
	Rows     int    `json:"rows"`
	Of       int    `json:"of"`
	Caught   bool   `json:"caught"`
	Finished bool   `json:"finished"`
	Said     string `json:"said"`
	Problem  string `json:"problem"`
}

func progress(x *index.Index) runState {
	s, m := x.Now(), x.Run().Manifest
	p := runState{Rows: s.Rows, Of: m.Config.Rows(), Caught: s.Caught, Finished: m.Finished != nil,
		Problem: s.Problem}
	switch {
	case !s.Caught:
		p.Said = fmt.Sprintf("reading: %s of %s rows", thousands(s.Rows), thousands(p.Of))
	case p.Finished:
		p.Said = thousands(s.Rows) + " rows"
	default:
		p.Said = fmt.Sprintf("running: %s of %s rows", thousands(s.Rows), thousands(p.Of))
	}
	return p
}

// thousands is a number with its thousands apart.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}

// label writes a label: {"run": 0, "sample": ID, "label": 1}, or null, which skips it. A page from elsewhere is refused.
func (v *Viewer) label(w http.ResponseWriter, r *http.Request) {
	site := r.Header.Get("Sec-Fetch-Site")
	if site != "" && site != "same-origin" || r.Header.Get("Content-Type") != "application/json" {
		http.Error(w, "labels are written by this page only", http.StatusForbidden)
		return
	}
	if v.book == nil {
		http.Error(w, "no labels file was named: assay view --labels FILE", http.StatusConflict)
		return
	}
	var said struct {
		Run    int    `json:"run"`
		Sample string `json:"sample"`
		Label  *int   `json:"label"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&said); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	low, high := v.scale()
	if said.Label != nil && (*said.Label < low || *said.Label > high) {
		http.Error(w, fmt.Sprintf("labels are from %d to %d", low, high), http.StatusBadRequest)
		return
	}
	if said.Run < 0 || said.Run >= len(v.indexes) {
		http.Error(w, "no such run", http.StatusNotFound)
		return
	}
	if _, err := v.indexes[said.Run].Find(r.Context(), said.Sample); err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	v.mu.Lock()
	err := v.book.Put(said.Sample, said.Label, labels.Pick{How: "browsed"})
	v.mu.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// scale is the lowest and the highest label.
func (v *Viewer) scale() (low, high int) {
	if v.options.Scale > 0 {
		return 1, v.options.Scale
	}
	return 0, 1
}
