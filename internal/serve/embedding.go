package serve

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/openai/wire"
)

// embed answers /v1/embeddings.
func (s *Server) embed(ctx context.Context, in *wire.EmbeddingRequest) (any, error) {
	if err := offered(s.models.Embedder, in.Model, "embed-model"); err != nil {
		return nil, err
	}
	switch {
	case len(in.Input) == 0 || len(in.Input) > maxPrompts:
		return nil, refuse("input", "there are %d, not 1 to %d", len(in.Input), maxPrompts)
	case in.EncodingFormat != "" && in.EncodingFormat != "float" && in.EncodingFormat != "base64":
		return nil, refuse("encoding_format", "it is %.40q: float and base64 are known", in.EncodingFormat)
	}
	texts := make([]string, len(in.Input))
	for i, p := range in.Input {
		if p.Tokens != nil {
			return nil, refuse("input", "number %d is of tokens: texts are embedded here", i)
		}
		texts[i] = p.Text
	}
	vectors, err := backend.Embed(ctx, s.models.Embedder, texts)
	if err != nil {
		return nil, err
	}
	answer := &wire.Embeddings{Object: "list", Model: s.models.Embedder.Info().Model}
	for i, v := range vectors {
		if in.Dimensions != nil && *in.Dimensions != len(v) {
			return nil, refuse("dimensions", "only %d can be honoured, which the model has", len(v))
		}
		answer.Data = append(answer.Data, wire.Embedding{Object: "embedding", Index: i,
			Vector: wire.Vector{Values: v, Packed: in.EncodingFormat == "base64"}})
	}
	return answer, nil
}

// rerank answers /v1/rerank with what the classification head says of each document: a number that is the greater the
// better the document suits, with no sigmoid put over it.
func (s *Server) rerank(ctx context.Context, in *wire.RerankRequest) (any, error) {
	if err := offered(s.models.Encoder, in.Model, "encoder-model"); err != nil {
		return nil, err
	}
	info := s.models.Encoder.Info()
	switch {
	case len(in.Documents) == 0 || len(in.Documents) > maxPrompts:
		return nil, refuse("documents", "there are %d, not 1 to %d", len(in.Documents), maxPrompts)
	case in.TopN != nil && *in.TopN < 1:
		return nil, refuse("top_n", "it is %d, not positive", *in.TopN)
	}
	req := &backend.EncodeRequest{Output: backend.HeadOutputs}
	for _, d := range in.Documents {
		req.Inputs = append(req.Inputs, backend.Pair{Query: in.Query, Text: d.Text})
	}
	encoding, err := s.models.Encoder.Encode(ctx, req)
	if err != nil {
		return nil, err
	}
	answer := &wire.Reranked{ID: "rerank-" + backend.EncodeKey(info, req.Output, req.Inputs[0]).String(), Model: info.Model}
	for i, item := range encoding.Items {
		outputs := item.Vectors[0]
		if len(outputs) != 1 {
			return nil, refuse("model", "%s tells %d labels apart (%.200q): it is no reranker", info.Model, len(outputs), info.Labels)
		}
		r := wire.Relevance{Index: i, Score: float64(outputs[0])}
		if !wire.Finite(r.Score) {
			return nil, fmt.Errorf("document %d has the score %v", i, r.Score)
		}
		if in.ReturnDocuments != nil && *in.ReturnDocuments {
			r.Document = &in.Documents[i]
		}
		answer.Results = append(answer.Results, r)
	}
	slices.SortStableFunc(answer.Results, func(a, b wire.Relevance) int { return cmp.Compare(b.Score, a.Score) })
	if in.TopN != nil {
		answer.Results = answer.Results[:min(*in.TopN, len(answer.Results))]
	}
	return answer, nil
}
