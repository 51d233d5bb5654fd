package tokenize

import (
	"slices"
	"strings"
	"testing"
)

func TestSentences(t *testing.T) {
	// Each case is the expected sentences; joining them with the separator gives the text.
	for _, tt := range []struct {
		name, sep string
		want      []string
	}{
		{"plain", " ", []string{"It rains.", "We stay home!", "Do you?"}},
		{"titles", " ", []string{"Dr. Smith met Mrs. Jones at St. Mary's.", "They spoke."}},
		{"eg", " ", []string{"Some birds, e.g. this one, cannot fly.", "Others can, i.e. Eagles do."}},
		{"acronym", " ", []string{"U.S. troops left the U.S. Embassy.", "He lives in the U.S. now."}},
		{"acronym ends", " ", []string{"He lives in the U.S.", "The house is big."}},
		{"initials", " ", []string{"J. R. R. Tolkien and George W. Bush never met.", "J. A. Smith did."}},
		{"decimals", " ", []string{"Pi is 3.14159 or so.", "It costs $2.50.", "Version 1.2.3 is out."}},
		{"year ends", " ", []string{"It was built in 1999.", "Then it burned."}},
		{"closers", " ", []string{"Apple Inc. Chief Tim Cook spoke at 5 p.m. London time.", "He left Acme Corp.",
			"The end."}},
		{"no", " ", []string{"Symphony No. 5 is famous.", "Is it long?", "No.", "Mahler wrote longer ones."}},
		{"ellipsis lower", " ", []string{"Wait... what did you say?", "Nothing… really nothing."}},
		{"ellipsis upper", " ", []string{"I waited…", "Then it rained..."}},
		{"quote goes on", " ", []string{`"Stop!" he said.`, `"Why?" she asked (really?) and left.`}},
		{"quote ends", " ", []string{`She said "no."`, `He said “yes.”`, "They parted."}},
		{"brackets", " ", []string{"It failed.", "(Nobody knew why.)", "It was late."}},
		{"numbered list", "\n", []string{"1. First thing", "2. Second thing.", "3. Third"}},
		{"numbered list after blank lines", "\n\n", []string{"Do this:", "1. Open it.", "2. Close it."}},
		{"bullets", "\n", []string{"You need:", "- two eggs", "- flour", "* milk.", "o salt"}},
		{"lettered", "\n", []string{"Choose", "a) the left door", "b) the right door"}},
		{"headings", "\n\n", []string{"Opening hours", "We open at nine.", "and close at five."}},
		{"url", " ", []string{"See www.example.com/a.b?c=d for more.", "Thanks."}},
		{"German", " ", []string{"Viele Städte, z. B. Berlin und u. a. Bonn, sind alt.",
			"Am 3. Mai bzw. am 4. Juni war Dr. Maier da.",
			"Das war 1999.", "Der 2. Weltkrieg endete 1945."}},
		{"German quotes", " ", []string{"Er sagte: „Komm!“ und ging.", "„Nein.“", "Sie blieb."}},
		{"French", " ", []string{"M. Dupont et Mme. Durand sont là.", "« Bonjour ! » dit-il.", "Quoi ?"}},
		{"Spanish", " ", []string{"El Sr. García vino ayer.", "¿Dónde está?", "¡Aquí!"}},
		{"Russian", " ", []string{"А. С. Пушкин родился в г. Москве, т. е. в столице.", "Он жил на ул. Арбат.", "Да."}},
		{"Chinese", "", []string{"我喜欢茶。", "你呢？", "“很好！”", "价格是3.5元。"}},
		{"Japanese", "", []string{"これはペンです。", "本当ですか？", "「はい。」"}},
		{"Hindi", " ", []string{"यह किताब है।", "वह कहाँ है?"}},
		{"Arabic", " ", []string{"هل هذا صحيح؟", "نعم هو كذلك."}},
		{"Urdu", " ", []string{"یہ کتاب ہے۔", "وہ کہاں ہے؟"}},
		{"Vietnamese", " ", []string{"PGS. TS. Nguyễn Văn An sống ở TP. Hồ Chí Minh.", "Ông ấy trồng xoài, ổi, v.v.", "Các cây đều tốt.",
			"Bao nhiêu tiền?"}},
		{"Vietnamese goes on", " ", []string{"Cam, quýt, v.v. đều có bán ở Q. 1 và Q. 3.", "Hết."}},
		{"Korean", " ", []string{"다리는 1999년에 지어졌다.", "누가 지었습니까?", "모릅니다."}},
		{"Indonesian", " ", []string{"Dr. Budi tinggal di Jl. Merdeka No. 5 Jakarta.", "Ia menjual apel, jeruk, dll.", "Kami membelinya."}},
		{"Turkish", " ", []string{"Doç. Dr. Ayşe Kaya 3. Mart günü geldi.", "Elma, armut vb. meyveler var.", "19. yüzyılda yapıldı."}},
		{"Arabic title", " ", []string{"كتب د. أحمد كتابًا.", "متى نشر؟"}},
		{"Hindi title", " ", []string{"डॉ. शर्मा यहाँ हैं।", "वह कहाँ है?"}},
		{"Bengali", " ", []string{"ড. করিম এখানে আছেন।", "তিনি কোথায়?", "জানি না।"}},
		{"Chinese mixed", "", []string{"他说：“走吧！”", "我们走了！", "真的吗？"}},
		{"wrapped", " ", []string{"The quick brown\nfox jumps over\r\nthe dog.", "Then Dr.\nSmith came."}},
		{"tokenised quotes", " ", []string{"He asked `` Is it me ? ''", "Then he left .", "See ![the map](map.png)."}},
		{"one", "", []string{"no stop at all"}},
	} {
		text := strings.Join(tt.want, tt.sep)
		var got []string
		for _, s := range Sentences(text) {
			got = append(got, s.Text)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

func TestSentencesOfNothing(t *testing.T) {
	for _, text := range []string{"", " ", "\n\n\t", "\u2003"} {
		if got := Sentences(text); len(got) != 0 {
			t.Errorf("Sentences(%q) = %v, want none", text, got)
		}
	}
}

func FuzzSentences(f *testing.F) {
	for _, s := range []string{"", "a", "Dr. Smith. “No!” he", "1. a\n2. b", "…A… B…C", "\r\n.\r\r\n",
		"\xff. \xfe", "我。你",
		"z. B.", "\u2028.\u0085x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		for _, s := range Sentences(text) {
			if s.Text == "" || s.Start < at || s.End > len(text) || text[s.Start:s.End] != s.Text {
				t.Fatalf("sentence %+v of %q: bad offsets or empty", s, text)
			}
			if strings.TrimSpace(text[at:s.Start]) != "" {
				t.Fatalf("text lost before %+v in %q: %q", s, text, text[at:s.Start])
			}
			if strings.TrimSpace(s.Text) != s.Text {
				t.Fatalf("sentence %q is not trimmed", s.Text)
			}
			at = s.End
		}
		if strings.TrimSpace(text[at:]) != "" {
			t.Fatalf("text lost at the end of %q: %q", text, text[at:])
		}
	})
}
