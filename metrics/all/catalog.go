// Package all is the catalogue: it alone imports every family of metrics. It selects metrics by name ([Select],
// [All]), has the presets ([Presets]), reads a user's prompts and criteria ([LoadPrompts], [LoadCriteria]), and makes
// metrics of trained judges ([LoadJudge]): additive models, fitted to people's labels, over other metrics' values.
package all

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/agent"
	"github.com/assay-eval/assay/metrics/answerability"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/citation"
	"github.com/assay-eval/assay/metrics/criteria"
	"github.com/assay-eval/assay/metrics/form"
	"github.com/assay-eval/assay/metrics/judged"
	"github.com/assay-eval/assay/metrics/likelihood"
	"github.com/assay-eval/assay/metrics/nugget"
	"github.com/assay-eval/assay/metrics/profile"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/metrics/relevance"
	"github.com/assay-eval/assay/metrics/retrieval"
	"github.com/assay-eval/assay/metrics/selfcheck"
	"github.com/assay-eval/assay/metrics/text"
	"github.com/assay-eval/assay/metrics/vector"
)

// A catalogue is the metrics that can be selected.
type catalogue struct {
	distinct []metrics.Metric          // every method once, sorted by name
	byName   map[string]metrics.Metric // those, and the names that they go by besides
	defaults map[string]string         // the method that a bare dimension means
}

// built returns the catalogue, which is put together once.
var built = sync.OnceValue(func() catalogue {
	c := catalogue{byName: make(map[string]metrics.Metric), defaults: make(map[string]string)}
	for _, m := range slices.Concat(judged.Metrics(), likelihood.Metrics(), vector.Metrics(), text.Metrics(),
		form.Metrics(), retrieval.Metrics(), agent.Metrics(), criteria.Metrics(), citation.Metrics(),
		nugget.Metrics(), answerability.Metrics(), relevance.Metrics(), selfcheck.Metrics()) {
		c.byName[m.Name] = m
		if dimension, method, _ := strings.Cut(m.Name, "/"); m.Default {
			c.defaults[dimension] = method
		}
	}
	for _, m := range append(blends(c.byName), answerabilityMetrics(c.byName)...) {
		c.byName[m.Name] = m
	}
	of := make(map[string]map[string]metrics.Metric) // the settings of each method
	old := make(map[string]bool)
	for _, s := range settings {
		m, base := c.byName[s.old], c.byName[s.of]
		if m.Name == "" || base.Name == "" {
			panic("no metric " + s.old + " or " + s.of)
		}
		old[s.old] = true
		if of[s.of] == nil {
			of[s.of] = make(map[string]metrics.Metric)
		}
		of[s.of][s.at] = m
		base.Settings = append(base.Settings, s.at)
		c.byName[s.of] = base
	}
	for _, name := range slices.Sorted(maps.Keys(c.byName)) {
		if old[name] {
			continue
		}
		m := c.byName[name]
		if of[name] != nil {
			m = set(m, of[name])
			c.byName[name] = m
		}
		c.distinct = append(c.distinct, m)
		for _, alias := range m.Aliases {
			also := m
			also.Name, also.Default = alias, false
			also.Aliases = append([]string{m.Name}, m.Aliases...)
			also.Aliases = slices.DeleteFunc(also.Aliases, func(name string) bool { return name == alias })
			c.byName[alias] = also
		}
	}
	for _, m := range profile.Metrics() { // can be selected, but are no methods of Assay's own: see [Profiles]
		c.byName[m.Name] = m
	}
	return c
})

// All returns every method once, sorted by name. What is the same method under another name is among its
// [metrics.Metric.Aliases], and what is the same with something set otherwise among its [metrics.Metric.Settings].
func All() []metrics.Metric { return slices.Clone(built().distinct) }

