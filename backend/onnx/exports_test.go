package onnx

import (
	"fmt"
	"hash/fnv"
	"math"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/onnx/graph"
)

// An architecture is a small model of one, as a folder of it is published.
type architecture struct {
	file       []byte
	config     string
	ops        backend.Ops
	labels     []string
	activation backend.Activation
}

// architectures are those of testdata/reference.py, by its names.
func architectures() map[string]architecture {
	const heads = backend.CanClassify
	sentences := backend.CanEmbed | backend.CanEmbedTokens
	roberta := `{"max_position_embeddings": 66, "pad_token_id": 1, "id2label": `
	return map[string]architecture{
		"roberta": {robertaFile(2), roberta + `{"0": "LABEL_0", "1": "LABEL_1"}, "problem_type": null}`, heads,
			[]string{"LABEL_0", "LABEL_1"}, backend.Softmax},
		"xlm-roberta": {xlmFile(3), roberta + `{"0": "no", "1": "maybe", "2": "yes"},
			"problem_type": "multi_label_classification"}`, heads, []string{"no", "maybe", "yes"}, backend.Sigmoid},
		"xlm-roberta sentences": {sentencesFile(), roberta + `{}}`, sentences, nil, ""},
		"modernbert cls": {modernFile("cls", 1), `{"problem_type": "regression", "id2label": {"0": "LABEL_0"}}`, heads,
			nil, backend.Linear},
		"modernbert mean": {modernFile("mean", 2), `{}`, heads, []string{"LABEL_0", "LABEL_1"}, backend.Softmax},
		"modernbert tokens": {modernFile("", 2), `{"architectures": ["ModernBertForTokenClassification"],
			"id2label": {"0": "supported", "1": "hallucinated"}}`, backend.CanLabelTokens,
			[]string{"supported", "hallucinated"}, backend.Softmax},
		"deberta-v3": {debertaFile(true, false, 3), `{"id2label": {"0": "a", "1": "b", "2": "c"}, "pad_token_id": 0,
			"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity", "version": "4.0.1"}}`, heads,
			[]string{"a", "b", "c"}, backend.Linear},
		"deberta-v2":          {debertaFile(true, true, 1), `{}`, heads, nil, backend.Sigmoid},
		"deberta-v2 unshared": {debertaFile(false, false, 2), `{}`, heads, []string{"LABEL_0", "LABEL_1"}, backend.Softmax},
		"t5": {t5File(2), `{"architectures": ["HeadForSequenceClassification"], "pad_token_id": 0}`, heads,
			[]string{"LABEL_0", "LABEL_1"}, backend.Softmax},
	}
}

// The sizes of all of them.
const (
	exportWords = 96
	exportWidth = 24
	exportHeads = 3
	exportSize  = exportWidth / exportHeads
	exportInner = 40
)

// exported makes the numbers of a tensor by its name, as reference.py does: between mean - spread and mean + spread.
func exported(name string, count int, mean, spread float64) []float32 {
	h := fnv.New64a()
	h.Write([]byte(name))
	seed := h.Sum64()
	list := make([]float32, count)
	for i := range list {
		z := seed + uint64(i+1)*0x9e3779b97f4a7c15 // SplitMix64
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		list[i] = float32(mean + float64(spread*(2*float64(z>>11)/(1<<53)-1)))
	}
	return list
}

// An export is a graph as an exporter writes it: names of values are made up.
type export struct {
	graph.Graph
	made int
}

func (g *export) name() string {
	g.made++
	return fmt.Sprintf("/value_%d", g.made)
}

func (g *export) op(op string, inputs ...string) string { return g.Node(op, g.name(), inputs) }

// on is op along an axis.
func (g *export) on(axis int64, op string, inputs ...string) string {
	return g.Node(op, g.name(), inputs, graph.Int("axis", axis))
}

func (g *export) turn(x string, order ...int64) string {
	return g.Node("Transpose", g.name(), []string{x}, graph.Ints("perm", order...))
}

func (g *export) cast(x string, to graph.ElementType) string {
	return g.Node("Cast", g.name(), []string{x}, graph.Int("to", int64(to)))
}

