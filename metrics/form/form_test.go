package form

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/metrictest"
)

func TestLanguageOf(t *testing.T) {
	check := func(want string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if got := languageOf(text); strings.Join(got.languages, " ") != want {
				t.Errorf("%q is %v, %s; want %s", text, got, got.why, want)
			}
		}
	}
	check("en", "What does the ferry cost?", "It sails daily from the pier.", "He was born in Berlin.",
		"How many hearts does an octopus have?")
	check("de", "Was kostet die Fähre?", "Sie fährt täglich ab und kostet 14 Euro.", "Wie viele Herzen hat ein Krake?",
		"Der Turm ist 41 Meter hoch.")
	check("fr", "Combien coûte le ferry ?", "Il part tous les jours et coûte 14 euros.",
		"Quelle est la hauteur de la tour ?")
	check("es", "¿Cuánto cuesta el ferry?", "Sale todos los días y cuesta 14 euros.", "¿Qué altura tiene la torre?")
	check("it", "Quanto costa il traghetto?", "Parte ogni giorno dal molo e costa 14 euro.",
		"Quali sono i cuori che ha un polpo?")
	check("pt", "Quanto custa a balsa? Não sei.", "Ela sai todos os dias do cais e custa 14 euros.")
	check("nl", "Wat kost de veerboot?", "Hij vaart elke dag en kost 14 euro.",
		"Hoeveel harten heeft een octopus, en wat doen ze?")
	check("sv", "Vad kostar färjan?", "Den går varje dag och kostar 14 euro.")
	check("fi", "Mikä on tornin korkeus?", "Se on 41 metriä korkea ja se on vihreä.")
	check("pl", "Ile kosztuje prom i kiedy odpływa?", "Prom nie kosztuje dużo, ale jest mały.")
	check("cs", "Kolik stojí trajekt?", "Trajekt jede každý den, ale není velký, protože je starý.")
	check("tr", "Feribot ne kadar ve ne zaman kalkıyor?", "Her gün iskeleden kalkar ve çok ucuz bir feribot.")
	check("ro", "Cât costă feribotul și când pleacă?", "Feribotul nu este scump, dar pleacă din port.")
	check("hu", "Mennyi a komp ára és mikor indul?", "Az ár nem magas, és minden nap indul.")
	check("id", "Berapa harga feri itu?", "Feri itu berangkat dari dermaga dan tidak mahal.")
	check("ru", "Сколько стоит паром?", "Он отправляется каждый день, и это не дорого.")
	check("uk", "Скільки коштує пором?", "Він відправляється щодня, але це не дорого.")
	check("bg", "Колко струва фериботът?", "Той тръгва всеки ден и не е скъп.")
	check("ar", "ما هو ثمن العبّارة؟", "العبّارة في الميناء كل يوم.")
	check("fa", "قیمت کشتی چند است؟", "کشتی هر روز از بندر حرکت می کند.")
	check("hi", "नौका का किराया क्या है?")
	check("vi", "Giá vé phà là bao nhiêu?", "Phà chạy mỗi ngày và không đắt.", "Tháp này cao 41 mét.", "Ai đã xây cây cầu?")
	check("ur", "کشتی کا کرایہ کیا ہے؟", "کشتی روز چلتی ہے اور مہنگی نہیں ہے۔")
	check("mr", "बोटीचे भाडे किती आहे?", "बोट रोज निघते आणि ती महाग नाही.")
	check("sw", "Bei ya feri ni ngapi?", "Feri inaondoka kila siku na si ghali sana kwa watu.")
	check("gu", "ફેરીની કિંમત શું છે?")
	check("ta", "படகின் விலை என்ன?")
	check("bn", "ফেরির ভাড়া কত?")
	check("zh", "渡轮多少钱？", "渡轮每天开。")
	check("ja", "フェリーはいくらですか。", "毎日運航しています。")
	check("ko", "페리는 얼마입니까?")
	check("el", "Πόσο κοστίζει το πλοίο;")
	check("he", "כמה עולה המעבורת?")
	check("th", "เรือข้ามฟากราคาเท่าไหร่")
	check("da nb", "Den koster 14 euro, og jeg kan ikke se den.") // nothing tells them apart here
	check("da", "Hvad koster færgen, og hvornår sejler den?")
	check("nb", "Hva koster ferja, og når går den?")
	check("", "", "14", "Paris", "Brindle 1.7", "?!")
}

func TestLanguageMatch(t *testing.T) {
	m := metrictest.One(t, Metrics(), "language/match")
	check := func(question, answer string, want float64, because ...string) {
		t.Helper()
		metrictest.WantScore(t, question+" "+answer, metrictest.Score(t, m, nil,
			metrics.Sample{Question: question, Answer: answer}), want, because...)
	}
	check("What does the ferry cost?", "The ferry costs 14 euros.", 1, "by what, does, the", "the answer is in en")
	check("What does the ferry cost?", "Die Fähre kostet 14 Euro und fährt täglich.", 0, "in en", "in de")
	check("Was kostet die Fähre?", "渡轮十四欧元。", 0, "in de", "its letters are Han")
	check("Hva koster ferja?", "Den koster 14 euro, og jeg kan ikke se den.", 1) // may be Norwegian
	for _, s := range []metrics.Sample{{Question: "What does it cost?", Answer: "14"},
		{Question: "Ferry Arden 14", Answer: "It is the ferry."}} {
		if r := metrictest.Score(t, m, nil, s); r.Kind != metrics.NotApplicable ||
			!strings.Contains(r.Error, "cannot be told") {
			t.Errorf("%+v: %+v", s, r)
		}
	}
}

