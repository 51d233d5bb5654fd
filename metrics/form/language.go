package form

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// languageMatch compares the languages of question and answer. Both are short as a rule: what tells there are the
// script and the function words (stop words) of a language, and those are shown. Character n-gram models, as
// small libraries for language identification use them, are unsure of single sentences, and cannot be shown.
func languageMatch() metrics.Metric {
	return metrics.Metric{
		Name:    "language/match",
		Doc:     "whether the answer is in the language of the question",
		Source:  "scripts of Unicode, and lists of our own of the commonest words of 27 languages",
		Formula: "1 if the languages that the two may be in have one in common, else 0",
		Calls:   "none",
		Default: true,
		Max:     1,
		Needs:   metrics.Question | metrics.Answer,
		Turns:   metrics.TurnsUnneeded,
		Score: func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			question, answer := languageOf(s.Question), languageOf(s.Answer)
			switch {
			case question.languages == nil:
				return metrics.Score{}, fmt.Errorf("%w: the question's language cannot be told: %s",
					metrics.ErrNotApplicable, question.why)
			case answer.languages == nil:
				return metrics.Score{}, fmt.Errorf("%w: the answer's language cannot be told: %s",
					metrics.ErrNotApplicable, answer.why)
			}
			score := metrics.Score{Because: []metrics.Finding{question.finding("the question"),
				answer.finding("the answer")}}
			if slices.ContainsFunc(question.languages, func(l string) bool {
				return slices.Contains(answer.languages, l)
			}) {
				score.Value = 1
			}
			return score, nil
		},
	}
}

// A toldLanguage is what can be told about a text's language.
type toldLanguage struct {
	// by their codes, the likeliest first; several where they cannot be told apart; nil: none can be told
	languages []string
	why       string
}

func (t toldLanguage) String() string {
	if t.languages == nil {
		return "in a language that cannot be told"
	}
	return "in " + strings.Join(t.languages, " or ")
}

func (t toldLanguage) finding(of string) metrics.Finding {
	return metrics.Finding{Kind: "language", Text: of + " is " + t.String(), Reason: t.why}
}

// What it takes to tell a language by its words. A word that n languages have counts 1/n.
const (
	enoughCounts = 1.0
	alike        = 0.75 // of the most, for a language to be as likely
	maxLanguages = 3    // that may be left
)

// languageOf tells the language of a text by its script and, where several share that, by its function words.
func languageOf(text string) toldLanguage {
	script, letters := mainScript(text)
	if letters == 0 {
		return toldLanguage{why: "it has no letters"}
	}
	if alone, ok := scriptLanguages[script]; ok {
		return toldLanguage{[]string{alone}, "its letters are " + script}
	}
	counts := make(map[string]float64)
	seen := make(map[string][]string)
	for _, word := range plainWords(text) {
		who := smallWords()[word]
		for _, code := range who {
			counts[code] += 1 / float64(len(who))
			if !slices.Contains(seen[code], word) {
				seen[code] = append(seen[code], word)
			}
		}
	}
	best := 0.0
	for code, n := range counts {
		if words := seen[code]; script == "Latin" && len(words) == 1 && len(words[0]) < 3 {
			delete(counts, code) // one letter or two by themselves say nothing
		} else {
			best = max(best, n)
		}
	}
	if best < enoughCounts {
		return toldLanguage{why: "too few of its words are of the commonest of a language"}
	}
	var told toldLanguage
	for code, n := range counts {
		if n >= alike*best {
			told.languages = append(told.languages, code)
		}
	}
	slices.SortFunc(told.languages, func(a, b string) int {
		if counts[a] != counts[b] {
			if counts[a] > counts[b] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	if len(told.languages) > maxLanguages {
		return toldLanguage{why: "its words are as common in " + strings.Join(told.languages, ", ")}
	}
	const most = 8
	words := seen[told.languages[0]]
	told.why = "by " + strings.Join(words[:min(most, len(words))], ", ")
	return told
}

// plainWords returns the words of a text, but none that has a capital and stands before another that has: it is
// part of a name, such as Kim Basinger and La Scala, and the language of a name is not that of the text.
func plainWords(text string) []string {
	fields := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.N) && r != '\'' && r != '’'
	})
	capital := func(i int) bool {
		r, _ := utf8.DecodeRuneInString(fields[i])
		return unicode.IsUpper(r)
	}
	var list []string
	for i, field := range fields {
		if !capital(i) || i+1 < len(fields) && !capital(i+1) {
			list = append(list, tokenize.Words(field)...)
		}
	}
	return list
}

