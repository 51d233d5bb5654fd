// Package queue scores one run on many machines, through a NATS server with JetStream that is there already.
//
//  1. The coordinator ([Broker.Coordinate]) announces a [Job]: what every result depends on. It cuts the rows into units of
//     so many, stores each in an object store and puts a message for it on a work queue, a few units ahead of the workers.
//  2. A worker ([Broker.Work]) looks the job up and compares: another model digest, prompt, metric or version of the tool
//     is refused by name. It pulls a unit when it has room for one, and says every now and then that it still works on it.
//  3. It stores the unit's results, and only then acknowledges the unit. One that is silent for longer than the lease has
//     lost it: the server gives it to another worker.
//  4. The coordinator takes the units' results in the order of the rows, checks that they are of those rows, writes them
//     into the run folder, and removes what it stored.
//
// Nothing is believed that can be seen: a unit is done when its results are stored, and a row when it is in the run folder.
// Messages are hints. One that comes twice, or not at all, costs time: a unit that is scored twice is stored under one
// name and merged once. The coordinator, which knows the unit that is next, puts it on the queue anew when workers wait and
// none has it, whatever became of it. So workers, the server and the coordinator may be killed and started again at any time.
package queue

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/assay-eval/assay/backend/remote"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Options say which server to use and how.
type Options struct {
	Address     string // "nats://host:4222", tls:// for TLS; several servers of a cluster are joined by commas
	AllowRemote bool   // permits servers on other machines
	Creds       string // a file with credentials as NATS has them (JWT and seed); "" is none
	CA          string // a file with the certificates that vouch for the server; "" means those of the system
	Cert, Key   string // files with the client's own certificate and key; "" is none
	User        string // with Password
	Password    string
	Token       string
	Name        string // what the server calls this connection

	Say func(format string, args ...any) // is told what the user should know
}

// A Broker is a connection to a NATS server with JetStream. It is made again whenever it is lost.
type Broker struct {
	nc   *nats.Conn
	js   jetstream.JetStream
	host string
	say  func(format string, args ...any)

	stores sync.Map // the buckets that were opened, by name

	mu   sync.Mutex
	line context.Context // done when the connection is lost; another one when it is there again
	lost context.CancelFunc
}

// Dial connects. The error wraps [remote.ErrElsewhere] where the server is on another machine and that is not allowed.
func Dial(ctx context.Context, o Options) (*Broker, error) {
	hosts, err := parse(o.Address)
	if err != nil {
		return nil, err
	}
	b := &Broker{host: hosts, say: o.Say}
	b.connected(true)
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	var refused error
	if !o.AllowRemote {
		dialer.Control = remote.OnlyLocal
	}
	options := []nats.Option{
		nats.Name(o.Name), nats.SetCustomDialer(dialWith{dialer, &refused}), nats.IgnoreDiscoveredServers(), nats.MaxReconnects(-1),
		nats.ReconnectWait(500 * time.Millisecond), nats.ReconnectBufSize(-1), nats.Timeout(tryLimit), nats.PingInterval(tryLimit),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			b.connected(false)
			if err != nil {
				b.say("the queue at %s is away: waiting for it", b.host)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			b.connected(true)
			b.say("the queue at %s is back", b.host)
		}),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // what fails is tried again: see try
	}
	options = append(options, secrets(o)...)
	if b.nc, err = nats.Connect(o.Address, options...); err != nil {
		if refused != nil {
			err = refused
		}
		if errors.Is(err, nats.ErrNoServers) {
			err = fmt.Errorf("%w: see that it runs there, or start it with nats-server -js", err)
		}
		return nil, fmt.Errorf("the queue at %s cannot be used: %w", hosts, err)
	}
	if b.js, err = jetstream.New(b.nc, jetstream.WithDefaultTimeout(tryLimit)); err == nil {
		_, err = b.js.AccountInfo(ctx)
	}
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("the queue at %s cannot be used (JetStream: %w): a server is started with it by nats-server -js",
			hosts, err)
	}
	if _, err := b.nc.TLSConnectionState(); o.AllowRemote && err != nil {
		b.say("warning: the connection to the queue at %s is not encrypted: tls:// is", hosts)
	}
	return b, nil
}

// secrets are the options that say who connects.
func secrets(o Options) []nats.Option {
	var list []nats.Option
	if o.Creds != "" {
		list = append(list, nats.UserCredentials(o.Creds))
	}
	if o.CA != "" {
		list = append(list, nats.RootCAs(o.CA))
	}
	if o.Cert != "" {
		list = append(list, nats.ClientCert(o.Cert, o.Key))
	}
	if o.User != "" {
		list = append(list, nats.UserInfo(o.User, o.Password))
	}
	if o.Token != "" {
		list = append(list, nats.Token(o.Token))
	}
	if len(list) > 0 || strings.HasPrefix(o.Address, "tls") {
		list = append(list, atLeastTLS12)
	}
	return list
}