func TestLength(t *testing.T) {
	metrictest.WantScore(t, "words", metrictest.Score(t, metrictest.One(t, Metrics(), "length/words"), nil,
		metrictest.Ferry()), 8, "words: 8, sentences: 2")
	sample := metrictest.Ferry()
	sample.References = []string{"It is 14.", "It costs 14 euros for one person, and it sails daily, at ten and at " +
		"noon.", "?"}
	metrictest.WantScore(t, "reference", metrictest.Score(t, metrictest.One(t, Metrics(), "length/reference"), nil,
		sample), 0.5, "words: 8, of the reference: 3", "of the reference: 16")
	sample.References = []string{"?"}
	if r := metrictest.Score(t, metrictest.One(t, Metrics(), "length/reference"), nil,
		sample); r.Kind != metrics.NotApplicable {
		t.Errorf("a reference without words: %+v", r)
	}
}

// The formulas, on counts whose values others have published: Wikipedia's article on Flesch and Kincaid's tests
// gives 116 for a sentence of six words of one syllable, 69 for 16 words of 23 syllables, 37.5 for 13 words
// of 24 syllables, and the grade -1.3 for Green Eggs and Ham, with 5.7 words to a sentence and 1.02 syllables to
// a word.
func TestReadabilityFormulas(t *testing.T) {
	check := func(name string, counts textCounts, want, within float64) {
		t.Helper()
		var got float64
		for _, formula := range []struct {
			name string
			of   func(textCounts) float64
		}{{"flesch", fleschOf}, {"kincaid", kincaidOf}, {"ari", ariOf}} {
			if formula.name == name {
				got = formula.of(counts)
			}
		}
		if math.Abs(got-want) > within {
			t.Errorf("%s of %+v is %v, want %v", name, counts, got, want)
		}
	}
	check("flesch", textCounts{1, 6, 6, 0}, 116, 0.5)
	check("flesch", textCounts{1, 16, 23, 0}, 69, 0.5)
	check("flesch", textCounts{1, 13, 24, 0}, 37.5, 0.05)
	check("kincaid", textCounts{1000, 5700, 5814, 0}, -1.3, 0.05)
	check("ari", textCounts{2, 20, 0, 100}, 4.71*5+0.5*10-21.43, 1e-9)
}

func TestReadability(t *testing.T) {
	check := func(name, answer string, want float64, because ...string) {
		t.Helper()
		metrictest.WantScore(t, name+": "+answer, metrictest.Score(t, metrictest.One(t, Metrics(), name), nil,
			metrics.Sample{Answer: answer}), want, because...)
	}
	check("readability/flesch", "The cat sat on the mat.", 116.145,
		"sentences: 1, words: 6, syllables: 6, letters and digits: 17")
	check("readability/kincaid", "The cat sat on the mat.", 0.39*6+11.8-15.59)
	check("readability/ari", "The cat sat on the mat.", 4.71*17/6+3-21.43)
	long := "The " + strings.Repeat("incomprehensibilities ", 60)
	check("readability/kincaid", long, 60, "sentences: 1", "beyond the range")
	check("readability/flesch", long, -200, "sentences: 1", "beyond the range")

	for _, answer := range []string{"Die Katze saß auf der Matte und schlief.", "Paris.", "渡轮每天开。"} {
		if r := metrictest.Score(t, metrictest.One(t, Metrics(), "readability/flesch"), nil,
			metrics.Sample{Answer: answer}); r.Kind != metrics.NotApplicable ||
			!strings.Contains(r.Error, "for English") {
			t.Errorf("%s: %+v", answer, r)
		}
	}
	if r := metrictest.Score(t, metrictest.One(t, Metrics(), "readability/ari"), nil,
		metrics.Sample{Answer: "?!"}); r.Kind != metrics.NotApplicable {
		t.Errorf("no words: %+v", r)
	}
}