// mainScript returns the script of most of a text's letters, and their number. Japanese is a script here: a
// tenth of kana makes it that.
func mainScript(text string) (script string, letters int) {
	counts := make(map[string]int)
	for _, r := range text {
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		for _, name := range scripts {
			if unicode.Is(unicode.Scripts[name], r) {
				counts[name]++
				break
			}
		}
	}
	kana := counts["Hiragana"] + counts["Katakana"]
	if kana*10 > kana+counts["Han"] {
		counts["Hiragana"], counts["Han"] = kana+counts["Han"], 0
	}
	best := 0
	for _, name := range scripts {
		if counts[name] > best {
			script, best = name, counts[name]
		}
	}
	return script, letters
}

var scripts = []string{"Latin", "Cyrillic", "Arabic", "Han", "Hiragana", "Katakana", "Hangul", "Greek", "Hebrew",
	"Thai", "Devanagari", "Bengali", "Tamil", "Telugu", "Gujarati", "Gurmukhi", "Kannada", "Malayalam", "Oriya", "Sinhala",
	"Georgian", "Armenian", "Khmer", "Lao", "Myanmar", "Ethiopic"}

// scriptLanguages gives the language of scripts that only one widely written language has.
var scriptLanguages = map[string]string{"Han": "zh", "Hiragana": "ja", "Katakana": "ja", "Hangul": "ko", "Greek": "el",
	"Hebrew": "he", "Thai": "th",
	"Bengali": "bn", "Tamil": "ta", "Telugu": "te", "Gujarati": "gu", "Gurmukhi": "pa", "Kannada": "kn",
	"Malayalam": "ml", "Oriya": "or", "Sinhala": "si", "Georgian": "ka", "Armenian": "hy", "Khmer": "km", "Lao": "lo",
	"Myanmar": "my"}

// smallWords gives the languages in which a word is one of the commonest.
var smallWords = sync.OnceValue(func() map[string][]string {
	words := make(map[string][]string)
	for code, list := range commonWords {
		for _, word := range tokenize.Words(list) {
			if !slices.Contains(words[word], code) {
				words[word] = append(words[word], code)
			}
		}
	}
	return words
})

