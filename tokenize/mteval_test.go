package tokenize

import (
	"strings"
	"testing"
)

func TestMTEval(t *testing.T) {
	check := func(text, want, want13a string) {
		t.Helper()
		if got := strings.Join(MTEval(text), "|"); got != want {
			t.Errorf("MTEval(%q) = %s, want %s", text, got, want)
		}
		if got := strings.Join(MTEval13a(text), "|"); got != want13a {
			t.Errorf("MTEval13a(%q) = %s, want %s", text, got, want13a)
		}
	}
	same := func(text, want string) {
		t.Helper()
		check(text, want, want)
	}
	same("", "")
	same("Hello, World!", "Hello|,|World|!")
	same("It's a well-known fact.", "It's|a|well-known|fact|.")
	same("$1,234.56 or 3.", "$|1,234.56|or|3|.")
	same(".5 a,b 1,b a.5", ".|5|a|,|b|1|,|b|a|.|5")
	same("1990-2000 x-1", "1990|-|2000|x-1")
	same("(a/b) [c] {d} e=f g@h", "(|a|/|b|)|[|c|]|{|d|}|e|=|f|g|@|h")
	same("5 &lt; 6 &amp;quot; <skipped>x", "5|<|6|&|quot|;|x") // each entity once, in this order
	same("over-\nlap two\nlines", "overlap|two|lines")
	same("ends in a hyphen-\n", "ends|in|a|hyphen-") // the line break goes first
	same("naïve – “so”", "naïve|–|“so”")

	check("我喜欢喝绿茶，真的。", "我|喜|欢|喝|绿|茶|，|真|的|。", "我喜欢喝绿茶，真的。")
	check("iPhone手机3.5万", "iPhone|手|机|3.5|万", "iPhone手机3.5万")
	check("東京タワーへ！", "東|京|タワー|へ|！", "東京タワーへ！")
	check("มีน้ำ", "มี|น้|ำ", "มีน้ำ")
	same("العاصمة هي الرياض.", "العاصمة|هي|الرياض|.")
	same("राजधानी दिल्ली है।", "राजधानी|दिल्ली|है।")
}

func FuzzMTEval(f *testing.F) {
	for _, s := range []string{"", "a,b.c-1-2", "<skip<skipped>ped>", "ก็ ดี，。", "\xff\xfe", "- \n", "3.,4,."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, tokens := range [][]string{MTEval(text), MTEval13a(text)} {
			for _, token := range tokens {
				if token == "" || strings.ContainsFunc(token, pythonSpace) {
					t.Errorf("%q has the token %q", text, token)
				}
			}
		}
	})
}
