package testset

import "testing"

// The checks of a question know the large languages.
func TestQuestionsInLanguages(t *testing.T) {
	check := func(want string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if got := checkQuestion(text); got != want {
				t.Errorf("%q: %q, want %q", text, got, want)
			}
		}
	}
	check("", "Ai đã xây cây cầu gỗ năm 1999?", "谁在1999年建造了这座木桥？", "誰が木の橋を建てましたか。", "누가 나무 다리를 지었습니까?",
		"पुल किसने बनाया?", "من بنى الجسر الخشبي؟", "¿Quién construyó el puente?", "Кто построил мост?", "সেতুটি কে নির্মাণ করেছেন?",
		"Siapa yang membangun jembatan itu?", "Köprüyü kim yaptı?", "ใครเป็นคนสร้างสะพานไม้", "Τι είναι αυτό\u037e",
		"在一九九九年的那个漫长而炎热的夏天里，到底是谁在村子北边的那条小河上面建造了这座长达四十一米的木桥？")
	check("the question has no question mark", "Cây cầu được xây năm 1999.", "这座桥建于1999年。", "橋は1999年に建てられました。", "สะพานสร้างในปี 1999")
	check("the question mentions the text it was written from", "Theo đoạn văn, ai đã xây cây cầu?", "根据上下文，谁建造了这座桥？",
		"Wer hat laut Text die Brücke gebaut?", "Quem construiu a ponte, segundo o texto?", "Metne göre köprüyü kim yaptı?",
		"본문 에서 누가 다리를 지었습니까?", "इस लेख में पुल किसने बनाया?", "من بنى الجسر حسب النص؟")
	check("the question is too long", "谁在那里建造了这座桥呢在那里建造了这座桥呢在那里建造了这座桥呢在那里建造了这座桥呢在那里建造了这座桥呢在那里建造了这座桥呢"+
		"在那里建造了这座桥呢在那里建造了这座桥呢在那里建造了这座桥呢？")
}

func TestRefusesInLanguages(t *testing.T) {
	for _, text := range []string{"The text does not say.", "Văn bản không nói.", "El texto no lo dice.", "文中没有说明。", "النص لا يذكر ذلك.",
		"Teks tidak menyebutkannya.", "Текст не говорит об этом."} {
		if !refuses(text) {
			t.Errorf("%q is no refusal", text)
		}
	}
	for _, text := range []string{"Cây cầu dài 41 mét.", "The bridge is 41 metres long, which the text does not say."} {
		if refuses(text) {
			t.Errorf("%q is a refusal", text)
		}
	}
}
