package ask

import (
	"slices"
	"testing"
)

func TestMatcher(t *testing.T) {
	m := NewMatcher([]string{
		0: "Oral Arguments",
		1: "The Court of Appeal records all oral arguments electronically.",
		2: "Any party may pay a fee to get a copy of the recording, as long as it asks within thirty days.",
		3: "1. You can visit a law library.",
		4: "The fee is $25.",
		5: "You can visit a law library.",
		6: "我喜欢喝绿茶。",
		7: "The fee is 30 euros.",
	})
	check := func(copied string, want ...int) {
		t.Helper()
		if got := m.Find(copied); !slices.Equal(got, want) {
			t.Errorf("find(%q) = %v, want %v", copied, got, want)
		}
	}
	check("The Court of Appeal records all oral arguments electronically.", 1)
	check("the court of appeal RECORDS all **oral arguments** electronically", 1)
	check("The Court of Appeal records oral arguments electronically", 1)          // a word left out
	check("The Court of Appeals records all the oral arguments electronically", 1) // and changed
	check("Any party may pay a fee to get a copy of the recording.", 2)            // a part
	check("Oral arguments", 0)
	check("The fee is $25. Any party may pay a fee to get a copy of the recording, as long as it asks within thirty "+
		"days.", 2, 4)
	check("The fee is $25", 4)
	check("The fee is 30 euros", 7)
	check("You can visit a law library", 5)
	check("我喜欢喝绿茶", 6)
	check("我很喜欢喝绿茶", 6)
	check("A fee")
	check("The party paid its fee with thirty recordings of the court.")
	check("")
	check("***")
}

func TestMatcherTwins(t *testing.T) {
	m := NewMatcher([]string{"It opens at nine.", "It closes at five.", "It opens at nine!"})
	if got := m.Find("it opens at nine"); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("find = %v, want both sentences that read so", got)
	}
}
