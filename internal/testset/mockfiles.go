package testset

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
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study/labels"
	"github.com/assay-eval/assay/metrics"
)

// MockFiles are mock systems as files.
type MockFiles struct {
	Mock
	Data     string  // the labelled rows: any dataset
	Human    string  // the field that holds the labels: see labels.Of
	Positive float64 // labels of at least so much are right
	Folder   string  // to write, which is not there yet
}

// Make writes the folder: a file of rows for each system, named by its accuracy, truth.csv with the accuracies as they
// are, and gold.jsonl with the rows of no system, where there are any. Wrong input is a [runs.InputError].
func (m *MockFiles) Make(ctx context.Context) ([]MockSystem, error) {
	samples, right, err := m.read(ctx)
	if err != nil {
		return nil, &runs.InputError{Err: err}
	}
	systems, gold, err := m.Draw(right)
	if err != nil {
		return nil, &runs.InputError{Err: err}
	}
	if err := os.Mkdir(m.Folder, 0o777); errors.Is(err, fs.ErrExist) {
		return nil, runs.Inputf("%s is there already", m.Folder).WithHint("name a folder that is not")
	} else if err != nil {
		return nil, err
	}
	truth := "run,label\n"
	for _, system := range systems {
		truth += fmt.Sprintf("%s,%v\n", system.Name, system.Accuracy)
		if err := m.write(system.Name, samples, system.Rows); err != nil {
			return nil, err
		}
	}
	if len(gold) > 0 {
		if err := m.write("gold", samples, gold); err != nil {
			return nil, err
		}
	}
	return systems, os.WriteFile(filepath.Join(m.Folder, "truth.csv"), []byte(truth), 0o666)
}

// read reads the rows that have a label.
func (m *MockFiles) read(ctx context.Context) (samples []*metrics.Sample, right []bool, err error) {
	data, err := dataset.Open(ctx, m.Data, dataset.Options{})
	if err != nil {
		return nil, nil, err
	}
	defer data.Close()
	for sample, err := range data.Samples(ctx) {
		if err != nil {
			return nil, nil, err
		}
		v, labelled, err := labels.Of(sample, m.Human)
		if err != nil {
			return nil, nil, err
		}
		if labelled {
			samples, right = append(samples, sample), append(right, v >= m.Positive)
		}
	}
	if len(samples) == 0 {
		return nil, nil, fmt.Errorf("no row of %s has a label %q", m.Data, m.Human)
	}
	return samples, right, nil
}

// write writes the rows of one system.
func (m *MockFiles) write(name string, samples []*metrics.Sample, rows []int) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, i := range rows {
		if err := e.Encode(Answered{Sample: *samples[i]}); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(m.Folder, name+".jsonl"), b.Bytes(), 0o666)
}
