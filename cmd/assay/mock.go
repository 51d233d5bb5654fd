package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/study/labels"
	"github.com/assay-eval/assay/internal/testset"
	"github.com/assay-eval/assay/metrics"
)

const mockHelp = `
Usage: assay mock --data FILE --human FIELD -o FOLDER [flags]

Makes mock systems of known accuracy out of rows that people labelled: each is a file with so many rows that are right and
so many that are not. On them one sees whether a metric, or assay ppi, ranks systems as it should. By default they are those
of ARES: accuracies from 0.70 to 0.90 in steps of 0.025.

  assay mock --data labelled.jsonl --human faithfulness --gold 150 -o mock
  for f in mock/*.jsonl; do assay run --data $f --metrics faithfulness/encoder -o runs/$(basename $f .jsonl); done
  assay ppi runs/0.* --rank --gold runs/gold --human faithfulness --truth mock/truth.csv

The folder gets a file for each system, named by its accuracy, truth.csv with the accuracies as they are, and, with --gold,
gold.jsonl: rows of no system, for assay ppi --gold. Rows keep their ids and all their columns. A label is right if it is
true, yes, or at least --positive.
`

// mockOptions holds the flags of assay mock.
type mockOptions struct {
	data, human, output string
	positive            float64
	testset.Mock
}

func mockCommand(ctx context.Context, s *std, args []string) error {
	var o mockOptions
	f := s.flags("mock", mockHelp)
	f.StringVar(&o.data, "data", "", "the labelled `FILE`: any dataset that assay run reads")
	f.StringVar(&o.human, "human", "",
		"the `FIELD` that holds the labels: a member of the column human, a column, or COLUMN.MEMBER")
	f.Float64Var(&o.positive, "positive", 1, "labels of at least `VALUE` are right")
	f.Float64Var(&o.From, "from", 0.7, "the lowest accuracy")
	f.Float64Var(&o.To, "to", 0.9, "the highest accuracy")
	f.Float64Var(&o.Step, "step", 0.025, "from one accuracy to the next")
	f.IntVarP(&o.N, "number", "n", 0, "rows of each system (default: as many as there are for all)")
	f.IntVar(&o.Gold, "gold", 0, "keep `N` rows apart, for assay ppi --gold")
	f.StringVarP(&o.output, "output", "o", "", "the `FOLDER` to write, which is not there yet")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of what is drawn at random")
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	switch {
	case o.data == "" || o.human == "":
		return usageError{withHint(errors.New("no labelled rows"), "--data FILE and --human FIELD name them")}
	case o.output == "":
		return usageError{withHint(errors.New("no folder to write"), "-o FOLDER names it")}
	}
	samples, right, err := o.read(ctx)
	if err != nil {
		return usageError{err}
	}
	systems, gold, err := o.Draw(right)
	if err != nil {
		return usageError{err}
	}
	if err := os.Mkdir(o.output, 0o777); errors.Is(err, fs.ErrExist) {
		return usageError{withHint(fmt.Errorf("%s is there already", o.output), "name a folder that is not")}
	} else if err != nil {
		return err
	}
	truth := "run,label\n"
	for _, system := range systems {
		truth += fmt.Sprintf("%s,%v\n", system.Name, system.Accuracy)
		if err := o.write(system.Name, samples, system.Rows); err != nil {
			return err
		}
	}
	if len(gold) > 0 {
		if err := o.write("gold", samples, gold); err != nil {
			return err
		}
	}
	s.note("%d systems of %d rows each, %d gold rows, in %s", len(systems), len(systems[0].Rows), len(gold), o.output)
	return os.WriteFile(filepath.Join(o.output, "truth.csv"), []byte(truth), 0o666)
}

// read reads the rows that have a label.
func (o *mockOptions) read(ctx context.Context) (samples []*metrics.Sample, right []bool, err error) {
	data, err := dataset.Open(ctx, o.data, dataset.Options{})
	if err != nil {
		return nil, nil, err
	}
	defer data.Close()
	for sample, err := range data.Samples(ctx) {
		if err != nil {
			return nil, nil, err
		}
		v, labelled, err := labels.Of(sample, o.human)
		if err != nil {
			return nil, nil, err
		}
		if labelled {
			samples, right = append(samples, sample), append(right, v >= o.positive)
		}
	}
	if len(samples) == 0 {
		return nil, nil, fmt.Errorf("no row of %s has a label %q", o.data, o.human)
	}
	return samples, right, nil
}

// write writes the rows of one system.
func (o *mockOptions) write(name string, samples []*metrics.Sample, rows []int) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, i := range rows {
		if err := e.Encode(testset.Answered{Sample: *samples[i]}); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(o.output, name+".jsonl"), b.Bytes(), 0o666)
}