// mean is over the last axis.
func (g *export) mean(x string) string {
	return g.Node("ReduceMean", g.name(), []string{x}, graph.Ints("axes", -1))
}

func (g *export) number(v float64) string { return g.Floats(g.name(), []float32{float32(v)}) }
func (g *export) whole(v int64) string    { return g.Ints(g.name(), []int64{v}) }

func (g *export) list(values ...int64) string { return g.Ints(g.name(), values, len(values)) }

func (g *export) table(name string, rows, width int) string {
	return g.Floats(name, exported(name, rows*width, 0, 1), rows, width)
}

func (g *export) linear(name, x string, in, out int, bias bool) string {
	weights := exported(name+".weight", in*out, 0, math.Sqrt(3/float64(in)))
	y := g.op("MatMul", x, g.Floats(g.name(), turned(weights, in), in, out))
	if !bias {
		return y
	}
	return g.op("Add", g.Floats(g.name(), exported(name+".bias", out, 0, 0.2), out), y)
}

// norm is a layer norm, taken apart as exporters do that know no operator for it.
func (g *export) norm(name, x string, epsilon float64) string {
	centred := g.op("Sub", x, g.mean(x))
	variance := g.mean(g.op("Pow", centred, g.number(2)))
	y := g.op("Div", centred, g.op("Sqrt", g.op("Add", variance, g.number(epsilon))))
	y = g.op("Mul", y, g.Floats(g.name(), exported(name+".weight", exportWidth, 1, 0.3), exportWidth))
	return g.op("Add", y, g.Floats(g.name(), exported(name+".bias", exportWidth, 0, 0.2), exportWidth))
}

// bare is a layer norm without a bias.
func (g *export) bare(name, x string) string {
	w := g.Floats(g.name(), exported(name+".weight", exportWidth, 1, 0.3), exportWidth)
	return g.Node("LayerNormalization", g.name(), []string{x, w}, graph.Int("axis", -1), graph.Float("epsilon", 1e-5))
}

func (g *export) gelu(x string) string {
	e := g.op("Add", g.op("Erf", g.op("Div", x, g.number(math.Sqrt2))), g.number(1))
	return g.op("Mul", g.op("Mul", x, e), g.number(0.5))
}

// length is the number of tokens.
func (g *export) length() string {
	return g.on(0, "Gather", g.op("Shape", "input_ids"), g.whole(1))
}

func (g *export) places() string { return g.op("Range", g.whole(0), g.length(), g.whole(1)) }

// mask is what is added to scores.
func (g *export) mask() string {
	m := g.op("Sub", g.number(1), g.cast("attention_mask", graph.Float32))
	return g.op("Unsqueeze", g.op("Mul", m, g.number(-math.MaxFloat32)), g.list(1, 2))
}

// heads puts the heads before the tokens.
func (g *export) heads(x string) string {
	return g.turn(g.op("Reshape", x, g.list(0, 0, exportHeads, exportSize)), 0, 2, 1, 3)
}

// attend reads values, which have their heads first, by scores.
func (g *export) attend(scores, v string) string {
	read := g.turn(g.op("MatMul", g.on(-1, "Softmax", scores), v), 0, 2, 1, 3)
	return g.op("Reshape", read, g.list(0, 0, exportWidth))
}

// token is what stands at the first token.
func (g *export) token(x string) string { return g.on(1, "Gather", x, g.whole(0)) }

// inputs adds inputs.
func (g *export) inputs(kind graph.ElementType, names ...string) {
	for _, name := range names {
		g.Input(name, kind, "batch_size", "sequence_length")
	}
}

// end names an output.
func (g *export) end(x, name string, dimensions ...any) []byte {
	g.Node("Identity", name, []string{x})
	g.Output(name, graph.Float32, dimensions...)
	return g.Model("main_graph")
}

