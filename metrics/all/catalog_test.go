package all

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

func TestAll(t *testing.T) {
	if !slices.IsSorted(metricNames()) {
		t.Errorf("the names %q are not sorted", metricNames())
	}
	given := map[string]string{} // defaults
	for _, m := range All() {
		dimension, method, ok := strings.Cut(m.Name, "/")
		if !ok || dimension == "" || method == "" || m.Doc == "" || m.Source == "" || m.Formula == "" ||
			m.Calls == "" || m.Score == nil || m.Needs == 0 || !(m.Min < m.Max) {
			t.Errorf("%s is not complete: %+v", m.Name, m)
		}
		if m.Default && given[dimension] != "" {
			t.Errorf("%s has two default methods, %s and %s", dimension, given[dimension], method)
		} else if m.Default {
			given[dimension] = method
		}
		if _, ok := built().defaults[dimension]; !ok {
			t.Errorf("%s has no default method", dimension)
		}
		if strings.HasSuffix(m.Doc, ".") || strings.Contains(m.Doc, "\n") {
			t.Errorf("%s: the doc %q is not one line without a full stop", m.Name, m.Doc)
		}
	}
	for dimension := range built().defaults {
		if _, err := Select([]string{dimension}); err != nil {
			t.Error(err)
		}
	}
	for _, p := range Presets() {
		if ms, err := Preset(p.Name); err != nil || len(ms) == 0 || p.Doc == "" {
			t.Errorf("preset %s: %v", p.Name, err)
		}
	}
}

