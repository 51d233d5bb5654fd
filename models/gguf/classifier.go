package gguf

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// A classifierConfig is what a config.json says of a classification head.
type classifierConfig struct {
	Type          string            `json:"model_type"`
	Architectures []string          `json:"architectures"`
	Labels        map[string]string `json:"id2label"`
	Problem       string            `json:"problem_type"`
	Pooling       string            `json:"classifier_pooling"`    // ModernBERT's: "cls" or "mean"
	Activation    string            `json:"classifier_activation"` // ModernBERT's
	Epsilon       float64           `json:"norm_eps"`              // ModernBERT's
	Segments      int64             `json:"type_vocab_size"`
	Sentences     struct {
		Activation string `json:"activation_fn"`
	} `json:"sentence_transformers"`
	Older string `json:"sbert_ce_default_activation_function"`
}

func readClassifierConfig(dir string) (*classifierConfig, error) {
	return parseFile(filepath.Join(dir, "config.json"), func(data []byte) (*classifierConfig, error) {
		c := new(classifierConfig)
		if err := json.Unmarshal(data, c); err != nil {
			return nil, fmt.Errorf("not a config.json: %v", err)
		}
		return c, nil
	})
}

// is reports whether the model was made for a task: "SequenceClassification".
func (c *classifierConfig) is(task string) bool {
	for _, a := range c.Architectures {
		if strings.HasSuffix(a, "For"+task) {
			return true
		}
	}
	return false
}

// labels names so many outputs in their order; nil for one output without a name of its own.
func (c *classifierConfig) labels(outputs int) ([]string, error) {
	if outputs == 1 && (len(c.Labels) == 0 || c.Labels["0"] == "LABEL_0") {
		return nil, nil
	}
	list := make([]string, outputs)
	for i := range list {
		list[i] = fmt.Sprintf("LABEL_%d", i) // as Hugging Face numbers them
	}
	if len(c.Labels) == 0 || len(c.Labels) == 2 && outputs != 2 && c.Labels["0"] == "LABEL_0" { // its default
		return list, nil
	}
	seen := map[string]bool{}
	for key, name := range c.Labels {
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= outputs || name == "" || seen[name] {
			return nil, fmt.Errorf("config.json: its id2label does not name %d outputs, one by one: %.80q is %.80q",
				outputs, key, name)
		}
		seen[name], list[i] = true, name
	}
	if len(seen) != outputs {
		return nil, fmt.Errorf("config.json: its id2label names %d outputs and the classification head has %d",
			len(seen), outputs)
	}
	return list, nil
}

// activation is what makes so many outputs probabilities: what the model says, or else what Hugging Face takes.
func (c *classifierConfig) activation(outputs int) string {
	named := c.Sentences.Activation
	if named == "" {
		named = c.Older
	}
	switch named = named[strings.LastIndex(named, ".")+1:]; { // torch.nn.modules.activation.Sigmoid
	case named == "Sigmoid", c.Problem == "multi_label_classification":
		return "sigmoid"
	case named == "Identity" && outputs == 1, c.Problem == "regression":
		return "linear"
	case outputs == 1:
		return "" // logits of a reranker, or numbers on a scale of their own
	}
	return "softmax"
}