// roberta is RoBERTa's encoder on given positions.
func (g *export) roberta(prefix, positions string, layers int) string {
	e := prefix + "embeddings."
	x := g.op("Gather", g.table(e+"word_embeddings.weight", exportWords, exportWidth), "input_ids")
	zeros := g.op("Sub", positions, positions)
	x = g.op("Add", x, g.op("Gather", g.table(e+"token_type_embeddings.weight", 1, exportWidth), zeros))
	x = g.op("Add", x, g.op("Gather", g.table(e+"position_embeddings.weight", 66, exportWidth), positions))
	x = g.norm(e+"LayerNorm", x, 1e-5)
	mask := g.mask()
	for i := range layers {
		l := fmt.Sprintf("%sencoder.layer.%d.", prefix, i)
		part := func(name string) string {
			return g.heads(g.linear(l+"attention.self."+name, x, exportWidth, exportWidth, true))
		}
		q, k, v := part("query"), part("key"), part("value")
		scores := g.op("Div", g.op("MatMul", q, g.turn(k, 0, 1, 3, 2)), g.number(math.Sqrt(exportSize)))
		y := g.attend(g.op("Add", scores, mask), v)
		y = g.linear(l+"attention.output.dense", y, exportWidth, exportWidth, true)
		x = g.norm(l+"attention.output.LayerNorm", g.op("Add", y, x), 1e-5)
		x = g.feed(l, x, 1e-5)
	}
	return x
}

// feed is the second half of a layer of BERT's kind.
func (g *export) feed(l, x string, epsilon float64) string {
	y := g.gelu(g.linear(l+"intermediate.dense", x, exportWidth, exportInner, true))
	y = g.linear(l+"output.dense", y, exportInner, exportWidth, true)
	return g.norm(l+"output.LayerNorm", g.op("Add", y, x), epsilon)
}

// counted are the positions that RoBERTa makes of the ids: those of padding tokens do not count.
func (g *export) counted() string {
	words := g.cast(g.op("Not", g.op("Equal", "input_ids", g.whole(1))), graph.Int64)
	return g.op("Add", g.op("Mul", g.op("CumSum", words, g.whole(1)), words), g.whole(1))
}

func (g *export) robertaHead(x string, labels int) []byte {
	y := g.op("Tanh", g.linear("classifier.dense", g.token(x), exportWidth, exportWidth, true))
	return g.end(g.linear("classifier.out_proj", y, exportWidth, labels, true), "logits", "batch_size", labels)
}

// robertaFile counts positions itself.
func robertaFile(labels int) []byte {
	var g export
	g.inputs(graph.Int64, "input_ids", "attention_mask")
	return g.robertaHead(g.roberta("roberta.", g.counted(), 2), labels)
}

// xlmFile is given its positions, and takes integers of 32 bits.
func xlmFile(labels int) []byte {
	var g export
	g.inputs(graph.Int32, "position_ids", "input_ids", "attention_mask")
	return g.robertaHead(g.roberta("roberta.", "position_ids", 2), labels)
}

// sentencesFile pools in the graph, as sentence-transformers exports it.
func sentencesFile() []byte {
	var g export
	g.inputs(graph.Int64, "input_ids", "attention_mask")
	x := g.roberta("", g.counted(), 2)
	g.Node("Identity", "token_embeddings", []string{x})
	g.Output("token_embeddings", graph.Float32, "batch_size", "sequence_length", exportWidth)
	return g.end(g.pool(x), "sentence_embedding", "batch_size", exportWidth)
}

// pool is the mean of the tokens that are not masked.
func (g *export) pool(x string) string {
	mask := g.op("Unsqueeze", g.cast("attention_mask", graph.Float32), g.list(2))
	sum := func(x string) string {
		return g.Node("ReduceSum", g.name(), []string{x, g.list(1)}, graph.Int("keepdims", 0))
	}
	return g.op("Div", sum(g.op("Mul", x, mask)), sum(mask))
}

// rotary turns queries or keys by their positions.
func (g *export) rotary(x string, theta float64) string {
	frequencies := make([]float32, exportSize/2)
	for i := range frequencies {
		frequencies[i] = float32(math.Pow(theta, -float64(2*i)/exportSize))
	}
	places := g.op("Unsqueeze", g.cast(g.places(), graph.Float32), g.list(1))
	angles := g.op("Mul", places, g.Floats(g.name(), frequencies, 1, exportSize/2))
	angles = g.on(-1, "Concat", angles, angles)
	low := g.op("Slice", x, g.list(0), g.list(exportSize/2), g.list(3))
	high := g.op("Slice", x, g.list(exportSize/2), g.list(math.MaxInt64), g.list(3))
	half := g.on(-1, "Concat", g.op("Neg", high), low)
	return g.op("Add", g.op("Mul", x, g.op("Cos", angles)), g.op("Mul", half, g.op("Sin", angles)))
}

