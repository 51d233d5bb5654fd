package remote

import (
	"errors"
	"net/netip"
	"syscall"
)

// ErrElsewhere is why a server on another machine is not connected to where that was not allowed.
var ErrElsewhere = errors.New("it is not on this machine, and texts would leave it")

// OnlyLocal is a [net.Dialer]'s Control that refuses to connect to another machine, whatever its name was resolved to.
func OnlyLocal(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !to.Addr().Unmap().IsLoopback() {
		return ErrElsewhere
	}
	return nil
}
