package view

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A visit is a page in a real browser, with what went wrong on it.
type visit struct {
	t   *testing.T
	ctx context.Context

	mu   sync.Mutex
	told []string // errors on the console, and requests elsewhere
}

func (v *visit) tell(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.told = append(v.told, text)
}

// wrong is what it was told.
func (v *visit) wrong() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.told)
}

// browse opens a headless Chromium, or skips the test where there is none.
func browse(t *testing.T, base string) *visit {
	t.Helper()
	path := os.Getenv("ASSAY_TEST_BROWSER")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); path == "" && err == nil {
			path = found
		}
	}
	if path == "" {
		t.Skip("no browser: install Debian's chromium, or name one in ASSAY_TEST_BROWSER")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.WindowSize(1440, 900), chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-dev-shm-usage", true))
	alloc, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	v := &visit{t: t}
	ctx, stop := chromedp.NewContext(alloc, chromedp.WithErrorf(func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !strings.HasPrefix(text, "unhandled node event") { // of a browser newer than chromedp
			v.tell(text)
		}
	}))
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(stop)
	v.ctx = ctx
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			v.tell("exception: " + e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			v.tell(fmt.Sprint("console: ", e.Type, e.Args))
		case *cdplog.EventEntryAdded:
			if !strings.HasSuffix(e.Entry.URL, "/favicon.ico") {
				v.tell("log: " + e.Entry.Text + " " + e.Entry.URL)
			}
		case *network.EventRequestWillBeSent:
			if to := e.Request.URL; !strings.HasPrefix(to, base) && !strings.HasPrefix(to, "file:") && !strings.HasSuffix(to, "/favicon.ico") {
				v.tell("a request elsewhere: " + to)
			}
		}
	})
	v.do(chromedp.EmulateViewport(1280, 800), network.Enable(), runtime.Enable(), cdplog.Enable())
	return v
}

func (v *visit) do(actions ...chromedp.Action) {
	v.t.Helper()
	if err := chromedp.Run(v.ctx, actions...); err != nil {
		v.t.Fatal(err, v.wrong())
	}
}

// value is what a script says.
func (v *visit) value(script string) string {
	v.t.Helper()
	var text string
	v.do(chromedp.Evaluate("String("+script+")", &text))
	return text
}