// modernFile is ModernBERT with a head on the first token, on the mean, or on each token.
func modernFile(pooling string, labels int) []byte {
	const window = 8
	var g export
	g.inputs(graph.Int64, "input_ids", "attention_mask")
	x := g.op("Gather", g.table("model.embeddings.tok_embeddings.weight", exportWords, exportWidth), "input_ids")
	x = g.bare("model.embeddings.norm", x)
	everywhere := g.mask()
	distance := g.op("Abs", g.op("Sub", g.op("Unsqueeze", g.places(), g.list(0)), g.op("Unsqueeze", g.places(), g.list(1))))
	near := g.op("LessOrEqual", distance, g.whole(window/2))
	local := g.op("Where", near, everywhere, g.number(-math.MaxFloat32))
	for i := range 4 {
		l := fmt.Sprintf("model.layers.%d.", i)
		mask, theta := local, 10000.0
		if i%3 == 0 {
			mask, theta = everywhere, 160000
		}
		y := x
		if i > 0 {
			y = g.bare(l+"attn_norm", x)
		}
		y = g.linear(l+"attn.Wqkv", y, exportWidth, 3*exportWidth, false)
		y = g.turn(g.op("Reshape", y, g.list(0, 0, 3, exportHeads, exportSize)), 0, 3, 2, 1, 4)
		part := func(i int64) string { return g.on(2, "Gather", y, g.whole(i)) }
		q, k := g.rotary(part(0), theta), g.rotary(part(1), theta)
		scores := g.op("Mul", g.op("MatMul", q, g.turn(k, 0, 1, 3, 2)), g.number(1/math.Sqrt(exportSize)))
		y = g.attend(g.op("Add", scores, mask), part(2))
		x = g.op("Add", x, g.linear(l+"attn.Wo", y, exportWidth, exportWidth, false))
		both := g.linear(l+"mlp.Wi", g.bare(l+"mlp_norm", x), exportWidth, 2*exportInner, false)
		split := []string{g.name(), g.name()}
		g.Nodes("Split", split, []string{both}, graph.Int("axis", -1))
		y = g.op("Mul", g.gelu(split[0]), split[1])
		x = g.op("Add", x, g.linear(l+"mlp.Wo", y, exportInner, exportWidth, false))
	}
	x = g.bare("model.final_norm", x)
	dimensions := []any{"batch_size", labels}
	switch pooling {
	case "cls":
		x = g.token(x)
	case "mean":
		x = g.pool(x)
	default:
		dimensions = []any{"batch_size", "sequence_length", labels}
	}
	x = g.bare("head.norm", g.gelu(g.linear("head.dense", x, exportWidth, exportWidth, false)))
	return g.end(g.linear("classifier", x, exportWidth, labels, true), "logits", dimensions...)
}

// logBuckets puts distances into buckets that widen with their logarithm, half of them on either side.
func (g *export) logBuckets(distance string, buckets, farthest float64) string {
	middle := buckets / 2
	inner := g.op("And", g.op("Less", distance, g.whole(int64(middle))), g.op("Greater", distance, g.whole(int64(-middle))))
	far := g.op("Where", inner, g.whole(int64(middle-1)), g.op("Abs", distance))
	grown := g.op("Log", g.op("Div", g.cast(far, graph.Float32), g.number(middle)))
	grown = g.op("Mul", g.op("Div", grown, g.number(math.Log((farthest-1)/middle))), g.number(middle-1))
	grown = g.op("Add", g.op("Ceil", grown), g.number(middle))
	grown = g.op("Mul", grown, g.cast(g.op("Sign", distance), graph.Float32))
	small := g.op("LessOrEqual", far, g.whole(int64(middle)))
	return g.cast(g.op("Where", small, g.cast(distance, graph.Float32), grown), graph.Int64)
}