func TestSelect(t *testing.T) {
	check := func(names, want string) {
		t.Helper()
		ms, err := Select(strings.Split(names, ","))
		var got []string
		for _, m := range ms {
			got = append(got, m.Name)
		}
		if err != nil || strings.Join(got, ",") != want {
			t.Errorf("Select(%q) = %q, %v; want %s", names, got, err, want)
		}
	}
	check("faithfulness@idk,answer_correctness/token_recall@ascii@idk,refusal/right@judge,retrieval/ndcg@10@idk=judge",
		"faithfulness/claims@idk,answer_correctness/token_recall@ascii@idk,refusal/right@judge,retrieval/ndcg@10@idk=judge")
	check("faithfulness", "faithfulness/claims")
	check("faithfulness/claims", "faithfulness/claims")
	check("context_relevance, answer_relevance", "context_relevance/sentences,answer_relevance/questions")
	check("retrieval/ndcg@7,retrieval@10, retrieval", "retrieval/ndcg@7,retrieval/ndcg@10,retrieval/ndcg")
	check("retrieval/p@05", "retrieval/p@5")
	check("retrieval/rbp@0.90,retrieval/r_precision@2,retrieval/iprec@0",
		"retrieval/rbp@0.9,retrieval/r_precision@2,retrieval/iprec@0")

	refuse := func(names string, want ...string) {
		t.Helper()
		_, err := Select(strings.Split(names, ","))
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("Select(%q): %v, want an error that says %q", names, err, w)
			}
		}
	}
	refuse("faithfullness", "did you mean faithfulness?", "assay metrics lists all ")
	refuse("Answer Relevancy", "did you mean answer_relevance?")
	refuse("faithfulness/claim", "did you mean faithfulness/claims?")
	refuse("xyz", `unknown metric "xyz": assay metrics lists all `)
	refuse("", `unknown metric ""`)
	refuse("faithfulness,faithfulness/claims", "named twice")
	for _, at := range []string{"0", "-1", "x", "", "+7", "1.5", "7@8", "99999999999999999999"} {
		refuse("retrieval/ndcg@"+at, "retrieval/ndcg@"+at+
			": the cutoff is a whole number from 1, as in retrieval/ndcg@10")
	}
	for _, at := range []string{"0", "1", "x", "", "NaN", "-0.5"} {
		refuse("retrieval/rbp@"+at, "retrieval/rbp@"+at+": p is a number between 0 and 1")
	}
	refuse("retrieval/iprec@1.1", "the recall is a number from 0 to 1")
	refuse("retrieval/r_precision@0", "the multiple is a number above 0")
	refuse("faithfulness@7", "metric faithfulness/claims takes nothing after an @ but the name of a model, a jury, "+
		`draws or thoughts, and has "7" there: --model`)
	refuse("answer_correctness/contains@7", `answer_correctness/contains@7: what may stand after the @ is normalised`)
	refuse("retrieval/ndcg@7,retrieval/ndcg@07", "metric retrieval/ndcg@7 is named twice")
	refuse("retrievel/ndcg@7", "did you mean retrieval/ndcg?")
	if _, err := Select(nil); err == nil {
		t.Error("no names are accepted")
	}
	if _, err := Preset("nonsense"); err == nil || !strings.Contains(err.Error(), "ragas-paper") {
		t.Errorf("an unknown preset: %v", err)
	}
	models := Selector{Models: []backend.Role{"judge:a", "embedder:b"}}
	preset := func(name, want string) {
		t.Helper()
		ms, err := models.Preset(name)
		var names []string
		for _, m := range ms {
			names = append(names, m.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	preset("fast@b", "faithfulness/k_precision_bigrams answer_relevance/cosine@b context_relevance/cosine@b "+
		"answer_correctness/alignment@b")
	preset("ragas-paper@a@draws=3", "faithfulness/claims@a@draws=3 answer_relevance/questions@a@draws=3 "+
		"context_relevance/sentences@a@draws=3")
	for name, want := range map[string]string{"encoder@a": "asks a model as encoder", "lexical@draws=3": "may stand after",
		"ragas@draws=0": "a whole number", "nonsense@a": "ragas-paper"} {
		if _, err := models.Preset(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What stands behind an @ may be the name of a model.
func TestSelectModels(t *testing.T) {
	models := []backend.Role{"judge:a", "judge:b", "embedder:a", "encoder:nli"}
	own := metrics.Metric{Name: "tone/kind", Asks: metrics.Asks{backend.Judge: backend.CanChoose}}
	from := Selector{Own: []metrics.Metric{own}, Models: models}
	check := func(name, want string, asks ...backend.Role) {
		t.Helper()
		ms, err := from.Select([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		if got := backend.SortRoles(ms[0].Asks); ms[0].Name != want || !slices.Equal(got, asks) {
			t.Errorf("%s is %s and asks %q, want %s and %q", name, ms[0].Name, got, want, asks)
		}
		if got := Canonical(Canonical(name)); got != Canonical(name) {
			t.Errorf("Canonical(%s) = %s", name, got)
		}
	}
	check("faithfulness", "faithfulness/claims", "judge")
	check("faithfulness@a", "faithfulness/claims@a", "judge:a")
	check("faithfulness/encoder@nli", "faithfulness/encoder@nli", "encoder:nli")
	check("answer_relevance/questions@a", "answer_relevance/questions@a", "judge:a", "embedder:a")
	check("answer_relevance/questions@b", "answer_relevance/questions@b", "judge:b", "embedder")
	check("answer_relevance/questions@b@a", "answer_relevance/questions@b@a", "judge:b", "embedder:a")
	check("answer_similarity/bertscore_f1@idf@a", "answer_similarity/bertscore_f1@idf@a", "embedder:a")
	check("answer_similarity/bertscore_f1_idf@a", "answer_similarity/bertscore_f1_idf@a", "embedder:a")
	check("answer_correctness/cosine@a", "answer_correctness/cosine@a", "embedder:a")
	check("context_relevance/perplexity@3@b", "context_relevance/perplexity@3@b", "judge:b")
	check("tone/kind@b", "tone/kind@b", "judge:b")
	check("retrieval/ndcg@7", "retrieval/ndcg@7")
	check("faithfulness@jury=b+a", "faithfulness/claims@jury=a+b", "judge:a", "judge:b")
	check("faithfulness@majority", "faithfulness/claims@majority=a+b", "judge:a", "judge:b")
	check("tone/kind@jury", "tone/kind@jury=a+b", "judge:a", "judge:b")
	check("answer_relevance@jury=a+b", "answer_relevance/questions@jury=a+b", "judge:a", "judge:b", "embedder",
		"embedder:a")
	check("answer_similarity/bertscore_f1@idf@a", "answer_similarity/bertscore_f1@idf@a", "embedder:a")
	check("faithfulness@draws=3", "faithfulness/claims@draws=3", "judge")
	check("faithfulness@b@draws=3", "faithfulness/claims@b@draws=3", "judge:b")
	check("faithfulness/logit@think=9@draws=3", "faithfulness/logit@think=9@draws=3", "judge")
	check("faithfulness@jury=a+b@think=9", "faithfulness/claims@jury=a+b@think=9", "judge:a", "judge:b")
	check("faithfulness@draws=3@jury=a+b", "faithfulness/claims@draws=3@jury=a+b", "judge:a", "judge:b")
	if got := Canonical("answer_similarity/bertscore_f1_idf@a"); got != "answer_similarity/bertscore_f1@idf@a" {
		t.Error(got)
	}

	refuse := func(name, want string) {
		t.Helper()
		if _, err := from.Select([]string{name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	refuse("faithfulness@c", "asks a model as judge, and none of them is called c: there is a, b")
	refuse("faithfulness/encoder@a", "asks a model as encoder, and none of them is called a: there is nli")
	refuse("faithfulness@a@b", "faithfulness/claims@a@b: each of its models has a name already")
	refuse("answer_similarity/bertscore_f1@max", "may stand after the @ is idf, or the name of a model: a")
	refuse("answer_similarity/bertscore_f1@a@max", "each of its models has a name already")
	refuse("length/words@a", `metric length/words takes nothing after an @, but has "a" there`)
	refuse("retrieval/ndcg@a", "the cutoff is a whole number")
	refuse("faithfulness@", "none of them is called")
	refuse("faithfulness@jury=a",
		"faithfulness/claims@jury: a jury has at least two models, and at most 25: jury=ONE+OTHER")
	refuse("faithfulness@jury=a+a", "a is in it twice")
	refuse("faithfulness@jury=a"+strings.Repeat("+b", 25), "at most 25")
	refuse("faithfulness@jury=a+c", "none of them is called c: there is a, b")
	refuse("faithfulness@jury=", "at least two models")
	refuse("faithfulness/encoder@jury", "at least two models")
	refuse("faithfulness@a@jury=a+b", "each of its models has a name already")
	refuse("length/words@jury=a+b", "takes nothing after an @")
	refuse("retrieval/ndcg@draws=3", "the cutoff is a whole number")
	refuse("faithfulness/logit@draws=3", "no model writes anything for it")
	refuse("faithfulness@draws=3@draws=3", "it is drawn several times already")
	refuse("faithfulness@think=3@think=3", "it thinks already")
	refuse("faithfulness@think=03", "a thought has from 1 to 65536 tokens")
	refuse("answer_similarity/cosine@think=3", "nothing to think about")
	for _, n := range []string{"", "=", "=1", "=0", "=-3", "=x", "=3.5", "=03", "=101", "=99999999999999999999"} {
		refuse("faithfulness@draws"+n, "the draws are a whole number from 2 to 100")
	}
	if _, err := from.Select([]string{"faithfulness@a", "faithfulness/claims@a"}); err == nil {
		t.Error("one metric twice")
	}
	from.Models = append(from.Models, "embedder:idf")
	refuse("answer_similarity/bertscore_f1@idf", "is a setting of the metric and the name of a model")
}

func TestCheck(t *testing.T) {
	judge := &backendtest.Fake{About: backend.Info{Engine: "e 1", Model: "j", Ops: backend.CanGenerate}}
	embedder := &backendtest.Fake{About: backend.Info{Engine: "e 1", Model: "m", Ops: backend.CanEmbed}}
	all := metrics.Question | metrics.Answer | metrics.Contexts
	check := func(names string, roles metrics.Roles, fields metrics.Field, want ...string) {
		t.Helper()
		ms, err := Select(strings.Split(names, ","))
		if err != nil {
			t.Fatal(err)
		}
		err = metrics.Check(ms, metrics.Models{Roles: roles}, fields)
		if want == nil && err != nil {
			t.Errorf("Check(%s): %v", names, err)
		}
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("Check(%s): %v, want an error that says %q", names, err, w)
			}
		}
	}
	check("faithfulness,answer_relevance,context_relevance",
		metrics.Roles{backend.Judge: judge, backend.Embedder: embedder}, all)
	check("faithfulness", metrics.Roles{backend.Judge: judge}, all)
	check("answer_relevance", metrics.Roles{backend.Judge: judge}, metrics.Question|metrics.Answer,
		"needs a model that can embed", "name an embedding model")
	check("faithfulness,context_relevance", metrics.Roles{backend.Embedder: embedder}, all,
		"faithfulness/claims needs a model that can generate", "context_relevance/sentences")
	check("faithfulness", metrics.Roles{backend.Judge: embedder}, all, "m on e 1 can only embed")
	check("faithfulness", metrics.Roles{backend.Judge: judge}, metrics.Question,
		"needs answer, contexts, which the dataset does not have")
}

func TestBuiltinPrompts(t *testing.T) {
	files, err := filepath.Glob("../prompts/*.tmpl")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d prompts: %v", len(files), err)
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".tmpl"))
	}
	if used := prompts.Names(Prompts()); !slices.Equal(used, names) {
		t.Errorf("metrics use %q, there are %q", used, names)
	}
	own, err := LoadCriteria("own", []byte("a/b: {criterion: c, steps: judge}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range own[0].Prompts {
		if !slices.Contains(Prompts(), p) {
			t.Errorf("a criterion asks with %s, which nobody can replace", p.Name)
		}
	}
	for _, p := range Prompts() {
		name := p.Name
		if p.Version == "" || !strings.HasPrefix(p.Digest, "sha256:") {
			t.Errorf("%s: %+v", name, p)
		}
		messages, err := p.Render(p.Example.Data)
		if err != nil {
			t.Fatal(err)
		}
		last := messages[len(messages)-1].Text
		for field, want := range p.Example.Shown {
			if !strings.Contains(last, want) {
				t.Errorf("the last message of %s does not show %s", name, field)
			}
		}
		req := &backend.GenerateRequest{Messages: messages, MaxTokens: p.MaxTokens, Stop: p.Stop, Sampling: p.Sampling}
		if err := req.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// What all samples share must stay short: at about four bytes a token, 350 tokens.
		shared := 0
		for _, m := range messages[:len(messages)-1] {
			shared += len(m.Text)
		}
		if shared > 1400 {
			t.Errorf("%s: the messages before the last have %d bytes", name, shared)
		}
	}
}

// What prompts have in the row layout can be rendered with the data that the metrics give, and asked.
func TestPromptsInRowLayout(t *testing.T) {
	n := 0
	for _, p := range Prompts() {
		row := prompts.Set{}.In(prompts.Row).For(p)
		if row == p {
			continue
		}
		n++
		messages, err := row.Render(p.Example.Data)
		if err != nil {
			t.Fatal(err)
		}
		req := &backend.GenerateRequest{Messages: messages, MaxTokens: row.MaxTokens, Stop: row.Stop, Sampling: row.Sampling}
		if err := req.Check(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		// A copy is JSON there, so that a schema can hold it to the sentences that are shown.
		if p.JSON != row.JSON && p.Name != "context_relevance_sentences" || p.YesWord != row.YesWord || p.NoWord != row.NoWord {
			t.Errorf("%s asks for another form of reply in the row layout", p.Name)
		}
		// What all rows share takes room from each of them: at about four bytes a token, 500 tokens with the template's.
		shared := 0
		for _, m := range messages[:len(messages)-1] {
			shared += len(m.Text)
		}
		if shared > 2400 {
			t.Errorf("the messages before the last have %d bytes", shared)
		}
	}
	if n < 10 {
		t.Errorf("%d prompts have the row layout", n)
	}
}

// Every method stands in the catalogue once; its other names and settings are the same function.
func TestCatalogueIsDistinct(t *testing.T) {
	if n := len(All()); n < 140 || n > 300 {
		t.Errorf("%d methods: is each of them one of its own?", n)
	}
	same := func(name, canonical string) {
		t.Helper()
		a, err := Select([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		b, err := Select([]string{canonical})
		if err != nil {
			t.Fatal(err)
		}
		if a[0].Name != name || b[0].Name != canonical || a[0].Min != b[0].Min || a[0].Needs != b[0].Needs {
			t.Errorf("%s is %+v, %s is %+v", name, a[0], canonical, b[0])
		}
		if got := Canonical(name); got != canonical {
			t.Errorf("Canonical(%s) = %s, want %s", name, got, canonical)
		}
		if got := Canonical(canonical); got != canonical {
			t.Errorf("Canonical(%s) = %s", canonical, got)
		}
	}
	aliases := 0
	for _, m := range All() {
		for _, alias := range m.Aliases {
			same(alias, m.Name)
			aliases++
		}
	}
	if aliases != 7 {
		t.Errorf("%d aliases, want 7", aliases)
	}
	for _, s := range settings {
		same(s.old, s.of+"@"+s.at)
	}
	same("answer_correctness/bertscore_recall@idf", "answer_similarity/bertscore_recall@idf")
	same("retrieval/ndcg@10", "retrieval/ndcg@10")
	if m, err := Select([]string{"retrieval/ndcg@exp,10"}); err != nil || m[0].Name != "retrieval/ndcg@exp,10" {
		t.Errorf("%+v, %v", m, err)
	}
	for _, wrong := range []string{"answer_similarity/rouge1@spanish", "answer_similarity/rouge1@recall,3",
		"answer_similarity/rouge1@"} {
		if _, err := Select([]string{wrong}); err == nil || !strings.Contains(err.Error(), "rouge1@") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// TestEverywhere checks which metrics take what a run sets for all, and that each name says so.
func TestEverywhere(t *testing.T) {
	list, err := Select([]string{"faithfulness", "faithfulness/logit", "context_relevance/perplexity", "length/words",
		"faithfulness/minicheck-7b"})
	if err != nil {
		t.Fatal(err)
	}
	check := func(think, draws int, want ...string) {
		t.Helper()
		got, err := Everywhere(list, think, draws)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range got {
			if m.Name != list[i].Name+want[i] || m.Draws != 0 != strings.Contains(want[i], "draws") {
				t.Errorf("%d tokens and %d draws make %s of %s", think, draws, m.Name, list[i].Name)
			}
		}
	}
	check(0, 0, "", "", "", "", "")
	check(9, 0, "@think=9", "@think=9", "", "", "")
	check(0, 3, "@draws=3", "", "", "", "")
	check(9, 3, "@think=9@draws=3", "@think=9@draws=3", "", "", "")
	refuse := func(want string, list []metrics.Metric, think, draws int) {
		t.Helper()
		if _, err := Everywhere(list, think, draws); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	refuse("faithfulness/claims@draws: the draws are a whole number", list, 0, 1)
	refuse("nothing to think about", list[2:], 9, 0)
	refuse("each draw would be the same", list[1:], 0, 3)
	drawn, err := Everywhere(list, 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	refuse("it is drawn several times already", drawn, 0, 3)
}
