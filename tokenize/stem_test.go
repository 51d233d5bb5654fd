package tokenize

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStem(t *testing.T) {
	check := func(pairs string) {
		t.Helper()
		for pair := range strings.FieldsSeq(pairs) {
			word, want, _ := strings.Cut(pair, ">")
			if got := Stem(word); got != want {
				t.Errorf("Stem(%q) = %q, want %q", word, got, want)
			}
		}
	}
	// The examples of Porter's paper, carried through all steps.
	check("caresses>caress ponies>poni caress>caress cats>cat feed>feed agreed>agre plastered>plaster bled>bled")
	check("motoring>motor sing>sing conflated>conflat troubled>troubl sized>size hopping>hop tanned>tan falling>fall")
	check("hissing>hiss fizzed>fizz failing>fail filing>file happy>happi relational>relat conditional>condit")
	check("rational>ration valenci>valenc digitizer>digit conformabli>conform radicalli>radic vileli>vile")
	check("analogousli>analog vietnamization>vietnam predication>predic operator>oper feudalism>feudal")
	check("decisiveness>decis hopefulness>hope callousness>callous formaliti>formal " +
		"sensitiviti>sensit sensibiliti>sensibl")
	check("triplicate>triplic formative>form formalize>formal electriciti>electr " +
		"electrical>electr hopeful>hope goodness>good")
	check("revival>reviv allowance>allow inference>infer airliner>airlin gyroscopic>gyroscop adjustable>adjust")
	check("defensible>defens irritant>irrit replacement>replac adjustment>adjust dependent>depend adoption>adopt")
	check("communism>commun activate>activ angulariti>angular homologous>homolog effective>effect bowdlerize>bowdler")
	check("probate>probat rate>rate cease>ceas controll>control roll>roll")
	// Where NLTK goes its own way.
	check("sky>sky skies>sky dying>die lying>lie news>news innings>inning proceed>proceed succeed>succeed")
	check("dies>die flies>fli died>die spied>spi enjoy>enjoy enjoyment>enjoy try>tri spy>spi by>by say>say")
	check("geology>geolog theologi>theolog gracefully>grace possibly>possibl finally>final operationally>oper")
	check("are>are eve>eve ice>ice ore>ore use>use as>as is>is oed>o")
	check("naïve>naïv 2020s>2020 été>été слово>слово")
}

func FuzzStem(f *testing.F) {
	for _, s := range []string{"", "y", "yyyy", "ying", "ééing", "ñññed", "sses", "\xff\xffing", "alli", "eed"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, word string) {
		stem := Stem(word)
		if word != "" && stem == "" {
			t.Errorf("Stem(%q) is empty", word)
		}
		if utf8.ValidString(word) && !utf8.ValidString(stem) || len(stem) > len(word)+1 {
			t.Errorf("Stem(%q) = %q", word, stem)
		}
	})
}
