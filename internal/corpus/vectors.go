package corpus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/parquet"
	"github.com/assay-eval/assay/tokenize"
)

// Vectors ranks texts by the cosine similarity of their embeddings with a query's. The nearest-neighbour search is
// exact: every text is compared.
type Vectors struct {
	embedder backend.Backend
	texts    int
	parts    []part
}

// A part is the embedding of a text, or of a piece of it where the whole exceeds the model's context size: a text
// scores as its nearest piece.
type part struct {
	text   int
	vector []float32
}

// embedBatch is how many texts one call embeds.
const embedBatch = 32

// Embed has the embedder map texts to vectors. It tells done how many texts are embedded.
func Embed(ctx context.Context, embedder backend.Backend, texts []string, done func(n int)) (*Vectors, error) {
	v := &Vectors{embedder: embedder, texts: len(texts)}
	for start := 0; start < len(texts); start += embedBatch {
		batch := texts[start:min(start+embedBatch, len(texts))]
		vectors, err := v.embed(ctx, batch)
		switch {
		case errors.Is(err, backend.ErrPromptTooLong):
			for i, text := range batch {
				if err := v.addPieces(ctx, start+i, text); err != nil {
					return nil, err
				}
			}
		case err != nil:
			return nil, err
		default:
			for i, vector := range vectors {
				v.parts = append(v.parts, part{start + i, vector})
			}
		}
		if done != nil {
			done(start + len(batch))
		}
	}
	return v, nil
}

// embed asks for the embeddings of texts, and checks the answer.
func (v *Vectors) embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := backend.Embed(ctx, v.embedder, texts)
	if err != nil {
		return nil, fmt.Errorf("embedding: %w", err)
	}
	for i, vector := range vectors {
		sum := 0.0
		for _, x := range vector {
			sum += float64(x) * float64(x)
		}
		if !(sum > 0) || math.IsInf(sum, 0) || len(v.parts) > 0 && len(vector) != len(v.parts[0].vector) ||
			len(vector) != len(vectors[0]) {
			return nil, fmt.Errorf("embedding: the vector of text %d is not usable: %d numbers, squares that add up "+
				"to %v",
				i+1, len(vector), sum)
		}
	}
	return vectors, nil
}

// addPieces embeds a text; where it is too long, its two halves.
func (v *Vectors) addPieces(ctx context.Context, index int, text string) error {
	vectors, err := v.embed(ctx, []string{text})
	if err == nil {
		v.parts = append(v.parts, part{index, vectors[0]})
		return nil
	}
	if !errors.Is(err, backend.ErrPromptTooLong) {
		return err
	}
	first, second, ok := halves(text)
	if !ok {
		return err
	}
	if err := v.addPieces(ctx, index, first); err != nil {
		return err
	}
	return v.addPieces(ctx, index, second)
}

// halves cuts a text near its middle: between two sentences, or else at white space, or where there is none between two
// characters.
func halves(text string) (first, second string, ok bool) {
	middle := len(text) / 2
	at := 0
	for _, s := range tokenize.Sentences(text) {
		if s.Start > 0 && (at == 0 || abs(s.Start-middle) < abs(at-middle)) {
			at = s.Start
		}
	}
	if at == 0 {
		at = strings.LastIndexFunc(text[:middle], unicode.IsSpace)
		if next := strings.IndexFunc(text[middle:], unicode.IsSpace); at <= 0 && next >= 0 {
			at = middle + next
		}
	}
	if at <= 0 {
		for at = middle; at < len(text) && !utf8.RuneStart(text[at]); at++ {
		}
	}
	first, second = strings.TrimSpace(text[:at]), strings.TrimSpace(text[at:])
	return first, second, first != "" && second != ""
}

func abs(n int) int { return max(n, -n) }

// Search returns the k texts nearest to the query, nearest first; Score is the cosine.
func (v *Vectors) Search(ctx context.Context, query string, k int) ([]Hit, error) {
	if v.texts == 0 {
		return nil, nil
	}
	vectors, err := v.embed(ctx, []string{query})
	if err != nil {
		return nil, err
	}
	hits := make([]Hit, v.texts)
	for i := range hits {
		hits[i] = Hit{i, math.Inf(-1)}
	}
	for _, p := range v.parts {
		h := &hits[p.text]
		h.Score = max(h.Score, cosine(vectors[0], p.vector))
	}
	return best(hits, k), nil
}

func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	return min(1, max(-1, dot/math.Sqrt(aa*bb)))
}

// WriteVectors writes the passages with their embeddings as Parquet, a row each: id, title, text and vector. A passage that
// was embedded in pieces has a row a piece, numbered from 1 in the column piece; of the others that is 0.
func (r *Retriever) WriteVectors(w io.Writer) error {
	if r.Vectors == nil {
		return errors.New("there are no vectors: passages were found by words alone")
	}
	pieces := make(map[int]int)
	for _, p := range r.Vectors.parts {
		pieces[p.text]++
	}
	return parquet.Write(w, func(yield func(json.RawMessage, error) bool) {
		last, n := -1, 0
		for _, p := range r.Vectors.parts {
			if n++; p.text != last {
				last, n = p.text, 1
			}
			piece := n
			if pieces[p.text] == 1 {
				piece = 0
			}
			passage := r.Passages[p.text]
			row, err := json.Marshal(struct {
				ID     string    `json:"id"`
				Title  string    `json:"title"`
				Text   string    `json:"text"`
				Piece  int       `json:"piece"`
				Vector []float32 `json:"vector"`
			}{passage.ID, passage.Title, passage.Text, piece, p.vector})
			if !yield(row, err) {
				return
			}
		}
	})
}
