package grammar

import (
	"math/big"
	"strings"
)

// Numbers have at most so many digits before the point and behind it: enough for any int64 but the
// very largest, and for more than a float64 holds.
const (
	maxWhole  = 18
	maxPlaces = 18
)

// A limit is the least or the most that a number may be.
type limit struct {
	value *big.Rat
	open  bool // the value itself is too small, or too large
}

// tighter returns the tighter of two limits, either of which may be missing; sign is 1 for the most.
func tighter(a, b *limit, sign int) *limit {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	switch order := a.value.Cmp(b.value) * sign; {
	case order < 0, order == 0 && a.open:
		return a
	default:
		return b
	}
}

// A magnitude is a limit on a number without its sign, written out.
type magnitude struct {
	whole, places string // digits before the point, and behind it without zeros at the end
	open          bool
}

func newMagnitude(l *limit) *magnitude {
	if l == nil {
		return nil
	}
	whole, places, _ := strings.Cut(new(big.Rat).Abs(l.value).FloatString(140), ".")
	return &magnitude{whole, strings.TrimRight(places, "0"), l.open}
}

// digit returns the digit at a place: 0 is the first behind the point, -1 the last before it.
func (m *magnitude) digit(at int) byte {
	switch {
	case at < 0:
		return m.whole[len(m.whole)+at]
	case at < len(m.places):
		return m.places[at]
	}
	return '0'
}

// number leads through a number between limits, either of which may be missing. With places 0 it is an
// integer. Only a number without limits may have an exponent.
func (b *builder) number(from int32, lo, hi *limit, places int) int32 {
	end := b.state()
	mantissa := b.state()
	zero := new(big.Rat)
	if hi == nil || hi.value.Sign() > 0 || hi.value.Sign() == 0 && !hi.open {
		d := digits{builder: b, hi: newMagnitude(hi), places: places, end: mantissa}
		if lo != nil && (lo.value.Sign() > 0 || lo.value.Sign() == 0 && lo.open) {
			d.lo = newMagnitude(lo)
		}
		d.lead(from)
	}
	if lo == nil || lo.value.Sign() < 0 {
		d := digits{builder: b, places: places, end: mantissa}
		if lo != nil {
			d.hi = newMagnitude(lo)
		}
		if hi != nil && (hi.value.Cmp(zero) < 0 || hi.value.Sign() == 0 && hi.open) {
			d.lo = newMagnitude(hi)
		}
		d.lead(b.step(from, '-', '-'))
	}
	b.join(mantissa, end)
	if lo == nil && hi == nil && places > 0 {
		b.exponent(mantissa, end)
	}
	return end
}

// exponent leads through an exponent of one or two digits.
func (b *builder) exponent(from, end int32) {
	e := b.oneOf(from, "eE")
	sign := b.oneOf(e, "+-")
	b.join(e, sign)
	b.edge(b.step(sign, '0', '9'), '0', '9', end)
	b.join(b.step(sign, '0', '9'), end)
}

// digits is a number without its sign, on its way into the network. Its digits are compared with those of
// the limits from the left: as long as they are the same as a limit's, it is tight.
type digits struct {
	*builder
	lo, hi *magnitude
	places int
	end    int32
	known  map[digitPlace]int32
}

// A digitPlace is a state of the automaton that compares.
type digitPlace struct {
	at    int // where the next digit stands
	whole int // digits before the point in all; 0 where that makes no difference
	atLo  bool
	atHi  bool
}

// lead leads from a state to d.end.
func (d *digits) lead(from int32) {
	d.known = map[digitPlace]int32{}
	for n := 1; n <= maxWhole; n++ {
		if d.lo != nil && n < len(d.lo.whole) || d.hi != nil && n > len(d.hi.whole) {
			continue
		}
		first := byte('1')
		if n == 1 {
			first = '0'
		}
		d.next(from, digitPlace{at: -n, whole: n,
			atLo: d.lo != nil && n == len(d.lo.whole),
			atHi: d.hi != nil && n == len(d.hi.whole)}, first)
	}
}

// next leads from a state by the digits that may stand at a place.
func (d *digits) next(s int32, at digitPlace, least byte) {
	for digit := least; digit <= '9'; digit++ {
		to := digitPlace{at: at.at + 1, whole: at.whole}
		if at.atLo {
			tight := d.lo.digit(at.at)
			if digit < tight {
				continue
			}
			to.atLo = digit == tight
		}
		if at.atHi {
			tight := d.hi.digit(at.at)
			if digit > tight {
				break
			}
			to.atHi = digit == tight
		}
		d.edge(s, digit, digit, d.place(to))
	}
}

// place returns the state for a place.
func (d *digits) place(at digitPlace) int32 {
	if !at.atLo && !at.atHi {
		at.whole = 0
	}
	if s, ok := d.known[at]; ok {
		return s
	}
	s := d.state()
	d.known[at] = s
	if at.at >= 0 && d.mayEnd(at) {
		d.join(s, d.end)
	}
	switch {
	case at.at < 0 || at.at > 0 && at.at < d.places:
		d.next(s, at, '0')
	case at.at == 0 && d.places > 0:
		d.next(d.step(s, '.', '.'), at, '0')
	}
	return s
}

// mayEnd reports whether the digits before a place make a number within the limits.
func (d *digits) mayEnd(at digitPlace) bool {
	if at.atLo && (len(d.lo.places) > at.at || d.lo.open) {
		return false // less than the limit, or equal
	}
	return !at.atHi || len(d.hi.places) > at.at || !d.hi.open
}