// awaited is what a script's promise comes to.
func (v *visit) awaited(script string) string {
	v.t.Helper()
	var text string
	v.do(chromedp.Evaluate(script, &text, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return text
}

// until waits for a script to say true, over navigations.
func (v *visit) until(script string) {
	v.t.Helper()
	var err error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline) && v.ctx.Err() == nil; {
		var yes bool
		if err = chromedp.Run(v.ctx, chromedp.Evaluate("document.body !== null && ("+script+")", &yes)); err == nil && yes {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	v.t.Fatalf("%s: %v\n%v\n%s", script, err, v.wrong(), v.value("document.body.innerText"))
}

// picture writes what is seen to a file, where ASSAY_TEST_PICTURES names a folder for them.
func (v *visit) picture(name string) {
	v.t.Helper()
	dir := os.Getenv("ASSAY_TEST_PICTURES")
	if dir == "" {
		return
	}
	var png []byte
	v.do(chromedp.CaptureScreenshot(&png))
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		v.t.Fatal(err)
	}
}

// seen holds what is seen to the rules of accessibility, in light and in dark, and writes pictures of it, wide and narrow.
func (v *visit) seen(name string) {
	v.t.Helper()
	v.accessible(name)
	v.picture(name)
	v.dark(true)
	v.accessible(name + ", dark")
	v.picture(name + "-dark")
	if os.Getenv("ASSAY_TEST_PICTURES") != "" {
		v.do(chromedp.EmulateViewport(420, 900))
		v.picture(name + "-narrow-dark")
		v.dark(false)
		v.picture(name + "-narrow")
		v.do(chromedp.EmulateViewport(1280, 800))
	}
	v.dark(false)
}

func (v *visit) dark(on bool) {
	scheme := map[bool]string{true: "dark", false: "light"}[on]
	v.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// accessible holds the page to the rules of axe-core, whose script ASSAY_TEST_AXE names.
func (v *visit) accessible(what string) {
	v.t.Helper()
	path := os.Getenv("ASSAY_TEST_AXE")
	if path == "" {
		v.t.Log("accessibility is not tested: ASSAY_TEST_AXE names no axe.min.js")
		return
	}
	script, err := os.ReadFile(path)
	if err != nil {
		v.t.Fatal(err)
	}
	var found []struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	v.do(chromedp.Evaluate(string(script)+"\n;0", nil), // by the debugger, which the page's policy does not bind
		chromedp.Evaluate("axe.run().then(r => r.violations)", &found, func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
			return p.WithAwaitPromise(true)
		}))
	for _, f := range found {
		for _, n := range f.Nodes[:min(3, len(f.Nodes))] {
			v.t.Errorf("%s: %s: %s\n%s\n%s", what, f.ID, f.Help, n.HTML, n.FailureSummary)
		}
	}
}

// The page loads, lists, searches, opens, compares and labels in a real browser, without an error, without a request
// elsewhere and without a violation of what axe-core asks of pages.
func TestBrowser(t *testing.T) {
	dir := t.TempDir()
	book := filepath.Join(dir, "labels.jsonl")
	dirs := exampleRuns(t, dir)
	viewer, err := Open(t.Context(), dirs, Options{Folder: filepath.Join(dir, "index"), Token: "token", Labels: book,
		Answers: exampleAnswer})
	if err != nil {
		t.Fatal(err)
	}
	defer viewer.Close()
	server := httptest.NewServer(viewer)
	defer server.Close()
	base := server.URL + "/token/"
	v := browse(t, base)

	v.do(chromedp.Navigate(base))
	v.until(`document.querySelector(".state").textContent.startsWith("26")`)
	v.do(chromedp.Reload())
	v.until(`document.querySelectorAll(".chart").length === 4 && document.querySelectorAll(".row").length === 26`)
	v.accessible("the list")

	// Keys go through the rows.
	v.do(chromedp.KeyEvent("j"))
	v.until(`document.querySelector(".open") !== null`)
	first := v.value(`document.querySelector(".open").dataset.sample`)
	v.do(chromedp.KeyEvent("j"))
	v.until(`document.querySelector(".open").dataset.sample !== ` + fmt.Sprintf("%q", first))
	v.do(chromedp.KeyEvent("k"))
	v.until(`document.querySelector(".open").dataset.sample === ` + fmt.Sprintf("%q", first))

	// A claim lights up with the sentences that it is joined to.
	v.until(`document.querySelector(".answer .piece .parts, .answer .piece") !== null && document.querySelector(".context .piece") !== null`)
	v.do(chromedp.Evaluate(`document.querySelector(".finding[data-n]").dispatchEvent(new PointerEvent("pointerover", {bubbles: true}))`, nil))
	if n := v.value(`document.querySelectorAll(".answer .piece.lit").length`); n != "1" {
		t.Errorf("%s sentences of the answer light up with a claim", n)
	}
	v.accessible("a row")

	// A prompt and its reply are one click away, and nothing in them is markup.
	v.do(chromedp.Click("[data-call]"))
	v.until(`document.querySelector("#call").open`)
	if text := v.value(`document.querySelector("#call").innerText`); !strings.Contains(text, "<script>alert(1)</script>") ||
		!strings.Contains(text, "0.7000") {
		t.Errorf("the answer of the model is shown as %q", text)
	}
	v.accessible("an answer of a model")
	v.picture("call")
	v.do(chromedp.KeyEvent(kb.Escape))
	v.until(`!document.querySelector("#call").open`)

	// Labels go into the file.
	v.do(chromedp.KeyEvent("1"))
	v.until(`document.querySelector(".labels button[aria-pressed=true]") !== null`)
	text, err := os.ReadFile(book)
	var line struct {
		Sample, Pick string
		Label        int
	}
	if err != nil || json.Unmarshal(text, &line) != nil || line.Sample != first || line.Label != 1 || line.Pick != "browsed" {
		t.Errorf("labels are %s, %v", text, err)
	}
	v.do(chromedp.KeyEvent("n"))
	v.until(`document.querySelector(".open").dataset.sample !== ` + fmt.Sprintf("%q", first))

	// Search, by / and words.
	v.do(input.DispatchKeyEvent(input.KeyRawDown).WithKey("/"), chromedp.KeyEvent("octop*"+kb.Enter))
	v.until(`location.search.includes("octop") && document.querySelectorAll(".row").length > 0 && document.querySelectorAll(".row").length < 6`)
	v.until(`document.querySelector(".note-line") !== null`)
	v.accessible("a search")
	v.picture("search")

	// A bar of a histogram filters.
	v.do(chromedp.Navigate(base))
	v.until(`document.querySelectorAll(".chart").length === 4`)
	v.do(chromedp.Evaluate(`location.search = document.querySelector(".chart svg a").getAttribute("href")`, nil))
	v.until(`document.querySelector(".clear") !== null && document.querySelectorAll(".row").length < 26`)

	// Two runs, the rows first that flipped.
	v.do(chromedp.Navigate(base+"?vs=1"), chromedp.WaitReady(".row"))
	v.until(`document.querySelector(".chance") !== null`)
	if n := v.value(`Array.from(document.querySelectorAll(".row")).findLastIndex(r => r.querySelector(".flip")) < document.querySelectorAll(".flip").length`); n != "true" {
		t.Error("the rows that flipped are not the first")
	}
	v.do(chromedp.KeyEvent("j"))
	v.until(`document.querySelector(".pair ins") !== null`)
	v.seen("pair")

	// One score beside another: the rows come first in which they lie furthest apart, and a cell of the grid filters.
	v.do(chromedp.Navigate(base + "?vs=m1&show=scatter"))
	v.until(`document.querySelectorAll(".cell").length > 5 && document.querySelectorAll(".row .was").length > 5`)
	if n := v.value(`Array.from(document.querySelectorAll(".row"), r => Math.abs(r.querySelector(".was").textContent - r.querySelector(".value").textContent))
		.every((d, i, all) => i === 0 || d <= all[i - 1] + 0.0011 || !document.querySelectorAll(".row")[i].querySelector(".flip"))`); n != "true" {
		t.Error("the rows that lie furthest apart are not the first")
	}
	v.seen("scatter")
	v.do(chromedp.Evaluate(`location.search = document.querySelector(".scatter a").getAttribute("href")`, nil))
	v.until(`document.querySelector(".clear") !== null && document.querySelectorAll(".cell").length === 1 && document.querySelectorAll(".row").length > 0`)
	if n := v.value(`document.querySelectorAll(".row").length`) + " rows"; !strings.HasPrefix(v.value(`document.querySelector(".scatter a").getAttribute("aria-label").split(": ")[1]`), strings.TrimSuffix(n, "s")) {
		t.Errorf("the cell was of other rows than the %s that are listed", n)
	}

	// Slices: their means, and one click lists the rows of one.
	v.do(chromedp.Navigate(base + "?show=slices&by=metadata.topic&m=1"))
	v.until(`document.querySelectorAll(".slices tbody tr").length > 2`)
	v.seen("slices")
	slice := v.value(`document.querySelector(".slices tbody a").textContent`)
	count := v.value(`document.querySelector(".slices tbody td").textContent`)
	v.do(chromedp.Evaluate(`location.search = document.querySelector(".slices tbody a").getAttribute("href")`, nil))
	v.until(`document.querySelector(".kept") !== null && document.querySelectorAll(".row").length === ` + count)
	if got := v.value(`document.querySelector(".kept").textContent`); got != "metadata.topic = "+slice+" ×" {
		t.Errorf("the slice %s is kept as %q", slice, got)
	}

	// What is listed goes into one file, which opens without a server.
	text = []byte(v.awaited(`fetch(document.querySelector(".export").href).then(r => r.text())`))
	file := filepath.Join(dir, "export.html")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	v.do(chromedp.Navigate("file://" + file))
	v.until(`document.querySelectorAll(".cases .case").length === ` + count)
	if notes := v.value(`document.querySelector(".notes").textContent`); !strings.Contains(notes, count+" rows of 26 metadata.topic = "+slice) {
		t.Errorf("the export says %q", notes)
	}
	// While rows are labelled, it is told how far the scores agree, and that such labels are no random sample.
	v.do(chromedp.Navigate(base + "?show=labels&sort=low"))
	v.until(`document.querySelector(".panel .note-line") !== null`)
	v.accessible("too few labels")
	for i := range 8 {
		at := v.value(`document.querySelector(".open")?.dataset.sample`)
		v.do(chromedp.KeyEvent("j"))
		v.until(fmt.Sprintf(`document.querySelector(".open") !== null && document.querySelector(".open").dataset.sample !== %q`, at))
		v.do(chromedp.KeyEvent(strconv.Itoa(min(i/3, 1))))
		v.until(`document.querySelector(".labels button[aria-pressed=true]") !== null`)
	}
	v.until(`document.querySelector(".figures td") !== null && document.querySelector(".figures td").textContent >= "8"`)
	if text := v.value(`document.querySelector(".panel").innerText`); !strings.Contains(text, "Cohen's kappa") ||
		!strings.Contains(text, "no random sample") || !strings.Contains(text, "labels and scores together") ||
		v.value(`document.querySelectorAll(".curve .dot").length > 0`) != "true" {
		t.Errorf("of the labels it is told %q", text)
	}
	v.seen("labels")
	v.do(chromedp.Navigate(base + "?vs=labels&flip=1"))
	v.until(`document.querySelectorAll(".row").length > 0 && document.querySelectorAll(".row").length === document.querySelectorAll(".row .flip").length`)

	// The picture of the README.
	v.dark(false)
	v.do(chromedp.Navigate(base + "?at=2"))
	v.until(`document.querySelectorAll(".chart").length === 4 && document.querySelector(".open .finding") !== null`)
	v.picture("view")
	v.dark(true)
	v.accessible("a row, dark")
	v.picture("view-dark")
	v.dark(false)
	v.do(chromedp.EmulateViewport(420, 900))
	v.accessible("a narrow window")
	v.picture("view-narrow")
	var pdf []byte
	v.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		pdf, _, err = page.PrintToPDF().WithPrintBackground(true).Do(ctx)
		return err
	}))
	if len(pdf) < 1000 {
		t.Error("it cannot be printed")
	}
	for _, what := range v.wrong() {
		t.Error(what)
	}
}
