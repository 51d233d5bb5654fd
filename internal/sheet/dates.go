package sheet

import (
	"encoding/xml"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// A kind says what a number format shows of a number.
type kind int

const (
	plain kind = iota // a number
	day
	clock
	both
)

// readStyles reads which of the formats that cells have show dates.
func (b *Book) readStyles(x *reader) error {
	own := map[int]kind{}
	inCells := false
	return x.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "numFmt":
			if id, err := strconv.Atoi(attr(e, "numFmtId")); err == nil && len(own) < mostFormats {
				own[id] = kindOf(attr(e, "formatCode"))
			}
		case "cellXfs":
			inCells = true
		case "cellStyles", "cellStyleXfs", "dxfs":
			inCells = false
		case "xf":
			if !inCells {
				return nil
			}
			if len(b.dates) >= mostFormats {
				return errors.New("too many formats")
			}
			id, err := strconv.Atoi(attr(e, "numFmtId"))
			if err != nil {
				id = 0
			}
			k, ok := own[id]
			if !ok {
				k = builtIn(id)
			}
			b.dates = append(b.dates, k)
		}
		return nil
	})
}

// builtIn is the kind of a number format that files need not describe (ECMA-376, part 1, 18.8.30), those of East Asian
// languages among them.
func builtIn(id int) kind {
	switch {
	case id >= 14 && id <= 17, id >= 27 && id <= 31, id == 36, id >= 50 && id <= 54, id >= 57 && id <= 58:
		return day
	case id >= 18 && id <= 21, id == 45, id == 47, id >= 32 && id <= 35, id >= 55 && id <= 56:
		return clock
	case id == 22:
		return both
	}
	return plain
}

// kindOf reads a format's code, such as "yyyy\-mm\-dd hh:mm" or "[Red]0.00": what stands in quotes, brackets or behind a
// backslash means nothing, and neither does what is for negative numbers. A time that has passed, [h]:mm, is a number of days.
func kindOf(code string) kind {
	var days, hours, months bool
	for i := 0; i < len(code); i++ {
		switch c := code[i] | 0x20; {
		case code[i] == ';':
			i = len(code)
		case code[i] == '"':
			for i++; i < len(code) && code[i] != '"'; i++ {
			}
		case code[i] == '\\' || code[i] == '_' || code[i] == '*':
			i++
		case code[i] == '[':
			end := strings.IndexByte(code[i:], ']')
			if end < 0 {
				return plain
			}
			switch strings.ToLower(code[i+1 : i+end]) {
			case "h", "hh", "m", "mm", "s", "ss":
				return plain
			}
			i += end
		case strings.HasPrefix(strings.ToLower(code[i:]), "general"):
			return plain
		case code[i] == '0' && !hours, code[i] == '#', code[i] == '?':
			return plain
		case c == 'd' || c == 'y' || c == 'g' && days:
			days = true
		case c == 'h' || c == 's':
			hours = true
		case c == 'm':
			months = true // or minutes, beside hours or seconds
		}
	}
	switch {
	case days && hours:
		return both
	case hours:
		return clock
	case days || months:
		return day
	}
	return plain
}

// format is a number of days as the date or time that it is, to the second; false where it is none.
func (k kind) format(v float64, since04 bool) (string, bool) {
	const last = 2_958_466 // the day after 9999-12-31
	if k == plain || v < 0 || v >= last {
		return "", false
	}
	// Days are counted from 1900-01-01 as 1 on, as if that had been a leap year: so from 1899-12-31 before March, and
	// from 1899-12-30 after.
	first := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case since04:
		first = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case v < 60:
		first = first.AddDate(0, 0, 1)
	}
	days, part := math.Modf(v)
	seconds := int(math.Round(part * 24 * 3600))
	at := first.AddDate(0, 0, int(days)).Add(time.Duration(seconds) * time.Second)
	switch {
	case k == clock && v < 1:
		return at.Format(time.TimeOnly), true
	case k == clock, k == both, seconds != 0:
		return at.Format("2006-01-02T15:04:05"), true
	}
	return at.Format(time.DateOnly), true
}
