package gguf

import (
	"fmt"
	"slices"
)

// The fields that [ConvertFolder] writes beside llama.cpp's, which passes them over.
const (
	segmentKey    = "assay.segment_b"             // id of the first token of segment B's copy of the vocabulary
	activationKey = "assay.classifier.activation" // what makes the head's numbers probabilities: see Info.Activation
)

// trainedName is what scripts/train-judge calls its models. They are trained with the pooler as llama.cpp computes it
// and with all of a pair in segment A, so that such a file is read rightly though it has a row for segment B.
const trainedName = "assay-encoder-judge"

// judgeHead fills in what a classification head of the file means, and what llama.cpp makes of it.
func (h *Header) judgeHead(info *Info) {
	if n, ok := h.Int(segmentKey); ok {
		info.SegmentB = clampInt(n)
	}
	if s, ok := h.String(activationKey); ok && slices.Contains([]string{"softmax", "sigmoid", "linear"}, s) {
		info.Activation = s
	}
	if info.Pooling != "rank" {
		return
	}
	switch info.Architecture {
	case "bert":
		info.Misread = h.misreadBERT(info)
	case "modern-bert":
		info.Doubt = fmt.Sprintf("llama.cpp %s takes the mean over the tokens for its classification head, whatever the "+
			"model was trained with: if its config.json does not say \"classifier_pooling\": \"mean\", give it the head "+
			"of its Hugging Face folder: assay models import --name NAME --head FOLDER FILE.gguf", LlamaVersion)
	}
}

// misreadBERT says why llama.cpp gives other numbers than a BERT classifier, which is to be told from the tensors that
// its converter left.
//
// A classifier made of BERT has a pooler (a dense layer under tanh) between the first token's vector and its last
// matrix, and was trained on pairs in two segments. A RoBERTa or XLM-R in this architecture has the dense layer as part
// of its head, which is converted, and one segment. DistilBERT has no segments, and ReLU where llama.cpp has tanh.
func (h *Header) misreadBERT(info *Info) string {
	const others = "import its Hugging Face folder instead (assay models import --name NAME FOLDER), or name that as " +
		"it is if it holds onnx/model.onnx"
	has := map[string]*Tensor{}
	for i := range h.Tensors {
		has[h.Tensors[i].Name] = &h.Tensors[i]
	}
	types := has["token_types.weight"]
	switch {
	case has["cls.output.weight"] == nil && has["cls.weight"] == nil:
		return "" // no head at all, which is said elsewhere
	case has["cls.output.weight"] == nil:
		return fmt.Sprintf("llama.cpp %s takes the last matrix of its classification head for the layer before it, so "+
			"its numbers would mean nothing: %s", LlamaVersion, others)
	case has["cls.weight"] == nil:
		return fmt.Sprintf("BERT's pooler, which its classification head was trained on, was lost when it was converted "+
			"to GGUF, so its numbers would mean nothing: %s", others)
	case types == nil:
		return fmt.Sprintf("it has no token types, as DistilBERT, whose classification head has ReLU where llama.cpp %s "+
			"computes tanh: give it the head of its Hugging Face folder "+
			"(assay models import --name NAME --head FOLDER FILE.gguf)", LlamaVersion)
	case len(types.Shape) > 1 && types.Shape[1] > 1 && info.Name != trainedName:
		return fmt.Sprintf("it was trained on pairs in two segments, and llama.cpp %s reads both texts as the first: %s",
			LlamaVersion, others)
	}
	return ""
}

// checkSegments reports a second copy of the vocabulary that is not one.
func (h *Header) checkSegments(tokens int) error {
	if v := h.Value(segmentKey); v != nil {
		if n, ok := h.Int(segmentKey); !ok || n < 1 || 2*n != int64(tokens) {
			return fmt.Errorf("its vocabulary of %d tokens is said to be there a second time from token %v on: %w",
				tokens, v, errDamaged)
		}
	}
	return nil
}
