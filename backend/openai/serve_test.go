package openai_test

import (
	"errors"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/backend/openai"
	"github.com/assay-eval/assay/internal/serve"
)

// TestServeConformance asks what "assay serve" serves: both sides of the routes together.
func TestServeConformance(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	const write = backend.CanGenerate | backend.CanScore | backend.CanChoose
	check := func(name string, ops backend.Ops, models func(*backendtest.Fake) serve.Models) {
		t.Run(name, func(t *testing.T) {
			backendtest.Run(t, backendtest.Config{Open: func(t *testing.T) backend.Backend {
				fake := &backendtest.Fake{About: backend.Info{Engine: "fake 1", Model: "m", Digest: digest, Context: 2048,
					Slots: 3, Ops: ops}}
				server := httptest.NewServer(serve.New(models(fake), "secret"))
				t.Cleanup(server.Close)
				e, err := openai.Open(t.Context(), openai.Options{Address: server.URL, Key: "secret"})
				if err != nil {
					t.Fatal(err)
				}
				i := e.Info()
				if !strings.HasPrefix(i.Engine, "openai: assay fake 1") || i.Digest != digest || i.Context != 2048 ||
					i.Slots != 3 || i.Ops != ops || strings.Contains(i.Engine, "by name") {
					t.Fatalf("Info is %+v, want to be able to %v", i, ops)
				}
				return e
			}})
		})
	}
	check("Judge", write, func(f *backendtest.Fake) serve.Models { return serve.Models{Judge: f} })
	check("Embedder", backend.CanEmbed, func(f *backendtest.Fake) serve.Models { return serve.Models{Embedder: f} })
	check("Encoder", backend.CanClassify, func(f *backendtest.Fake) serve.Models { return serve.Models{Encoder: f} })
}

// TestServeScores checks that a model asked through both sides gives the very probabilities that it gives by itself.
func TestServeScores(t *testing.T) {
	fake := &backendtest.Fake{About: backend.Info{Ops: backend.CanGenerate | backend.CanScore | backend.CanChoose}}
	server := httptest.NewServer(serve.New(serve.Models{Judge: fake}, "secret"))
	defer server.Close()
	if _, err := openai.Open(t.Context(), openai.Options{Address: server.URL}); err == nil ||
		!strings.Contains(err.Error(), "ASSAY_API_KEY") || errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("without the key: %v", err)
	}
	e, err := openai.Open(t.Context(), openai.Options{Address: server.URL + "/secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	req := &backend.ScoreRequest{Messages: []backend.Message{{Role: backend.User, Text: "Is snow white?"}},
		Continuations: []string{"yes", "no", "It is as white as can be."}}
	got, err := e.Score(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := fake.Score(t.Context(), req); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("through the server %+v, by itself %+v, %v", got, want, err)
	}
}
