package ollama

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/assay-eval/assay/backend"
)

// maxBody bounds an answer of the server. The largest honest ones list a vocabulary with its merges.
const maxBody = 256 << 20

// A server is the Ollama server at the address that the user gave.
type server struct {
	base      *url.URL
	transport *http.Transport
}

// connect prepares to talk to the server at an address as [Options] has it. It does not talk yet.
func connect(address string) (*server, error) {
	if address == "" {
		address = strings.Trim(strings.TrimSpace(os.Getenv("OLLAMA_HOST")), `"'`)
	}
	base, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return &server{base, &http.Transport{
		Proxy:               nil, // never another host than the user named
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true,
	}}, nil
}

func (s *server) String() string { return s.base.String() }

// parseAddress reads an address: the scheme is http unless given, the port 11434, or the scheme's own where a
// scheme is given. An address that means "every interface" to a server means this machine to a client.
func parseAddress(address string) (*url.URL, error) {
	bad := func(why string) (*url.URL, error) {
		return nil, fmt.Errorf("%.200q is no address of an Ollama server: %s (example: 127.0.0.1:11434)", address, why)
	}
	scheme, rest, ok := strings.Cut(strings.TrimSpace(address), "://")
	port := ""
	switch {
	case !ok:
		scheme, rest, port = "http", scheme, "11434"
	case scheme == "http":
		port = "80"
	case scheme == "https":
		port = "443"
	default:
		return bad("its scheme is neither http nor https")
	}
	hostport, path, _ := strings.Cut(rest, "/")
	path = strings.TrimSuffix(path, "/")
	host, given, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	} else if given != "" {
		port = given
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return bad("its port is not a number from 1 to 65535")
	}
	ip := net.ParseIP(host)
	switch {
	case !pathForm.MatchString(path) || ip == nil && host != "" && !hostForm.MatchString(host):
		return bad("it takes a host and a port")
	case ip != nil && ip.Equal(net.IPv6unspecified):
		host = "::1"
	case host == "" || ip != nil && ip.IsUnspecified():
		host = "127.0.0.1"
	}
	return &url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port), Path: path}, nil
}

var (
	hostForm = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	pathForm = regexp.MustCompile(`^([A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*)?$`)
)

// An exchange is one request and its answer. The client of package api says nothing of what ends a
// stream early, so the exchange remembers it.
type exchange struct {
	server *server
	left   int64 // how much more of the answer will be read
	whole  bool  // the answer was read to its end
	failed error // what reading it failed with

	received func() // called, if not nil, when something of the answer has come
}

func (s *server) exchange() *exchange { return &exchange{server: s, left: maxBody} }

// client returns a client for one request.
func (x *exchange) client() *api.Client {
	return api.NewClient(x.server.base, &http.Client{Transport: x, CheckRedirect: refuseRedirect})
}

var (
	errRedirect = errors.New("it redirects to another address")
	errTooLarge = errors.New("its answer is too large")
)

func refuseRedirect(*http.Request, []*http.Request) error { return errRedirect }

// RoundTrip implements [http.RoundTripper].
func (x *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := x.server.transport.RoundTrip(req)
	if err == nil {
		x.arrived()
		resp.Body = &body{resp.Body, x}
	}
	return resp, err
}

func (x *exchange) arrived() {
	if x.received != nil {
		x.received()
	}
}

type body struct {
	io.ReadCloser
	x *exchange
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.x.arrived()
	}
	if b.x.left -= int64(n); b.x.left < 0 {
		n, err = 0, errTooLarge
	}
	switch {
	case err == io.EOF:
		b.x.whole = true
	case err != nil:
		b.x.failed = err
	}
	return n, err
}

// outcome returns what the exchange came to, given what package api says of it: nil, what ended ctx, a
// *refusal, or an error that wraps [backend.ErrUnavailable] where the server was at fault.
func (x *exchange) outcome(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if x.failed != nil {
		err = x.failed
	}
	var status api.StatusError
	var denied api.AuthorizationError
	var failed *url.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTooLarge), errors.Is(err, errRedirect):
		return fmt.Errorf("the server at %s cannot be used: %v", x.server, unwrapURL(err))
	case errors.As(err, &status):
		return &refusal{status.StatusCode, shorten(status.ErrorMessage)}
	case errors.As(err, &denied):
		return fmt.Errorf("the server at %s wants a sign-in: %v", x.server, denied)
	case errors.As(err, &failed), x.failed != nil:
		return fmt.Errorf("%w: no answer from Ollama at %s (%v): see that it runs there, or start it with "+
			"\"ollama serve\"", backend.ErrUnavailable, x.server, unwrapURL(err))
	}
	return &refusal{0, shorten(err.Error())}
}

// ended returns why a context of ours has ended: [backend.ErrClosed] or a timeout of ours where that is the
// cause, else the context's error.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, backend.ErrClosed) || errors.Is(cause, backend.ErrUnavailable) {
		return cause
	}
	return ctx.Err()
}

// unwrapURL takes the method and the address off an error of net/http.
func unwrapURL(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}

// shorten bounds a message of the server, which may be a whole page.
func shorten(message string) string {
	message = strings.TrimSpace(message)
	if len(message) <= 300 {
		return message
	}
	return strings.ToValidUTF8(message[:300], "") + "..."
}

// A refusal is an error that the server sent, before its answer or, with status 0, in the middle of it; or an
// answer that is not what Ollama sends.
type refusal struct {
	status  int
	message string
}

func (r *refusal) Error() string {
	if r.status == 0 {
		return fmt.Sprintf("ollama: %s", r.message)
	}
	return fmt.Sprintf("ollama: %s (status %d)", r.message, r.status)
}

// look asks something that takes no inference.
func (s *server) look(ctx context.Context, ask func(context.Context, *api.Client) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, lookTimeout,
		fmt.Errorf("%w: ollama at %s gave no answer within %v", backend.ErrUnavailable, s, lookTimeout))
	defer cancel()
	x := s.exchange()
	err := x.outcome(limited, ask(limited, x.client()))
	var r *refusal
	if !errors.As(err, &r) {
		return err
	}
	if r.status >= 500 {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, r)
	}
	return err
}

// version returns the server's version, which also tells whether it is an Ollama server at all.
func (s *server) version(ctx context.Context) (string, error) {
	version := ""
	err := s.look(ctx, func(ctx context.Context, c *api.Client) (err error) {
		version, err = c.Version(ctx)
		return err
	})
	var r *refusal
	if errors.As(err, &r) && !errors.Is(err, backend.ErrUnavailable) || err == nil && !plainVersion(version) {
		return "", fmt.Errorf("what answers at %s is not an Ollama server: check the address", s)
	}
	return version, err
}

// plainVersion reports whether a version is short and of plain characters, as it becomes part of Info.
func plainVersion(version string) bool {
	for _, c := range version {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.ContainsRune(".-+_", c)) {
			return false
		}
	}
	return version != "" && len(version) <= 64
}

// olderThan reports whether a server of this version is older than 0.minor.patch, and whether that is
// known: a build from source may call itself 0.0.0.
func olderThan(version string, minor, patch int) (known, old bool) {
	var x, y, z int
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &x, &y, &z); n < 3 || x|y|z == 0 {
		return false, false
	}
	return true, x == 0 && (y < minor || y == minor && z < patch)
}
