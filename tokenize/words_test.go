package tokenize

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestNormalize(t *testing.T) {
	check := func(text, want string) {
		t.Helper()
		if got := Normalize(text); got != want {
			t.Errorf("Normalize(%q) = %q, want %q", text, got, want)
		}
	}
	check("", "")
	check("  --- ***\t", "")
	check("Hello,   World!", "hello world")
	check("**Bold** and `code`", "bold and code")
	check("It’s “quoted”…", "it s quoted")
	check("It's \"quoted\"...", "it s quoted")
	check("Straße STRASSE", "strasse strasse")
	check("ﬁne ＡＢＣ①", "fine abc1")
	check("e\u0301te\u0301", "été")
	check("co\u00adop\u200ber\ufeffate", "cooperate")
	check("हिन्दी में।", "हिन्दी में")
	check("我喜欢茶。", "我喜欢茶")
	check("١٢٣، نعم؟", "١٢٣ نعم")
	check("ᏣᎳᎩ Ꮳꮃꭹ", "ᏣᎳᎩ ᏣᎳᎩ")
	check("a\xffb", "a b")
}

// Every letter with a case, alone and with marks that compose with it, is brought to one form at once.
func TestNormalizeLetters(t *testing.T) {
	for r := range rune(unicode.MaxRune + 1) {
		if !unicode.IsUpper(r) && !unicode.IsLower(r) && !unicode.IsTitle(r) {
			continue
		}
		for _, mark := range []string{"", "\u0301", "\u0307", "\u0323", "\u0345", "\u0308\u0345"} {
			text := string(r) + mark
			once := Normalize(text)
			if twice := Normalize(once); twice != once {
				t.Errorf("Normalize(%q) = %q, and of that %q", text, once, twice)
			}
		}
	}
}

func TestWords(t *testing.T) {
	check := func(text string, want ...string) {
		t.Helper()
		if got := Words(text); !slices.Equal(got, want) {
			t.Errorf("Words(%q) = %q, want %q", text, got, want)
		}
	}
	check("")
	check("... !?")
	check("Don’t pay $3.14, OK?", "don't", "pay", "3.14", "ok")
	check("Der Fluß fließt.", "der", "fluss", "fliesst")
	check("我喜欢茶。", "我", "喜", "欢", "茶")
	check("किताब है।", "किताब", "है")
}

func TestNGrams(t *testing.T) {
	words := strings.Fields("a b c d")
	check := func(n int, want ...string) {
		t.Helper()
		var got []string
		for _, g := range NGrams(words, n) {
			got = append(got, strings.Join(g, " "))
		}
		if !slices.Equal(got, want) {
			t.Errorf("NGrams(%q, %d) = %q, want %q", words, n, got, want)
		}
	}
	check(-1)
	check(0)
	check(1, "a", "b", "c", "d")
	check(3, "a b c", "b c d")
	check(4, "a b c d")
	check(5)
}

func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"", "A.b", "ẛ̣", "İ", "ΐ", "\u0345α", "ﷺ", "\xff", "ǰ\u200d\u0323"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := Normalize(text)
		if twice := Normalize(once); twice != once {
			t.Errorf("Normalize(%q) = %q, and of that %q", text, once, twice)
		}
		if strings.TrimSpace(once) != once || strings.Contains(once, "  ") {
			t.Errorf("Normalize(%q) = %q: stray spaces", text, once)
		}
		if (once == "") != (len(Words(once)) == 0) && HasWords(once) {
			t.Errorf("Normalize(%q) = %q, but its words are %q", text, once, Words(once))
		}
	})
}

// TestFoldASCII checks that the short way of fold is the long one, which a letter beyond ASCII makes it take.
func TestFoldASCII(t *testing.T) {
	var all []byte
	for c := range byte(utf8.RuneSelf) {
		all = append(all, c)
	}
	for _, text := range []string{string(all), "Don't SHOUT,  it's 3.14\t(\"x\")", ""} {
		if got, want := fold(text), strings.TrimPrefix(fold("é"+text), "é"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
