package queue

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// A server is believed if its certificate is vouched for by the file that the user names, and shown a certificate in turn.
func TestTLS(t *testing.T) {
	certificate, key := selfSigned(t)
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	text, err := os.ReadFile(certificate)
	if err != nil || !pool.AppendCertsFromPEM(text) {
		t.Fatal(err)
	}
	_, address := start(t, func(o *server.Options) {
		o.TLS, o.TLSVerify, o.TLSTimeout = true, true, 5
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	})
	address = "tls" + address[strings.Index(address, "://"):]
	if _, err := Dial(t.Context(), Options{Address: address, Say: t.Logf}); err == nil {
		t.Error("a server that nobody vouches for is believed")
	}
	if _, err := Dial(t.Context(), Options{Address: address, CA: certificate, Say: t.Logf}); err == nil {
		t.Error("the server lets in who shows no certificate")
	}
	b, err := Dial(t.Context(), Options{Address: address, CA: certificate, Cert: certificate, Key: key, Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if state, err := b.nc.TLSConnectionState(); err != nil || state.Version < tls.VersionTLS12 {
		t.Errorf("%x, %v", state.Version, err)
	}
}

// selfSigned writes a certificate for this machine, with its key, into files.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "queue"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", pkcs8)
}

// A server that asks for credentials takes those of a file as NATS writes it, and no others.
func TestCredentials(t *testing.T) {
	operator := must(t)(nkeys.CreateOperator())
	account := must(t)(nkeys.CreateAccount())
	system := must(t)(nkeys.CreateAccount())
	user := must(t)(nkeys.CreateUser())
	public := func(k nkeys.KeyPair) string {
		text, err := k.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	encode := func(claims interface {
		Encode(nkeys.KeyPair) (string, error)
	}, by nkeys.KeyPair) string {
		text, err := claims.Encode(by)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	claims := jwt.NewAccountClaims(public(account))
	claims.Limits.DiskStorage, claims.Limits.MemoryStorage, claims.Limits.Streams, claims.Limits.Consumer = -1, -1, -1, -1
	resolver := &server.MemAccResolver{}
	if err := resolver.Store(public(account), encode(claims, operator)); err != nil {
		t.Fatal(err)
	}
	if err := resolver.Store(public(system), encode(jwt.NewAccountClaims(public(system)), operator)); err != nil {
		t.Fatal(err)
	}
	operatorClaims := jwt.NewOperatorClaims(public(operator))
	operatorClaims.SystemAccount = public(system)
	trusted, err := jwt.DecodeOperatorClaims(encode(operatorClaims, operator))
	if err != nil {
		t.Fatal(err)
	}
	_, address := start(t, func(o *server.Options) {
		o.TrustedOperators, o.AccountResolver, o.SystemAccount = []*jwt.OperatorClaims{trusted}, resolver, public(system)
	})
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	userClaims := jwt.NewUserClaims(public(user))
	file, err := jwt.FormatUserConfig(encode(userClaims, account), seed)
	if err != nil {
		t.Fatal(err)
	}
	creds := filepath.Join(t.TempDir(), "user.creds")
	if err := os.WriteFile(creds, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), Options{Address: address, Say: t.Logf}); err == nil {
		t.Error("the server lets in who has no credentials")
	}
	b, err := Dial(t.Context(), Options{Address: address, Creds: creds, Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	job := testJob(10, 10)
	hireWith(t, Options{Address: address, Creds: creds, Say: t.Logf}, job, 1, 0)
	var got book
	if _, err := b.Coordinate(t.Context(), &Coordinator{Job: job, Samples: testSamples(10), Write: got.write}); err != nil {
		t.Fatal(err)
	}
	if got.String() != alone(t, 10) {
		t.Error("the rows are not as one run writes them")
	}
}

func must(t *testing.T) func(nkeys.KeyPair, error) nkeys.KeyPair {
	return func(k nkeys.KeyPair, err error) nkeys.KeyPair {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
}
