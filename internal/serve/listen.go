package serve

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"
)

// Listen listens on an address of this machine's own: "127.0.0.1:0", or "localhost:8080". Port 0 is any that is free.
func Listen(address string) (net.Listener, error) {
	tcp, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %v", address, err)
	}
	if !tcp.IP.IsLoopback() {
		return nil, fmt.Errorf("%s can be reached from other machines: only this one is served, on 127.0.0.1:PORT", address)
	}
	return net.ListenTCP("tcp", tcp)
}

// Run serves until ctx ends. Then it takes no more connections, and requests under way may go on for grace. What goes
// wrong with a connection is logged.
func Run(ctx context.Context, l net.Listener, h http.Handler, grace time.Duration, logged *log.Logger) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: logged}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := server.Shutdown(late)
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close() // which cancels them
	}
	return err
}