// debertaFile is DeBERTa with disentangled attention. Content and positions share their matrices, or they do not; the
// larger models of version 2 have a convolution beside the first layer.
func debertaFile(shared, convolution bool, labels int) []byte {
	const buckets, farthest = 8, 32
	var g export
	g.inputs(graph.Int64, "input_ids", "attention_mask")
	if shared {
		g.inputs(graph.Int64, "token_type_ids") // which these models do not read
	}
	x := g.op("Gather", g.table("deberta.embeddings.word_embeddings.weight", exportWords, exportWidth), "input_ids")
	x = g.norm("deberta.embeddings.LayerNorm", x, 1e-7)
	x = g.op("Mul", x, g.op("Unsqueeze", g.cast("attention_mask", graph.Float32), g.list(2)))
	first := x
	places := g.places()
	distance := g.op("Sub", g.op("Unsqueeze", places, g.list(1)), g.op("Unsqueeze", places, g.list(0)))
	relative := g.op("Unsqueeze", g.logBuckets(distance, buckets, farthest), g.list(0))
	index := func(relative string) string {
		at := g.op("Clip", g.op("Add", relative, g.whole(buckets)), g.whole(0), g.whole(2*buckets-1))
		n := g.op("Unsqueeze", g.length(), g.list(0))
		return g.op("Expand", at, g.on(0, "Concat", g.list(exportHeads), n, n))
	}
	table := g.table("deberta.encoder.rel_embeddings.weight", 2*buckets, exportWidth)
	r := g.op("Unsqueeze", g.norm("deberta.encoder.LayerNorm", table, 1e-7), g.list(0))
	both := g.op("Unsqueeze", g.cast("attention_mask", graph.Bool), g.list(1, 2))
	both = g.op("And", both, g.turn(both, 0, 1, 3, 2))
	flat := func(name, x string) string { // heads and texts in one dimension
		y := g.heads(g.linear(name, x, exportWidth, exportWidth, true))
		shape := g.on(0, "Concat", g.list(-1), g.op("Slice", g.op("Shape", y), g.list(2), g.list(4), g.list(0)))
		return g.op("Reshape", y, shape)
	}
	for i := range 2 {
		l := fmt.Sprintf("deberta.encoder.layer.%d.", i)
		s := l + "attention.self."
		q, k, v := flat(s+"query_proj", x), flat(s+"key_proj", x), flat(s+"value_proj", x)
		placeQ, placeK := s+"pos_query_proj", s+"pos_key_proj"
		if shared {
			placeQ, placeK = s+"query_proj", s+"key_proj"
		}
		scaled := func(x string) string { return g.op("Div", x, g.number(math.Sqrt(3*exportSize))) }
		product := func(a, b string) string { return g.op("MatMul", a, g.turn(b, 0, 2, 1)) }
		scores := scaled(product(q, k))
		c2p := g.on(-1, "GatherElements", product(q, flat(placeK, r)), index(relative))
		p2c := g.on(-1, "GatherElements", product(k, flat(placeQ, r)), index(g.op("Neg", relative)))
		scores = g.op("Add", scores, g.op("Add", scaled(c2p), scaled(g.turn(p2c, 0, 2, 1))))
		scores = g.op("Unsqueeze", scores, g.list(0))
		scores = g.op("Where", both, scores, g.number(-math.MaxFloat32))
		y := g.attend(scores, g.op("Unsqueeze", v, g.list(0)))
		y = g.linear(l+"attention.output.dense", y, exportWidth, exportWidth, true)
		x = g.norm(l+"attention.output.LayerNorm", g.op("Add", y, x), 1e-7)
		if x = g.feed(l, x, 1e-7); i == 0 && convolution {
			x = g.convolved(first, x)
		}
	}
	y := g.gelu(g.linear("pooler.dense", g.token(x), exportWidth, exportWidth, true))
	return g.end(g.linear("classifier", y, exportWidth, labels, true), "logits", "batch_size", labels)
}

