// Package corpus reads documents, chunks them into passages and retrieves the passages for a question.
//
// [Read] takes a folder of documents or one of them, which internal/document reads, or a file of rows, JSON Lines or
// Parquet; [Cut] makes passages of whole sentences, none across a heading; [NewBM25] (lexical) and [Embed] (dense) index them, and [Fuse] joins the two rankings. A
// [Retriever] is all of it together. Nothing is skipped without a word: what Read passes over, it says.
package corpus

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/document"
)

// A Document is one text of a corpus.
type Document struct {
	ID    string // its path in the folder, with slashes, or the id of its row; unique in the corpus
	Title string // "" if it has none
	Text  string
	Row   bool // it is a row of a file: if it is one passage, that has its id

	Headings []document.Heading // of Text, in order
}

// A Corpus is the documents that were read, in the order of their ids, and what was passed over.
type Corpus struct {
	Documents []Document
	Skipped   []Skipped
}

// A Skipped is a file that is no document, or a document of which a part could not be read, and the reason.
type Skipped struct{ Name, Why string }

// Digest identifies the documents: "sha256:" and 64 hex digits over their ids, titles, texts and headings.
func (c *Corpus) Digest() string {
	h := sha256.New()
	for _, d := range c.Documents {
		for _, s := range []string{d.ID, d.Title, d.Text} {
			var n [8]byte
			binary.BigEndian.PutUint64(n[:], uint64(len(s)))
			h.Write(n[:])
			h.Write([]byte(s))
		}
		for _, at := range d.Headings {
			fmt.Fprintf(h, "heading %d %d %d\n", at.Level, at.Start, at.End)
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// A Hit is a passage that was retrieved, by its index, and its score. Higher is better; what the number means
// depends on the method.
type Hit struct {
	Index int
	Score float64
}

// A Method says how passages are retrieved.
type Method string

// The methods of a [Retriever].
const (
	ByEmbedding Method = "embed" // dense: cosine similarity of the embeddings
	ByWords     Method = "bm25"  // lexical: BM25
	ByBoth      Method = "both"  // hybrid: reciprocal rank fusion of the two
)

// ParseMethod returns the method of a name.
func ParseMethod(name string) (Method, error) {
	switch m := Method(name); m {
	case ByEmbedding, ByWords, ByBoth:
		return m, nil
	}
	return "", fmt.Errorf("unknown way to retrieve %q: embed, bm25 or both", name)
}

// A Retriever retrieves passages for a question. Its methods are safe for concurrent use.
type Retriever struct {
	Passages []Passage
	Words    *BM25    // nil if the method does without
	Vectors  *Vectors // likewise
	Method   Method
}

// NewRetriever indexes passages for a method. The embedder may be nil if the method needs none; embedded is
// told how many passages have their vectors.
func NewRetriever(ctx context.Context, method Method, passages []Passage, embedder backend.Backend,
	embedded func(n int)) (*Retriever, error) {
	r := &Retriever{Passages: passages, Method: method}
	texts := make([]string, len(passages))
	for i, p := range passages {
		texts[i] = p.Titled()
	}
	if method != ByEmbedding {
		r.Words = NewBM25(texts)
	}
	if method != ByWords {
		var err error
		if r.Vectors, err = Embed(ctx, embedder, texts, embedded); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// fuseDepth is how many passages of each ranking are fused.
const fuseDepth = 100

// Search returns the top k passages for the question, best first: fewer where fewer match at all.
func (r *Retriever) Search(ctx context.Context, question string, k int) ([]Hit, error) {
	switch r.Method {
	case ByWords:
		return r.Words.Search(question, k), nil
	case ByEmbedding:
		return r.Vectors.Search(ctx, question, k)
	}
	near, err := r.Vectors.Search(ctx, question, max(k, fuseDepth))
	if err != nil {
		return nil, err
	}
	return Fuse(k, near, r.Words.Search(question, max(k, fuseDepth))), nil
}
