package gguf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/models/head"
)

// zeroTensors is a safetensors file of tensors that are zero.
func zeroTensors(t *testing.T, shapes map[string][]int64) []byte {
	t.Helper()
	header, end := map[string]any{}, int64(0)
	for name, shape := range shapes {
		n, _ := elements(shape)
		header[name] = map[string]any{"dtype": "F32", "shape": shape, "data_offsets": []int64{end, end + 4*n}}
		end += 4 * n
	}
	data, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	return safetensorsFile(string(data), int(end))
}

// classifierFolder writes a BERT classifier of zeros, with more tensors.
func classifierFolder(t *testing.T, config string, more map[string][]int64) string {
	t.Helper()
	dir := t.TempDir()
	writeTinyBert(t, dir)
	c, err := parseFile(filepath.Join(dir, "config.json"), readBertConfig)
	if err != nil {
		t.Fatal(err)
	}
	shapes := map[string][]int64{}
	for _, want := range c.tensors() {
		shapes["bert."+want.from] = want.shape
	}
	for name, shape := range more {
		shapes[name] = shape
	}
	writeFileForTest(t, filepath.Join(dir, "model.safetensors"), zeroTensors(t, shapes))
	data, err := readJSON(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	writeFileForTest(t, filepath.Join(dir, "config.json"), append(bytes.TrimSuffix(data, []byte("}")), ","+config+"}"...))
	return dir
}

func TestConvertClassifier(t *testing.T) {
	head := map[string][]int64{"bert.pooler.dense.weight": {32, 32}, "bert.pooler.dense.bias": {32},
		"classifier.weight": {2, 32}, "classifier.bias": {2}}
	var b bytes.Buffer
	dir := classifierFolder(t, `"id2label":{"1":"yes","0":"no"}`, head)
	if _, err := ConvertBERT(&b, dir, "x"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.gguf")
	writeFileForTest(t, path, b.Bytes())
	info, err := Check(path)
	if err != nil || info.Pooling != "rank" || info.Head != 2 || info.SegmentB != 14 || info.Vocabulary != 28 ||
		!slices.Equal(info.Labels, []string{"no", "yes"}) || info.Activation != "softmax" || info.Misread != "" {
		t.Errorf("%+v, %v", info, err)
	}

	check := func(config, want string, change func(map[string][]int64)) {
		t.Helper()
		tensors := map[string][]int64{}
		for name, shape := range head {
			tensors[name] = shape
		}
		change(tensors)
		_, err := ConvertBERT(io.Discard, classifierFolder(t, config, tensors), "x")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", config, err, want)
		}
	}
	same := func(map[string][]int64) {}
	check(`"architectures":["BertForTokenClassification"]`, "classifies tokens", same)
	check(`"id2label":{"0":"a","1":"b","2":"c"}`, "does not name 2 outputs", same)
	check(`"x":1`, "no pooler", func(m map[string][]int64) { delete(m, "bert.pooler.dense.weight") })
	check(`"x":1`, "classifier.bias is not there", func(m map[string][]int64) { delete(m, "classifier.bias") })
	check(`"x":1`, "has the shape [2 2 8]", func(m map[string][]int64) { m["classifier.weight"] = []int64{2, 2, 8} })
	check(`"x":1`, "cls.dense has no place", func(m map[string][]int64) { m["cls.dense"] = []int64{2} })
}

func TestClassifierConfig(t *testing.T) {
	check := func(config string, outputs int, activation string, labels ...string) {
		t.Helper()
		var c classifierConfig
		if err := json.Unmarshal([]byte(config), &c); err != nil {
			t.Fatal(err)
		}
		got, err := c.labels(outputs)
		if err != nil || !slices.Equal(got, labels) || c.activation(outputs) != activation {
			t.Errorf("%s: labels %q, activation %q, %v", config, got, c.activation(outputs), err)
		}
	}
	check(`{}`, 1, "")
	check(`{}`, 2, "softmax", "LABEL_0", "LABEL_1")
	check(`{"id2label":{"0":"LABEL_0","1":"LABEL_1"}}`, 1, "") // its default, kept beside one output
	check(`{"id2label":{"0":"LABEL_0"}}`, 1, "")
	check(`{"id2label":{"0":"good"}}`, 1, "", "good")
	check(`{"id2label":{"1":"entailment","0":"contradiction"}}`, 2, "softmax", "contradiction", "entailment")
	check(`{"problem_type":"multi_label_classification","id2label":{"0":"a","1":"b"}}`, 2, "sigmoid", "a", "b")
	check(`{"problem_type":"regression"}`, 1, "linear")
	check(`{"sentence_transformers":{"activation_fn":"torch.nn.modules.activation.Sigmoid"}}`, 1, "sigmoid")
	check(`{"sbert_ce_default_activation_function":"torch.nn.modules.linear.Identity"}`, 1, "linear")
	check(`{"sbert_ce_default_activation_function":"torch.nn.modules.linear.Identity"}`, 3, "softmax",
		"LABEL_0", "LABEL_1", "LABEL_2")

	refuse := func(config string, outputs int) {
		t.Helper()
		var c classifierConfig
		if err := json.Unmarshal([]byte(config), &c); err != nil {
			t.Fatal(err)
		}
		if got, err := c.labels(outputs); err == nil || !strings.Contains(err.Error(), "id2label") {
			t.Errorf("%s: labels %q, %v", config, got, err)
		}
	}
	refuse(`{"id2label":{"0":"a","2":"b"}}`, 2)
	refuse(`{"id2label":{"0":"a","1":"a"}}`, 2)
	refuse(`{"id2label":{"0":"a","one":"b"}}`, 2)
	refuse(`{"id2label":{"0":"a"}}`, 2)
}

func TestReadHead(t *testing.T) {
	folder := func(config string, shapes map[string][]int64) string {
		dir := t.TempDir()
		writeFileForTest(t, filepath.Join(dir, "config.json"), []byte(config))
		writeFileForTest(t, filepath.Join(dir, "model.safetensors"), zeroTensors(t, shapes))
		return dir
	}
	check := func(config string, shapes map[string][]int64, pooling string, chat bool, layers int) {
		t.Helper()
		h, err := ReadHead(folder(config, shapes))
		if err != nil || h.Pooling != pooling || h.Chat != chat || len(h.Layers) != layers {
			t.Errorf("%s: %+v, %v", config, h, err)
		}
	}
	score := map[string][]int64{"score.weight": {1, 8}, "model.layers.0.input_layernorm.weight": {8}}
	check(`{"model_type":"qwen2","architectures":["Qwen2ForSequenceClassification"]}`, score, head.Last, true, 1)
	check(`{"model_type":"qwen2","architectures":["Qwen2ForTokenClassification"]}`, score, head.Each, false, 1)
	check(`{"model_type":"roberta","architectures":["RobertaForTokenClassification"]}`,
		map[string][]int64{"classifier.weight": {2, 8}, "classifier.bias": {2}}, head.Each, false, 1)
	modern := map[string][]int64{"head.dense.weight": {8, 8}, "head.norm.weight": {8}, "classifier.weight": {2, 8}}
	check(`{"model_type":"modernbert"}`, modern, head.First, false, 2)
	check(`{"model_type":"modernbert","classifier_pooling":"mean"}`, modern, head.Mean, false, 2)
	check(`{"model_type":"modernbert","classifier_pooling":"mean","architectures":["ModernBertForTokenClassification"]}`,
		modern, head.Each, false, 2)
	check(`{"model_type":"t5","architectures":["T5ForTokenClassification"]}`, map[string][]int64{
		"transformer.encoder.block.0.layer.0.SelfAttention.q.weight": {8, 8}, "classifier.weight": {2, 8}},
		head.Each, false, 1)

	refuse := func(config string, shapes map[string][]int64, want string) {
		t.Helper()
		if h, err := ReadHead(folder(config, shapes)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %q", config, h, err, want)
		}
	}
	linear := map[string][]int64{"classifier.weight": {2, 8}}
	refuse(`{"model_type":"bert","type_vocab_size":2}`, linear, "import the folder alone")
	refuse(`{"model_type":"roberta"}`, linear, "classifier.dense.weight is not there")
	refuse(`{"model_type":"deberta-v2"}`, linear, "ONNX Runtime")
	refuse(`{"model_type":"modernbert","classifier_pooling":"max"}`, modern, "classifier_pooling")
	refuse(`{"model_type":"roberta"}`, map[string][]int64{"roberta.embeddings.LayerNorm.bias": {8}}, "none of its")
	refuse(`{"model_type":"llama","id2label":{"0":"a","1":"b","2":"c"}}`, score, "id2label")
	refuse(`{"model_type":"llama"}`, map[string][]int64{"score.weight": {8}}, "shape [8]")
	refuse(`{"model_type":"llama"}`, map[string][]int64{"score.weight": {0, 8}}, "shape [0 8]")
	refuse(`[]`, score, "not a config.json")
	if _, err := ReadHead(t.TempDir()); err == nil || !strings.Contains(err.Error(), "config.json") {
		t.Errorf("an empty folder: %v", err)
	}
}

// FuzzReadHead checks that no safetensors file gives a head that cannot be computed.
func FuzzReadHead(f *testing.F) {
	f.Add("modernbert", []byte(`{"head.dense.weight":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},`+
		`"head.norm.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},`+
		`"classifier.weight":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}`))
	f.Add("llama", []byte(`{"score.weight":{"dtype":"F16","shape":[1,4],"data_offsets":[0,8]}}`))
	f.Fuzz(func(t *testing.T, kind string, header []byte) {
		dir := t.TempDir()
		config, err := json.Marshal(map[string]string{"model_type": kind})
		if err != nil {
			t.Fatal(err)
		}
		writeFileForTest(t, filepath.Join(dir, "config.json"), config)
		data := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
		writeFileForTest(t, filepath.Join(dir, "model.safetensors"), append(data, make([]byte, 16)...))
		h, err := ReadHead(dir)
		if err != nil {
			return
		}
		if _, err := h.Apply(make([]float32, h.Inputs())); err != nil {
			t.Error(err)
		}
	})
}

// TestMisread checks which marks of a header make a classifier one that llama.cpp misreads.
func TestMisread(t *testing.T) {
	check := func(arch string, pooling uint32, misread, doubt string, tensors ...string) {
		t.Helper()
		var b bytes.Buffer
		var sources []TensorSource
		for _, name := range tensors {
			shape := []int64{4, 2}
			if name == "one type" {
				name, shape = "token_types.weight", []int64{4, 1}
			}
			n, _ := elements(shape)
			sources = append(sources, TensorSource{Name: name, Shape: shape, Write: func(w io.Writer) error {
				_, err := w.Write(make([]byte, 4*n))
				return err
			}})
		}
		fields := []Field{{"general.architecture", arch}, {arch + ".pooling_type", pooling}}
		if err := Write(&b, fields, sources); err != nil {
			t.Fatal(err)
		}
		h, err := decode(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		info := h.Info()
		for _, c := range [][2]string{{info.Misread, misread}, {info.Doubt, doubt}} {
			if c[1] == "" && c[0] != "" || !strings.Contains(c[0], c[1]) {
				t.Errorf("%s %v: %q, want %q", arch, tensors, c[0], c[1])
			}
		}
	}
	const rank = 4
	check("bert", rank, "", "", "cls.weight", "cls.output.weight", "one type")
	check("bert", rank, "two segments", "", "cls.weight", "cls.output.weight", "token_types.weight")
	check("bert", rank, "pooler", "", "cls.output.weight", "token_types.weight")
	check("bert", rank, "pooler", "", "cls.output.weight", "one type")
	check("bert", rank, "layer before it", "", "cls.weight", "token_types.weight")
	check("bert", rank, "DistilBERT", "", "cls.weight", "cls.output.weight")
	check("bert", 1, "", "", "token_types.weight") // an embedding model
	check("bert", 1, "", "", "cls.output.weight", "token_types.weight")
	check("modern-bert", rank, "", "classifier_pooling", "cls.weight", "cls.output.weight")
	check("modern-bert", 1, "", "")
	check("qwen3", rank, "", "", "cls.output.weight")
}

// TestCheckSegments checks that the second copy of a vocabulary is as long as the first.
func TestCheckSegments(t *testing.T) {
	check := func(value any, bad bool) {
		t.Helper()
		h := &Header{values: map[string]any{}}
		if value != nil {
			h.values[segmentKey] = value
		}
		if err := h.checkSegments(28); (err != nil) != bad {
			t.Errorf("%v: %v", value, err)
		}
	}
	check(nil, false)
	check(uint32(14), false)
	check(uint32(13), true)
	check(uint32(0), true)
	check("14", true)
	check(int32(-14), true)
}