// Canonical is the name of the method that a metric's name stands for: "answer_correctness/cosine" is
// answer_similarity/cosine. Two metrics with one canonical name have the same values. A name that no metric has stands
// for itself.
func Canonical(name string) string {
	for _, s := range settings {
		if s.old == name {
			return s.of + "@" + s.at
		}
	}
	full, at, given := strings.Cut(name, "@")
	if given {
		return Canonical(full) + "@" + at
	}
	for _, m := range built().distinct {
		if slices.Contains(m.Aliases, full) {
			full = m.Name
		}
	}
	return full
}

// A PresetList is a named list of metrics that go together.
type PresetList struct {
	Name    string
	Doc     string   // one line
	Metrics []string // names for [Select]
}

// Presets returns the presets there are, the default one first.
func Presets() []PresetList {
	return []PresetList{
		{"ragas-paper", "the three metrics of the RAGAS paper, by its methods",
			[]string{"faithfulness/claims", "answer_relevance/questions", "context_relevance/sentences"}},
		{"wikieval", "what the table of the RAGAS paper compares on WikiEval: RAGAS, GPT Score and GPT Ranking",
			[]string{"faithfulness/claims", "answer_relevance/questions", "context_relevance/sentences",
				"faithfulness/judge_score", "answer_relevance/judge_score", "context_relevance/judge_score",
				"faithfulness/rank", "answer_relevance/rank", "context_relevance/rank"}},
		{"ragas-short", "the same three in short forms: verdicts by first-token scoring, sentences by their number, one question",
			[]string{"faithfulness/claims_short", "answer_relevance/questions_short",
				"context_relevance/sentences_short"}},
		{"fast", "the cheapest good method of each dimension: an embedding model, no judge",
			[]string{"faithfulness/k_precision_bigrams", "answer_relevance/cosine", "context_relevance/cosine",
				"answer_correctness/alignment"}},
		{"local", "the judges that come with Assay: fitted to people's labels, over an encoder, words and embeddings",
			[]string{"faithfulness/blend", "answer_relevance/blend", "context_relevance/blend",
				"answer_correctness/blend"}},
		{"encoder", "the trained cross-encoder that comes with Assay: a small discriminative model",
			[]string{"faithfulness/encoder", "answer_relevance/encoder", "context_relevance/encoder",
				"answer_correctness/encoder"}},
		{"logit", "one yes/no question for each dimension, read as P(yes) by first-token scoring",
			[]string{"faithfulness/logit", "answer_relevance/logit", "context_relevance/logit",
				"context_precision/logit", "context_recall/logit", "answer_correctness/logit", "completeness/logit"}},
		{"ares", "ARES' three judgements without training (UES/IDP), as probabilities; the other two are 0 where no " +
			"context is relevant",
			[]string{"context_relevance/logit", "faithfulness/logit@gated", "answer_relevance/ares@gated"}},
		{"ragas", "what Ragas scores now: answers, contexts and both against references",
			[]string{"faithfulness/claims", "answer_relevance/ragas", "context_precision/reference",
				"context_recall/claims", "context_recall/entities", "noise_sensitivity/relevant",
				"answer_correctness/claims_f1", "answer_correctness/ragas", "answer_similarity/cosine"}},
		{"unitxt-cpu", "unitxt's choice that needs no model, by its own numbers",
			[]string{"answer_correctness/token_recall@ascii", "faithfulness/k_precision@max",
				"answer_relevance/token_recall@ascii", "context_relevance/token_precision@max", "context_correctness/mrr"}},
		{"unitxt-llm", "unitxt's choice with a judge",
			[]string{"answer_correctness/judge_score", "faithfulness/judge_score", "answer_relevance/judge_score",
				"context_relevance/judge_score", "context_correctness/mrr"}},
		{"ragchecker", "RAGChecker's: verdicts on the claims of answer and reference, each by the other and by every " +
			"context",
			[]string{"ragchecker/precision", "ragchecker/recall", "ragchecker/f1", "ragchecker/claim_recall",
				"ragchecker/context_precision", "ragchecker/context_utilization", "ragchecker/noise_relevant",
				"ragchecker/noise_irrelevant", "ragchecker/hallucination", "ragchecker/self_knowledge",
				"ragchecker/faithfulness"}},
		{"alce", "ALCE's measures of citations: does what is cited support what is said?",
			[]string{"citation_recall/logit", "citation_precision/logit", "citation_f1/logit", "citation_coverage/marks"}},
		{"nuggets", "AutoNuggetizer's measures: how many of the facts that an answer should state it does",
			[]string{"nuggets/vital_strict", "nuggets/vital", "nuggets/all_strict", "nuggets/all",
				"nuggets/weighted_strict", "nuggets/weighted"}},
		{"mtrag", "mtRAG's three measures, given whether the question can be answered and the answer declines",
			[]string{"faithfulness/claims@idk=judge", "mtrag/rb_llm@idk=judge", "mtrag/rb_agg@idk=judge",
				"refusal/right@judge"}},
		{"trace", "TRACe's four of RAGBench, by sentences and statements: relevance, utilization, adherence, completeness",
			[]string{"context_relevance/sentences_logit", "context_utilization/sentences_logit",
				"faithfulness/claims_logit", "completeness/sentences_logit"}},
		{"retrieval", "the usual measures of a ranking, from relevance judgements (qrels)",
			[]string{"retrieval/ndcg@10", "retrieval/map", "retrieval/mrr", "retrieval/p@5", "retrieval/recall@10",
				"retrieval/hit@10"}},
		{"lexical", "lexical overlap of the answer with the references: n-grams and longest common subsequences",
			[]string{"answer_correctness/exact_match", "answer_correctness/token_f1", "answer_similarity/rougeL",
				"answer_similarity/bleu", "answer_similarity/chrf", "answer_similarity/meteor"}},
	}
}

