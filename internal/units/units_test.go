package units

import (
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	if d, err := ParseAge("30d"); err != nil || d != 720*time.Hour {
		t.Errorf("30d is %v, %v", d, err)
	}
	if n, err := ParseSize("2.5gb"); err != nil || n != 2.5e9 {
		t.Errorf("2.5gb is %v, %v", n, err)
	}
	for _, text := range []string{"d", "-3d", "0h", "x", "NaNd"} {
		if _, err := ParseAge(text); err == nil {
			t.Errorf("%q was taken for an age", text)
		}
	}
	for _, text := range []string{"GB", "-1GB", "0", "1GG", "1e30", "NaN"} {
		if _, err := ParseSize(text); err == nil {
			t.Errorf("%q was taken for a size", text)
		}
	}
	for n, want := range map[int64]string{0: "0 B", -1: "0 B", 999: "999 B", 1000: "1.0 kB", 637e6: "637 MB", 12e9: "12 GB"} {
		if got := Size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
	if d, err := ParseAge(""); d != 0 || err != nil {
		t.Errorf("no age is %v, %v", d, err)
	}
	if n, err := ParseSize(""); n != 0 || err != nil {
		t.Errorf("no size is %v, %v", n, err)
	}
}

// What is read is an age, or a size, that there can be.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"30d", "12h", "2.5gb", "", "1e99d", "-1", "NaN", "0x1pGB"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := ParseAge(text); err == nil && (d < 0 || d == 0 && text != "") {
			t.Errorf("%q is %v", text, d)
		}
		if n, err := ParseSize(text); err == nil && n < 0 {
			t.Errorf("%q is %d", text, n)
		}
	})
}