// commonWords lists, for each language, words that most of its sentences have one of.
var commonWords = map[string]string{
	"en": "the of and to in is was are it that for on with as be by from this which what who how when where why " +
		"does do did have has had not you can an or at they were its there would will their he she his her my " +
		"your we i if but about than been no yes",
	"de": "der die das und ist ein eine einen einem einer nicht zu den dem des im in mit auf für von wie was wer " +
		"wo wann warum welche welcher welches hat haben sind wird werden sich auch als an bei nach aus oder kann " +
		"ich er sie es wir ihr mein dass aber nur noch ja nein",
	"fr": "le la les de des du un une et est en que qui dans pour sur pas ne au aux avec ce cette ces il elle " +
		"ils elles sont être a été quel quelle quels quelles combien comment quand pourquoi où ou par plus se " +
		"son sa ses je vous nous oui non mais l'a d'un d'une c'est qu'il n'est",
	"es": "el la los las de del un una y es en que por para con no se su sus al lo como más pero son está qué " +
		"cuál cuándo dónde cómo quién cuánto cuántos ha han ser fue este esta yo usted ellos muy sí hay también o",
	"it": "il lo la i gli le di del della dei delle un una e è in che per con non si su al alla sono ha hanno " +
		"come quando dove perché chi quale quanto quanti cosa anche più ma questo questa nel nella dal era " +
		"essere ho io o sì",
	"pt": "o a os as de do da dos das um uma e é em que por para com não se no na nos nas ao à como mais mas são " +
		"está qual quando onde quem quanto quantos foi ser este esta ele ela eu você isso também ou sim tem há",
	"nl": "de het een en is van in dat op te voor met niet zijn aan er om ook als bij uit naar wat wie hoe waar " +
		"wanneer waarom welke heeft hebben was wordt worden kan deze dit ik je hij zij we of maar door over nog " +
		"geen ja nee",
	"sv": "och att det som en är på för med av till den inte har om ett var jag hur vad när varför vilken vilka " +
		"kan från de eller ska men också han hon vi blir hade mycket ja nej i",
	"da": "og at det som en er på for med af til den ikke har om et var jeg hvordan hvad hvornår hvorfor hvilken " +
		"hvilke kan fra de eller skal men også han hun vi bliver blev meget ja nej i sig",
	"nb": "og at det som en er på for med av til den ikke har om et var jeg hvordan hva når hvorfor hvilken " +
		"hvilke kan fra de eller skal men også han hun vi blir ble mye ja nei i seg",
	"fi": "ja on ei se että oli mikä mitä miten milloin missä miksi kuka kuinka hän he minä sinä tämä joka ovat " +
		"ole olla myös kun mutta tai niin sen sitä voi kuin jos kyllä",
	"pl": "i w na z do się nie jest to że jak co kto gdzie kiedy dlaczego który która które jaki jaka ile są był " +
		"była ma dla od po o za przez ale lub oraz czy może tak ja ten ta",
	"cs": "a je v na se že to z do o i jak co kdo kde kdy proč který která které jaký kolik jsou byl byla má pro " +
		"od po za ale nebo není ne ano být tak když jeho si",
	"tr": "ve bir bu için ile de da ne nasıl nerede neden kim hangi kaç mi mı mu mü çok daha olarak olan değil " +
		"var yok gibi kadar o ben sen en sonra ama veya evet hayır dır dir",
	"ro": "și este în de la cu pe un o nu ce care cum când unde cine cât câte sunt a au fost pentru din mai dar " +
		"sau că se al ale lui ei eu da nu această acest",
	"hu": "a az és hogy nem is egy van volt mi ki hol mikor miért hogyan mennyi hány melyik ez meg de csak vagy " +
		"mint már lehet én igen ha el",
	"id": "yang dan di ini itu dengan untuk dari pada adalah tidak apa siapa bagaimana kapan mengapa berapa mana " +
		"ke dalam akan juga oleh saya anda bisa ada atau ya telah sebuah",
	"vi": "là của và các có không được cho trong với một những này đó từ khi để người như gì nào ở đâu tại sao bao nhiêu " +
		"thế ai cũng đã sẽ đang về hay hoặc vì nếu thì mà bị tôi bạn ông bà họ nó rất nhiều mấy",
	"sw": "na ya wa kwa ni katika la za cha hii hiyo huo huu nini nani wapi lini gani jinsi vipi ngapi kama lakini au pia " +
		"si hapana ndiyo yake wake sana kuwa alikuwa ambayo ambao",
	"ru": "и в не на что с по это как а к из у за от так о для его но он она они был была были есть где когда " +
		"почему кто какой какая сколько или же бы я мы вы да нет",
	"uk": "і в не на що з по це як а до із у за від так о для його але він вона вони був була були є де коли " +
		"чому хто який яка скільки або ж би я ми ви та ні",
	"bg": "и в не на че с по това как а към от у за е са да се за ще но той тя те беше бил къде кога защо кой " +
		"каква колко или аз ние вие има със",
	"ar": "في من على إلى أن ما هو هي هل كيف متى أين لماذا كم هذا هذه التي الذي عن مع كان كانت لا أو و قد",
	"fa": "در از به که این را با است برای آن چه چگونه کجا چرا کی چند و یا می شود بود هم نیست",
	"ur": "ہے کا کی کے میں اور سے کو پر یہ وہ کیا کون کب کہاں کیسے کیوں کتنا نہیں ہیں تھا تھی ایک نے بھی ہو گیا",
	"mr": "आहे चा ची चे आणि हा ही हे ते तो ती काय कोण कधी कुठे कसे का किती नाही आहेत होता होती एक व या मध्ये साठी",
	"hi": "है का की के में और से को पर यह क्या कौन कब कहाँ कैसे क्यों कितना नहीं हैं था थी एक ने भी",
}
