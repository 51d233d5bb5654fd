package all

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/metrics"
)

// A setting is a metric that is another one with something set differently. It goes by what stands after the @
// ("answer_similarity/rouge1@recall"), and by the name that it has had from the first.
type setting struct{ old, of, at string }

// settings are all of them.
var settings = readSettings()

// readSettings lists them by dimension: "old = method@setting".
func readSettings() []setting {
	var list []setting
	for dimension, lines := range map[string][]string{
		"answer_correctness": {
			"contains_normalised = contains@normalised",
			"exact_match_ascii = exact_match@ascii", "exact_match_normalised = exact_match@normalised",
			"token_f1_ascii = token_f1@ascii", "token_precision_ascii = token_precision@ascii",
			"token_recall_ascii = token_recall@ascii", "verdicts_contradicted = verdicts@contradicted",
			"verdicts_not_contradicted = verdicts@not_contradicted", "verdicts_not_said = verdicts@not_said",
		},
		"answer_quality":   {"row_rubric = rubric@row", "rubric_reference = rubric@reference"},
		"answer_relevance": {"ares_gated = ares@gated", "logit_gated = logit@gated", "token_recall_ascii = token_recall@ascii"},
		"answer_similarity": {
			"bertscore_f1_idf = bertscore_f1@idf", "bertscore_precision_idf = bertscore_precision@idf",
			"bertscore_recall_idf = bertscore_recall@idf", "bleu_ragas = bleu@ragas",
			"moverscore_uniform = moverscore@uniform", "rouge1_ascii = rouge1@ascii",
			"rouge1_precision = rouge1@precision", "rouge1_recall = rouge1@recall", "rouge2_ascii = rouge2@ascii",
			"rouge2_precision = rouge2@precision", "rouge2_recall = rouge2@recall", "rougeL_ascii = rougeL@ascii",
			"rougeL_precision = rougeL@precision", "rougeL_recall = rougeL@recall", "rougeLsum_ascii = rougeLsum@ascii",
		},
		"context_correctness": {
			"text_map = map@text", "text_match = match@text", "text_mrr = mrr@text", "text_precision = precision@text",
			"text_recall = recall@text",
		},
		"context_relevance": {
			"cosine_max = cosine@max", "judge_score_each = judge_score@each", "score_logit_each = score_logit@each",
			"token_precision_max = token_precision@max",
			"perplexity_at_1 = perplexity@1", "perplexity_at_3 = perplexity@3", "perplexity_at_5 = perplexity@5",
		},
		"faithfulness": {
			"logit_gated = logit@gated",
			"bertscore_k_precision_max = bertscore_k_precision@max", "k_precision_bigrams = k_precision@bigrams",
			"k_precision_max = k_precision@max", "quoted_spans_ragas = quoted_spans@ragas",
			"selfcheck_embed_drawn = selfcheck_embed@drawn", "selfcheck_mqag_drawn = selfcheck_mqag@drawn",
			"selfcheck_ngram_drawn = selfcheck_ngram@drawn", "selfcheck_ngram_max_drawn = selfcheck_ngram_max@drawn",
			"selfcheck_nli_drawn = selfcheck_nli@drawn", "selfcheck_prompt_drawn = selfcheck_prompt@drawn",
			"verdicts_contradicted = verdicts@contradicted",
			"verdicts_not_contradicted = verdicts@not_contradicted", "verdicts_not_said = verdicts@not_said",
		},
		"factuality": {"factscore_plain = factscore@plain"},
		"refusal":    {"right_judge = right@judge"},
		"retrieval": {
			"err_max1 = err@max1", "err_max2 = err@max2", "err_max3 = err@max3", "log_bpref = bpref@log",
			"log_map = map@log", "ndcg_exp = ndcg@exp", "ndcg_rel = ndcg@rel", "r_ndcg = ndcg@r",
		},
		"tool_calls": {"accuracy_ragas = accuracy@ragas"},
	} {
		for _, line := range lines {
			old, method, _ := strings.Cut(line, " = ")
			method, at, _ := strings.Cut(method, "@")
			list = append(list, setting{dimension + "/" + old, dimension + "/" + method, at})
		}
	}
	slices.SortFunc(list, func(a, b setting) int { return strings.Compare(a.old, b.old) })
	return list
}

// set lets base be named with an @ and one of its settings: metrics of the catalogue by what is set. A setting that
// takes something after an @ itself is given it after a comma: "retrieval/ndcg@exp,10".
func set(base metrics.Metric, settings map[string]metrics.Metric) metrics.Metric {
	plain := base.At
	base.At = func(text string) (metrics.Metric, error) {
		first, rest, more := strings.Cut(text, ",")
		m, ok := settings[first]
		switch {
		case !ok && plain != nil:
			return plain(text)
		case !ok:
			return metrics.Metric{}, fmt.Errorf("%s@%s: what may stand after the @ is %s", base.Name, text,
				strings.Join(base.Settings, ", "))
		case !more:
			m.Name = base.Name + "@" + first
			return m, nil
		case m.At == nil:
			return metrics.Metric{}, fmt.Errorf("%s@%s: nothing may follow %s", base.Name, text, first)
		}
		m, err := m.At(rest)
		m.Name = base.Name + "@" + text
		return m, err
	}
	return base
}
