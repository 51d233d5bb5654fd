package head

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// A Tensor is a vector or a matrix, rows one after another.
type Tensor struct {
	Shape  []int
	Values []float32
}

// tensorJSON is a tensor in a file: its values as float32, little-endian, in base64.
type tensorJSON struct {
	Shape []int  `json:"shape"`
	F32   string `json:"f32"`
}

// MarshalJSON writes the tensor as the package comment says.
func (t *Tensor) MarshalJSON() ([]byte, error) {
	data := make([]byte, 0, 4*len(t.Values))
	for _, v := range t.Values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return json.Marshal(tensorJSON{t.Shape, base64.StdEncoding.EncodeToString(data)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *Tensor) UnmarshalJSON(data []byte) error {
	var j tensorJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(j.F32)
	if err != nil || len(raw)%4 != 0 {
		return fmt.Errorf("a tensor of shape %v is no base64 of float32", j.Shape)
	}
	t.Shape, t.Values = j.Shape, make([]float32, len(raw)/4)
	for i := range t.Values {
		t.Values[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return nil
}

// check reports a tensor that has not as many values as its shape says, or one that is not a number.
func (t *Tensor) check() error {
	n := 1
	for _, d := range t.Shape {
		n *= d // of at most two dimensions up to maxWidth
	}
	if n != len(t.Values) {
		return fmt.Errorf("has the shape %v and %d values", t.Shape, len(t.Values))
	}
	for _, v := range t.Values {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("holds %v", v)
		}
	}
	return nil
}
