package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/assay-eval/assay/backend/cache"
	"github.com/assay-eval/assay/backend/openai"
	"github.com/assay-eval/assay/internal/doctor"
	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/models"
)

func doctorCommand(ctx context.Context, s *std, args []string) error {
	f := s.flags("doctor", page("doctor"))
	address := f.String("address", "",
		"the `URL` of the Ollama server (default $OLLAMA_HOST, or its usual address on this machine)")
	server := f.String("openai", "", "the `URL` of a server with OpenAI's routes, to look at too; its key is in $ASSAY_API_KEY")
	remote := f.Bool("allow-remote", false, "that server may be on another machine")
	format := f.String("format", "table", "table or json")
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if *format != "table" && *format != "json" {
		return usagef("unknown format %q: table or json", *format)
	}
	home, err := models.Home()
	if err != nil {
		return err
	}
	o := doctor.Options{Home: home, Ollama: *address,
		Cache: func(do func(*cache.Store) error) error { return withStore(s, do) }}
	if *server != "" {
		o.OpenAI = &openai.Options{Address: *server, AllowRemote: *remote, Key: os.Getenv("ASSAY_API_KEY")}
	}
	checks, ready := doctor.Look(ctx, o)
	if *format == "json" {
		if err := s.json(map[string]any{"checks": checks, "ready": ready}); err != nil {
			return err
		}
	} else {
		printChecks(s, checks)
	}
	if !ready {
		return errors.New("neither engine is ready to judge: mend the above, or run make demo")
	}
	return nil
}

func printChecks(s *std, checks []doctor.Check) {
	sign := map[doctor.Status]string{doctor.Good: "ok  ", doctor.Fair: "note", doctor.Bad: "BAD "}
	for _, c := range checks {
		fmt.Fprintf(s.out, "%s  %-14s %s\n", sign[c.Status], c.Thing, report.Printable(c.Is))
		if c.Mend != "" {
			fmt.Fprintf(s.out, "                      > %s\n", report.Printable(c.Mend))
		}
	}
}