func atLeastTLS12(o *nats.Options) error {
	if o.TLSConfig == nil {
		o.TLSConfig = &tls.Config{}
	}
	o.TLSConfig.MinVersion = tls.VersionTLS12
	return nil
}

// dialWith keeps why an address was refused, which the library drops where it tries another.
type dialWith struct {
	*net.Dialer
	refused *error
}

func (d dialWith) Dial(network, address string) (net.Conn, error) {
	conn, err := d.Dialer.Dial(network, address)
	if errors.Is(err, remote.ErrElsewhere) {
		*d.refused = remote.ErrElsewhere
	}
	return conn, err
}

// parse checks addresses, and returns their hosts: what may be shown of them.
func parse(addresses string) (string, error) {
	var hosts []string
	for _, address := range strings.Split(addresses, ",") {
		u, err := url.Parse(strings.TrimSpace(address))
		switch {
		case err == nil && u.User != nil:
			return "", runs.Inputf("the queue's address holds a secret, which others would see").WithHint(
				"put it into a file (--queue-creds) or the environment (NATS_USER and NATS_PASSWORD, or NATS_TOKEN)")
		case err != nil, u.Host == "", u.Scheme != "nats" && u.Scheme != "tls", u.Path != "", u.RawQuery != "":
			return "", runs.Inputf("no address of a NATS server: it is like nats://127.0.0.1:4222, or tls://host:4222")
		}
		hosts = append(hosts, u.Host)
	}
	return strings.Join(hosts, ", "), nil
}

// Host is the server's host and port.
func (b *Broker) Host() string { return b.host }

// Close ends the connection. A nil Broker has none.
func (b *Broker) Close() {
	if b != nil {
		b.nc.Close()
	}
}

// How often and for how long something is tried that the server did not answer.
const (
	tryLimit  = 10 * time.Second // for one try
	shortWait = 100 * time.Millisecond
	longWait  = 5 * time.Second
	sayEvery  = time.Minute
)

// try does something that may be done twice, until it is done, cannot be done, or ctx ends. A server that is away is
// waited for.
func (b *Broker) try(ctx context.Context, what string, do func(context.Context) error) error {
	began := time.Now()
	said := began
	for wait := shortWait; ; wait = min(2*wait, longWait) {
		err := b.once(ctx, do)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !passing(err):
			return fmt.Errorf("queue: %s: %w", what, err)
		}
		if time.Since(said) >= sayEvery {
			said = time.Now()
			b.say("the queue does not answer for %v (%s: %v): waiting", time.Since(began).Round(time.Second), what, err)
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

func (b *Broker) once(ctx context.Context, do func(context.Context) error) error {
	ctx, free := b.linked(ctx)
	defer free()
	ctx, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	return do(ctx)
}

// connected notes whether there is a connection.
func (b *Broker) connected(now bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost != nil {
		b.lost()
	}
	if now {
		b.line, b.lost = context.WithCancel(context.Background())
	}
}

// linked returns a context that ends with ctx, and when the connection is lost: what was asked through it is not answered
// through another.
func (b *Broker) linked(ctx context.Context) (context.Context, context.CancelFunc) {
	b.mu.Lock()
	line := b.line
	b.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(line, cancel)
	return ctx, func() { stop(); cancel() }
}

// passing reports whether an error may pass by itself: all may but those by which the server says that something is not
// there, not allowed or not right.
func passing(err error) bool {
	for _, lasting := range []error{
		jetstream.ErrStreamNotFound, jetstream.ErrBucketNotFound, jetstream.ErrObjectNotFound, jetstream.ErrConsumerNotFound,
		jetstream.ErrConsumerDoesNotExist, jetstream.ErrKeyNotFound, jetstream.ErrKeyExists, jetstream.ErrMsgNotFound,
		jetstream.ErrDigestMismatch, jetstream.ErrMsgAlreadyAckd, nats.ErrConnectionClosed, nats.ErrAuthorization,
		nats.ErrPermissionViolation, nats.ErrMaxPayload, errDamaged,
	} {
		if errors.Is(err, lasting) {
			return false
		}
	}
	said := (*jetstream.APIError)(nil)
	return !errors.As(err, &said) || said.Code/100 != 4
}

// sleep waits, or returns why ctx ended.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
