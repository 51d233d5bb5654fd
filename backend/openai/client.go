package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/openai/wire"
	"github.com/assay-eval/assay/backend/remote"
)

const (
	maxAnswer   = 256 << 20       // bytes of an answer: the vectors of a batch, in decimal digits, are the longest
	maxRefusal  = 64 << 10        // bytes of an error that are looked at
	lookTimeout = 2 * time.Minute // for questions that take no inference: a busy server may have them wait
	maxRest     = time.Minute     // the longest that a server's Retry-After is heeded
)

// A client talks to one server.
type client struct {
	base *url.URL // of the OpenAI routes: it ends in /v1
	key  string
	http *http.Client
	rest atomic.Int64 // until when the server wants not to be asked, in nanoseconds of Unix time
}

// ErrRemote is why a server is not connected to without [Options.AllowRemote].
var ErrRemote = remote.ErrElsewhere

var errRedirect = errors.New("it redirects to another address")

// newClient prepares to talk to the server at an address. It does not talk yet.
func newClient(o Options) (*client, error) {
	base, err := parseAddress(o.Address)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if !o.AllowRemote {
		dialer.Control = remote.OnlyLocal
	}
	return &client{base: base, key: o.Key, http: &http.Client{
		Transport: &http.Transport{
			Proxy:               nil, // never another host than the user named
			DialContext:         dialer.DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			MaxIdleConnsPerHost: 64,
			IdleConnTimeout:     30 * time.Second,
			DisableCompression:  true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}}, nil
}

// parseAddress reads "host:port" or a URL. The scheme is http and the path /v1 unless given.
func parseAddress(address string) (*url.URL, error) {
	text := strings.TrimSpace(address)
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.User != nil, u.RawQuery != "",
		u.Fragment != "":
		return nil, fmt.Errorf("%.200q is no address of a server: it takes a host, a port and perhaps a path "+
			"(example: http://127.0.0.1:8080/v1)", address)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	if !strings.HasSuffix(u.Path, "/v1") {
		u.Path += "/v1"
	}
	u.RawPath = ""
	return u, nil
}

// Host is the host and port of an address as [Options] has it, without the path, which may hold a secret.
func Host(address string) string {
	u, err := parseAddress(address)
	if err != nil {
		return "no address"
	}
	return u.Host
}

// String is the server's address without its path, which may hold a secret.
func (c *client) String() string { return c.base.Scheme + "://" + c.base.Host }

// route is a route of OpenAI's, such as "chat/completions".
func (c *client) route(name string) *url.URL { return c.base.JoinPath(name) }

// side is a route that the server has beside OpenAI's, such as "props".
func (c *client) side(name string) *url.URL {
	u := *c.base
	u.Path = strings.TrimSuffix(u.Path, "/v1")
	return u.JoinPath(name)
}

// look asks something that takes no inference.
func (c *client) look(ctx context.Context, to *url.URL, in, out any) error {
	return c.ask(ctx, lookTimeout, to, in, out)
}

// ask sends a request, with in as its body unless that is nil, and reads the answer into out. The error is what ended
// ctx, a *refusal, or one that wraps [backend.ErrUnavailable] where the server was at fault or sent no answer for so long.
func (c *client) ask(ctx context.Context, limit time.Duration, to *url.URL, in, out any) error {
	if err := c.pause(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		fmt.Errorf("%w: the server at %s took a request and gave no answer within %v", backend.ErrUnavailable, c, limit))
	defer cancel()
	err := c.exchange(ctx, to, in, out)
	if ctx.Err() != nil {
		return ended(ctx)
	}
	return err
}

// exchange is ask without its limits.
func (c *client) exchange(ctx context.Context, to *url.URL, in, out any) error {
	method, body := http.MethodGet, []byte(nil)
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.unreachable(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return c.refused(resp)
	}
	answer, err := wire.Read(resp.Body, maxAnswer)
	if large := (*wire.TooLargeError)(nil); errors.As(err, &large) {
		return fmt.Errorf("the server at %s cannot be used: its answer is too large", c)
	} else if err != nil {
		return c.unreachable(err)
	}
	if err := json.Unmarshal(answer, out); err != nil && json.Valid(answer) {
		return fmt.Errorf("the server at %s sent what cannot be read: %v", c, err)
	} else if err != nil {
		return fmt.Errorf("%w: the server at %s sent what is no answer: %s", backend.ErrUnavailable, c,
			c.quote(string(answer)))
	}
	return nil
}

// unreachable is the error of an exchange that broke off.
func (c *client) unreachable(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err // without the address, whose path may hold a secret
	}
	switch {
	case errors.Is(err, ErrRemote):
		return fmt.Errorf("the server at %s cannot be used: %w", c, ErrRemote)
	case errors.Is(err, errRedirect):
		return fmt.Errorf("the server at %s cannot be used: %w", c, errRedirect)
	}
	return fmt.Errorf("%w: no answer from the server at %s (%v): see that it runs there", backend.ErrUnavailable, c, err)
}

// A refusal is an error that the server sent. It wraps [backend.ErrUnavailable] where the server says that it is only
// busy, or not up yet.
type refusal struct {
	status  int
	message string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the server says: %s (status %d)", r.message, r.status)
}

func (r *refusal) Unwrap() error {
	switch r.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return backend.ErrUnavailable
	}
	return nil
}

// says reports whether the message contains one of some texts, whatever the case of its letters.
func (r *refusal) says(texts ...string) bool {
	message := strings.ToLower(r.message)
	for _, text := range texts {
		if strings.Contains(message, text) {
			return true
		}
	}
	return false
}

// refused reads an answer with an error status.
func (c *client) refused(resp *http.Response) error {
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		until := time.Now().Add(min(time.Duration(min(seconds, 1<<20))*time.Second, maxRest))
		c.rest.Store(until.UnixNano())
	}
	body, _ := wire.Read(resp.Body, maxRefusal) // nothing of one that is too long or broken off
	message := string(body)
	if e := wire.ParseError(body); e != nil {
		message = e.Message
	}
	r := &refusal{resp.StatusCode, c.quote(message)}
	if r.status == http.StatusUnauthorized || r.status == http.StatusForbidden {
		return fmt.Errorf("the server at %s wants a key, or another one: set ASSAY_API_KEY in the environment (%w)", c, r)
	}
	return r
}

// pause waits as long as the server's last Retry-After said.
func (c *client) pause(ctx context.Context) error {
	wait := time.Until(time.Unix(0, c.rest.Load()))
	if wait <= 0 {
		return nil
	}
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

var controlForm = regexp.MustCompile(`[\x00-\x1f\x7f]+`)

// quote bounds a message of the server, which may be a whole page, and takes the key out of it.
func (c *client) quote(message string) string {
	if c.key != "" {
		message = strings.ReplaceAll(message, c.key, "***")
	}
	message = strings.TrimSpace(controlForm.ReplaceAllString(strings.ToValidUTF8(message, "?"), " "))
	if len(message) > 300 {
		message = strings.ToValidUTF8(message[:300], "") + "..."
	}
	if message == "" {
		return "nothing"
	}
	return message
}

// ended returns why a context of ours has ended: [backend.ErrClosed] or a timeout of ours where that is the cause, else
// the context's error.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, backend.ErrClosed) || errors.Is(cause, backend.ErrUnavailable) {
		return cause
	}
	return ctx.Err()
}