// convolved adds what a convolution over three tokens makes of a layer's input to its output.
func (g *export) convolved(first, x string) string {
	const c = "deberta.encoder.conv."
	weights := exported(c+"conv.weight", exportWidth*exportWidth*3, 0, math.Sqrt(1./exportWidth))
	y := g.Node("Conv", g.name(), []string{g.turn(first, 0, 2, 1),
		g.Floats(g.name(), weights, exportWidth, exportWidth, 3),
		g.Floats(g.name(), exported(c+"conv.bias", exportWidth, 0, 0.2), exportWidth)},
		graph.Ints("kernel_shape", 3), graph.Ints("pads", 1, 1))
	return g.norm(c+"LayerNorm", g.op("Add", x, g.gelu(g.turn(y, 0, 2, 1))), 1e-7)
}

// root is T5's norm.
func (g *export) root(name, x string) string {
	square := g.mean(g.op("Pow", x, g.number(2)))
	y := g.op("Div", x, g.op("Sqrt", g.op("Add", square, g.number(1e-6))))
	return g.op("Mul", g.Floats(g.name(), exported(name+".weight", exportWidth, 1, 0.3), exportWidth), y)
}

// t5Bias is what T5 adds to scores by the distance from a query to a key.
func (g *export) t5Bias(name string) string {
	const buckets, farthest = 8, 21
	const half, exact = buckets / 2, buckets / 4
	places := g.places()
	distance := g.op("Sub", g.op("Unsqueeze", places, g.list(0)), g.op("Unsqueeze", places, g.list(1)))
	after := g.op("Mul", g.cast(g.op("Greater", distance, g.whole(0)), graph.Int64), g.whole(half))
	far := g.op("Abs", distance)
	grown := g.op("Log", g.op("Div", g.cast(far, graph.Float32), g.number(exact)))
	grown = g.op("Mul", g.op("Div", grown, g.number(math.Log(farthest/float64(exact)))), g.number(half-exact))
	large := g.op("Min", g.op("Add", g.cast(grown, graph.Int64), g.whole(exact)), g.whole(half-1))
	at := g.op("Add", after, g.op("Where", g.op("Less", far, g.whole(exact)), far, large))
	return g.op("Unsqueeze", g.turn(g.op("Gather", g.table(name, buckets, exportHeads), at), 2, 0, 1), g.list(0))
}

// geluTanh is GELU by its approximation.
func (g *export) geluTanh(x string) string {
	y := g.op("Add", x, g.op("Mul", g.op("Pow", x, g.number(3)), g.number(0.044715)))
	y = g.op("Add", g.op("Tanh", g.op("Mul", y, g.number(math.Sqrt(2/math.Pi)))), g.number(1))
	return g.op("Mul", g.op("Mul", x, g.number(0.5)), y)
}

// t5File is T5's encoder with a head on every token.
func t5File(labels int) []byte {
	var g export
	g.inputs(graph.Int64, "input_ids", "attention_mask")
	const blocks = "transformer.encoder.block."
	x := g.op("Gather", g.table("transformer.shared.weight", exportWords, exportWidth), "input_ids")
	bias := g.op("Add", g.t5Bias(blocks+"0.layer.0.SelfAttention.relative_attention_bias.weight"), g.mask())
	for i := range 2 {
		l := fmt.Sprintf("%s%d.layer.", blocks, i)
		y := g.root(l+"0.layer_norm", x)
		part := func(name string) string {
			return g.heads(g.linear(l+"0.SelfAttention."+name, y, exportWidth, exportWidth, false))
		}
		q, k, v := part("q"), part("k"), part("v")
		y = g.attend(g.op("Add", g.op("MatMul", q, g.turn(k, 0, 1, 3, 2)), bias), v)
		x = g.op("Add", x, g.linear(l+"0.SelfAttention.o", y, exportWidth, exportWidth, false))
		y = g.root(l+"1.layer_norm", x)
		f := l + "1.DenseReluDense."
		gate := g.linear(f+"wi_1", y, exportWidth, exportInner, false)
		y = g.op("Mul", g.geluTanh(g.linear(f+"wi_0", y, exportWidth, exportInner, false)), gate)
		x = g.op("Add", x, g.linear(f+"wo", y, exportInner, exportWidth, false))
	}
	x = g.linear("classifier", g.root("transformer.encoder.final_layer_norm", x), exportWidth, labels, true)
	return g.end(x, "logits", "batch_size", "sequence_length", labels)
}
