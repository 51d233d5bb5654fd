package testset

import (
	"strings"
	"unicode"

	"github.com/assay-eval/assay/tokenize"
)

// asks reports whether a text asks a question by its form: by a question mark, of whichever script, or by how languages that
// do without one end or mark a question (Japanese and Thai).
func asks(text string) bool {
	if strings.ContainsAny(text, "?？؟\u037e՞፧") {
		return true
	}
	bare := strings.TrimRightFunc(text, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSpace(r) })
	if strings.HasSuffix(bare, "か") {
		return true
	}
	for _, word := range []string{"ไหม", "หรือไม่", "หรือเปล่า", "อะไร", "ใคร", "ที่ไหน", "เมื่อไร", "เมื่อไหร่", "ทำไม", "อย่างไร", "เท่าไร", "เท่าไหร่",
		"กี่"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// length is how many words a text has, in which two letters of a script without spaces count as one: that is about how
// long words are in Chinese, Japanese and Thai.
func length(text string) int {
	words, letters := 0, 0
	for _, w := range tokenize.Words(text) {
		if strings.ContainsFunc(w, unspaced) {
			letters++
		} else {
			words++
		}
	}
	return words + (letters+1)/2
}

func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// says reports whether one of the phrases stands in a text as words, or in a script without spaces anywhere.
func says(text string, phrases []string) bool {
	normal := tokenize.Normalize(text)
	for _, p := range phrases {
		p = tokenize.Normalize(p)
		if strings.ContainsFunc(p, unspaced) && strings.Contains(normal, p) || tokenize.ContainsWords(normal, p) {
			return true
		}
	}
	return false
}

// pointers are words by which a question gives away that it was written from a text.
var pointers = []string{
	"the text", "the texts", "this text", "the passage", "the passages", "this passage", "the context", "the document",
	"this document", "the article", "this article", "the excerpt", "the author", "according to the",
	"der text", "dem text", "diesem text", "laut text", "der abschnitt", "dem abschnitt", "der autor", "der artikel",
	"le texte", "ce texte", "le passage", "ce passage", "le document", "l'article", "l'auteur", "selon le texte",
	"el texto", "este texto", "el pasaje", "el documento", "el artículo", "el autor", "según el texto",
	"o texto", "este texto", "a passagem", "o documento", "o artigo", "o autor", "segundo o texto", "de acordo com o texto",
	"il testo", "questo testo", "il brano", "il documento", "l'articolo", "l'autore",
	"de tekst", "deze tekst", "het document", "het artikel", "de auteur",
	"в тексте", "этом тексте", "согласно тексту", "в отрывке", "в документе", "в статье", "автор текста",
	"đoạn văn", "văn bản này", "đoạn trích", "bài viết này", "theo đoạn", "theo văn bản", "tài liệu này", "ngữ cảnh",
	"teks ini", "teks tersebut", "bacaan ini", "menurut teks", "dokumen ini", "artikel ini",
	"metne göre", "bu metin", "bu metinde", "metinde", "bu makale", "yazara göre", "parçaya göre",
	"النص", "هذا النص", "وفقا للنص", "المقطع", "هذا المقال", "الكاتب",
	"इस पाठ", "पाठ के अनुसार", "लेख के अनुसार", "इस लेख", "अनुच्छेद",
	"এই পাঠ্য", "পাঠ্য অনুসারে", "অনুচ্ছেদ", "এই নিবন্ধ",
	"본문", "이 글", "글에 따르면", "지문", "이 문서",
	"本文", "文中", "这段文字", "這段文字", "文章中", "该文", "这篇文章", "上下文", "根据文本",
	"この文章", "この文書", "文章によると", "本文によると", "著者",
	"ข้อความนี้", "จากข้อความ", "บทความนี้", "ตามเนื้อหา",
}

// refusals are ways to say that the text does not hold the answer, which the prompts ask for: those of the built-in ones
// and of prompts in other languages.
var refusals = []string{
	"the text does not", "the texts do not", "the text doesn't", "the texts don't",
	"der text sagt nicht", "der text sagt es nicht", "die texte sagen es nicht", "der text enthält keine",
	"le texte ne", "les textes ne", "el texto no", "los textos no", "o texto não", "os textos não", "il testo non", "i testi non",
	"de tekst zegt", "текст не", "тексты не", "в тексте не", "в текстах не",
	"văn bản không", "các văn bản không", "đoạn văn không", "đoạn trích không", "tài liệu không",
	"teks tidak", "teks ini tidak", "metin bunu", "metinde belirtilmemiş", "metinler bunu",
	"النص لا", "النصوص لا", "لا يذكر النص", "पाठ में नहीं", "पाठ यह नहीं", "পাঠ্যে নেই", "পাঠ্যে উল্লেখ নেই",
	"본문에 없습니다", "본문에는 없습니다", "글에는 나와 있지", "文中没有", "文本没有", "文本中没有", "文中沒有", "本文には記載", "文章には記載", "文章には書かれて",
	"ข้อความไม่ได้",
}
