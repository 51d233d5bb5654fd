package head

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func tensor(values []float32, shape ...int) *Tensor { return &Tensor{Shape: shape, Values: values} }

// small is a head of two layers, with everything that a layer can have.
func small() *Head {
	return &Head{Version: 1, Pooling: Mean, Labels: []string{"no", "yes"}, Activation: "softmax", Layers: []Layer{
		{Weight: *tensor([]float32{1, 0, 0, 2}, 2, 2), Bias: tensor([]float32{0.5, -1}, 2), Activation: "relu",
			Norm: tensor([]float32{1, 3}, 2), NormBias: tensor([]float32{0.25, 0}, 2), Epsilon: 1e-5},
		{Weight: *tensor([]float32{1, 1, 1, -1}, 2, 2)},
	}}
}

func TestApply(t *testing.T) {
	check := func(h *Head, x []float32, want ...float32) {
		t.Helper()
		got, err := h.Apply(x)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%v, %v", got, err)
		}
		for i := range want {
			if !(math.Abs(float64(got[i]-want[i])) < 1e-4) {
				t.Errorf("%v gives %v, want %v", x, got, want)
			}
		}
	}
	// (1, 2) becomes (1.5, 3), normed (-1, 1), scaled and moved (-0.75, 3).
	check(small(), []float32{1, 2}, 2.25, -3.75)
	one := func(activation string) *Head {
		return &Head{Version: 1, Pooling: First,
			Layers: []Layer{{Weight: *tensor([]float32{2}, 1, 1), Activation: activation}}}
	}
	check(one(""), []float32{-1}, -2)
	check(one("relu"), []float32{-1}, 0)
	check(one("tanh"), []float32{-1}, -0.964028)
	check(one("gelu"), []float32{-1}, -0.045500)
	check(one("silu"), []float32{-1}, -0.238406)
	if _, err := small().Apply([]float32{1}); err == nil || !strings.Contains(err.Error(), "of another model") {
		t.Errorf("a vector of another width: %v", err)
	}
}

func TestRoundTrip(t *testing.T) {
	data, err := small().Encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(Path(path), data, 0o644); err != nil {
		t.Fatal(err)
	}
	h, err := Find(path)
	if err != nil || !reflect.DeepEqual(h, small()) {
		t.Errorf("%+v, %v", h, err)
	}
	if h, err := Find(filepath.Join(t.TempDir(), "m.gguf")); h != nil || err != nil {
		t.Errorf("a model without a head: %v, %v", h, err)
	}
}

func TestParseRefuses(t *testing.T) {
	check := func(want string, change func(h *Head)) {
		t.Helper()
		h := small()
		change(h)
		data, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	check("version", func(h *Head) { h.Version = 2 })
	check("pooling", func(h *Head) { h.Pooling = "max" })
	check("activation", func(h *Head) { h.Activation = "none" })
	check("activation", func(h *Head) { h.Layers[0].Activation = "gelu_new" })
	check("0 layers", func(h *Head) { h.Layers = nil })
	check("labels", func(h *Head) { h.Labels = h.Labels[:1] })
	check("twice", func(h *Head) { h.Labels = []string{"a", "a"} })
	check("shape [4]", func(h *Head) { h.Layers[0].Weight.Shape = []int{4} })
	check("shape [-2 -2]", func(h *Head) { h.Layers[0].Weight.Shape = []int{-2, -2} })
	check("and 4 values", func(h *Head) { h.Layers[0].Weight.Shape = []int{2, 3} })
	check("takes 3 numbers", func(h *Head) { h.Layers[1].Weight = *tensor(make([]float32, 6), 2, 3) })
	check("bias has the shape [1]", func(h *Head) { h.Layers[0].Bias = tensor([]float32{1}, 1) })
	check("epsilon", func(h *Head) { h.Layers[0].Epsilon = 0 })
	check("no norm", func(h *Head) { h.Layers[0].Norm = nil })
	nan := func(h *Head) { h.Layers[1].Weight.Values[0] = float32(math.NaN()) }
	check("holds NaN", nan)
	for _, data := range []string{"", "[]", "{} {}", `{"version":1,"more":1}`,
		`{"layers":[{"weight":{"shape":[1,1],"f32":"` + base64.StdEncoding.EncodeToString([]byte("abc")) + `"}}]}`} {
		if _, err := Parse([]byte(data)); err == nil || !strings.Contains(err.Error(), "not the head") {
			t.Errorf("%q: %v", data, err)
		}
	}
}

// FuzzParse checks that a head that is accepted can be computed.
func FuzzParse(f *testing.F) {
	data, err := small().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"version":1,"pooling":"last","layers":[{"weight":{"shape":[1,1],"f32":"AACAPw=="}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := Parse(data)
		if err != nil {
			return
		}
		out, err := h.Apply(make([]float32, h.Inputs()))
		if err != nil || len(out) != h.Outputs() {
			t.Errorf("%d numbers, %v", len(out), err)
		}
	})
}