// Syllables as a dictionary has them, of common words and of those that rules go wrong on. The rules were made
// with these words at hand: of other words, more are wrong.
func TestSyllables(t *testing.T) {
	words := `the 1 ferry 2 costs 1 euros 2 it 1 sails 1 daily 2 times 1 table 2 tables 2 handled 2 played 1 wanted 2
		needed 2 jumped 1 boxes 2 churches 2 dishes 2 faces 2 pages 2 fire 1 made 1 people 2 little 2 being 2 going
		2 seeing 2 studying 3 arguing 3 usual 3 actual 3 january 4 language 2 quality 3 guard 1 square 1 science 2
		social 2 special 2 nation 2 region 2 million 2 billion 2 opinion 3 union 2 period 3 various 3 serious 3
		radio 3 idea 3 area 3 create 2 creature 2 creation 3 reaction 3 reach 1 great 1 theatre 3 poem 2 poet 2
		didn't 2 couldn't 2 don't 1 can't 1 tourism 3 capitalism 5 enthusiasm 5 a 1 I 1 eye 1 area 3 beautiful 3
		queen 1 question 2 quiet 2 continuous 4 marriage 2 persuade 2 sentence 2 taken 2 reading 2 passage 2 unto 2
		itself 2 used 1 prove 1 point 1 australian 4 platypus 3 seemingly 3 hybrid 2 mammal 2 reptilian 4 lighthouse
		2 temperature 4 refrigerator 5 information 4 university 5 available 4 everything 3 something 2 business 2
		whole 1 tree 1 trees 1 1871 1 Mara's 2 rhythm 2`
	fields := strings.Fields(words)
	wrong := 0
	for i := 0; i < len(fields); i += 2 {
		want := int(fields[i+1][0] - '0')
		if got := syllables(fields[i]); got != want {
			wrong++
			t.Logf("%s has %d syllables, not %d", fields[i], want, got)
		}
	}
	if n := len(fields) / 2; n < 100 || wrong > n/20 {
		t.Errorf("%d of %d words are wrong", wrong, n)
	}
}

func FuzzCountText(f *testing.F) {
	f.Add("The cat sat on the mat. It's 3.14!")
	f.Fuzz(func(t *testing.T, text string) {
		c := countText(text)
		if c.sentences > c.words || c.words > c.syllables || c.words > c.characters && c.words > 0 {
			t.Errorf("%q: %+v", text, c)
		}
	})
}

func TestQuotedSpans(t *testing.T) {
	contexts := []string{"A ferry ticket costs 14 euros.", "The pier is green, and it isn't new."}
	check := func(name, answer string, want float64, because ...string) {
		t.Helper()
		metrictest.WantScore(t, name+": "+answer, metrictest.Score(t,
			metrictest.One(t, Metrics(), "faithfulness/"+name), nil,
			metrics.Sample{Answer: answer, Contexts: contexts}), want, because...)
	}
	check("quoted_spans", `It says "ticket costs 14 Euros" and “the pier is red”.`, 0.5, "context 1", "the pier is red")
	check("quoted_spans", `Es heißt „the pier is green“ und »costs 14 euros«.`, 1, "context 2", "context 1")
	check("quoted_spans", `It says 'it isn't new' (‘it isn’t new’).`, 1, "it isn't new", "it isn’t new")
	check("quoted_spans", "「a ferry ticket costs」", 1)
	check("quoted_spans", `"euros. The pier is"`, 0) // from one context into another
	for _, answer := range []string{"It doesn't sail, and it isn't new.", `The "pier" is "green indeed".`,
		`"unclosed words here`} {
		r := metrictest.Score(t, metrictest.One(t, Metrics(), "faithfulness/quoted_spans"), nil,
			metrics.Sample{Answer: answer, Contexts: contexts})
		if r.Kind != metrics.NotApplicable || !strings.Contains(r.Error, "quotes nothing") {
			t.Errorf("%s: %+v", answer, r)
		}
	}

	check("quoted_spans_ragas", "Nothing is quoted.", 1, "counts as 1")
	check("quoted_spans_ragas", "It doesn't sail, and it isn't new.", 0, "t sail, and it isn") // the apostrophes
	check("quoted_spans_ragas", `"Ticket  costs 14 EUROS" and "the pier is red"`, 0.5, "Ticket  costs 14 EUROS", "red")
	check("quoted_spans_ragas", `"euros. The pier is"`, 1) // the joined contexts hold it
	check("quoted_spans_ragas", `"ticket, costs 14"`, 0)   // punctuation counts
}

// What rules say of real questions and passages, all of them in English and honest.
func TestRulesOnData(t *testing.T) {
	dir := os.Getenv("ASSAY_TEST_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data")
	}
	told, wrong, questions, contexts := 0, 0, 0, 0
	for _, name := range []string{"mtrag.dev.jsonl", "evouna-nq.dev.jsonl", "ares-databricks.dev.jsonl"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Skipf("no %s: set ASSAY_TEST_DATA to the folder of the development data", name)
		}
		for line := range strings.Lines(string(text)) {
			var s metrics.Sample
			if err := json.Unmarshal([]byte(line), &s); err != nil {
				t.Fatal(err)
			}
			questions++
			if l := languageOf(s.Question); l.languages != nil {
				told++
				if l.languages[0] != "en" {
					wrong++
				}
			}
			for _, context := range s.Contexts {
				contexts++
				if signs := signsIn(context); signs != nil {
					t.Errorf("signs of an injected order in a passage: %+v", signs)
				}
			}
		}
	}
	t.Logf("the language of %d of %d questions was told, of %d wrongly; %d passages", told, questions, wrong, contexts)
	if told < questions*95/100 || wrong > questions/500 || contexts < 600 {
		t.Errorf("the language of %d of %d questions was told, of %d wrongly; %d passages", told, questions, wrong,
			contexts)
	}
}