// Profiles are the judge profiles that come with Assay, sorted by name. Their metrics, "dimension/profile", can be
// selected as those of [All] can, and need a model that the user brings.
func Profiles() []*profile.Profile { return profile.Shipped() }

// LoadProfile reads a user's own profile: see [profile.Load].
func LoadProfile(file string, text []byte) (*profile.Profile, error) { return profile.Load(file, text) }

// Recognise returns the profiles for a model: see [profile.Recognise].
func Recognise(info backend.Info) []*profile.Profile { return profile.Recognise(info) }

// metricNames are the names that a metric can be selected by.
func metricNames() []string { return slices.Sorted(maps.Keys(built().byName)) }

// Prompts returns the prompts that metrics ask with, those described by a user too, sorted by name.
func Prompts() []*prompts.Prompt {
	list := append(criteria.Prompts(), ask.ThoughtPrompt)
	asking := All()
	for _, s := range settings {
		asking = append(asking, built().byName[s.old])
	}
	for _, m := range asking {
		for _, p := range m.Prompts {
			if !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	slices.SortFunc(list, func(a, b *prompts.Prompt) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// LoadPrompts reads the user's prompts, files *.tmpl at the root of fsys, each of which replaces the built-in one of
// its name: see [prompts.Load].
func LoadPrompts(fsys fs.FS) (prompts.Set, error) {
	own, err := prompts.Load(fsys, Prompts())
	if err != nil {
		return own, err
	}
	return own, ask.CheckThought(own)
}

// LoadCriteria reads metrics that a user describes in a file: see [criteria.Load].
func LoadCriteria(file string, text []byte) ([]metrics.Metric, error) {
	return criteria.Load(file, text, taken)
}

// ParseCriterion makes a metric of "NAME: words": see [criteria.Parse].
func ParseCriterion(text string) (metrics.Metric, error) { return criteria.Parse(text, taken) }

// taken reports whether a built-in metric has a name.
func taken(name string) bool { return slices.Contains(metricNames(), name) }

// Judges reports whether a model with these labels is an encoder that metrics read: see [vector.Judges].
func Judges(labels []string) bool { return vector.Judges(labels) }
