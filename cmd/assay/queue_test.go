package main

import (
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rogpeppe/go-internal/testscript"
)

// scriptNATS returns a command of scripts: nats start starts a NATS server with JetStream, whose files are in $WORK/nats and
// whose address is $QUEUE, and nats stop ends it. Started again, it has the same address and files.
func scriptNATS() func(ts *testscript.TestScript, neg bool, args []string) {
	var mu sync.Mutex
	running := map[string]*server.Server{} // by folder
	return func(ts *testscript.TestScript, neg bool, args []string) {
		mu.Lock()
		defer mu.Unlock()
		dir := ts.MkAbs("nats")
		stop := func() {
			if s := running[dir]; s != nil {
				s.Shutdown()
				s.WaitForShutdown()
				delete(running, dir)
			}
		}
		if args[0] == "stop" {
			stop()
			return
		}
		port := -1
		if _, text, err := net.SplitHostPort(ts.Getenv("QUEUE")[min(len("nats://"), len(ts.Getenv("QUEUE"))):]); err == nil {
			port, err = strconv.Atoi(text)
			ts.Check(err)
		}
		s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoSigs: true,
			NoLog: true})
		ts.Check(err)
		s.Start()
		if !s.ReadyForConnections(time.Minute) {
			ts.Fatalf("the NATS server does not start")
		}
		running[dir] = s
		ts.Setenv("QUEUE", s.ClientURL())
		ts.Defer(func() {
			mu.Lock()
			defer mu.Unlock()
			stop()
		})
	}
}
