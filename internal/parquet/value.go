package parquet

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// A valueKind says what became of a value.
type valueKind int

const (
	isJSON    valueKind = iota
	isBytes             // bytes that are no text, written as base64
	isNothing           // not a number, by which data frames mean that there is none
)

// A valueError is a value that cannot be JSON. It says nothing of the rows after its own.
type valueError struct{ why string }

func (e *valueError) Error() string { return e.why }

// A toJSON appends a value as JSON.
type toJSON = func(b []byte, v pq.Value) ([]byte, valueKind, error)

// valueOf tells from the type of a column how its values are written: numbers as their digits, decimals exactly;
// dates and times in the form of RFC 3339; JSON as it is. Bytes that the file does not call text are text all the
// same where they can be: older writers did not say.
func valueOf(t pq.Type) toJSON {
	var logical format.LogicalTypeValue
	if l := t.LogicalType(); l != nil {
		logical = l.Value
	}
	switch l := logical.(type) {
	case *format.StringType, *format.EnumType:
		return strictText
	case *format.JsonType:
		return rawJSON
	case *format.UUIDType:
		return uuid
	case *format.DecimalType:
		return decimal(t.Kind(), int(l.Scale))
	case *format.DateType:
		return func(b []byte, v pq.Value) ([]byte, valueKind, error) {
			return appendText(b, time.Unix(int64(v.Int32())*86400, 0).UTC().Format(time.DateOnly)), isJSON, nil
		}
	case *format.TimestampType:
		return timestamp(l)
	case *format.TimeType:
		return timeOfDay(t.Kind(), &l.Unit)
	case *format.Float16Type:
		return float16
	case *format.IntType:
		if !l.IsSigned {
			return unsigned(t.Kind())
		}
	}
	switch t.Kind() {
	case pq.Boolean:
		return func(b []byte, v pq.Value) ([]byte, valueKind, error) {
			return strconv.AppendBool(b, v.Boolean()), isJSON, nil
		}
	case pq.Int32:
		return func(b []byte, v pq.Value) ([]byte, valueKind, error) {
			return strconv.AppendInt(b, int64(v.Int32()), 10), isJSON, nil
		}
	case pq.Int64:
		return func(b []byte, v pq.Value) ([]byte, valueKind, error) {
			return strconv.AppendInt(b, v.Int64(), 10), isJSON, nil
		}
	case pq.Int96:
		return int96
	case pq.Float:
		return func(b []byte, v pq.Value) ([]byte, valueKind, error) { return number(b, float64(v.Float()), 32) }
	case pq.Double:
		return func(b []byte, v pq.Value) ([]byte, valueKind, error) { return number(b, v.Double(), 64) }
	}
	return looseText
}

func strictText(b []byte, v pq.Value) ([]byte, valueKind, error) {
	if text := v.ByteArray(); utf8.Valid(text) {
		return appendText(b, string(text)), isJSON, nil
	}
	return b, isJSON, &valueError{"not UTF-8"}
}

func looseText(b []byte, v pq.Value) ([]byte, valueKind, error) {
	if text := v.ByteArray(); !utf8.Valid(text) {
		return appendText(b, base64.StdEncoding.EncodeToString(text)), isBytes, nil
	}
	return strictText(b, v)
}

// rawJSON is what stands in a column of JSON. The text "null" is nothing, as a null is.
func rawJSON(b []byte, v pq.Value) ([]byte, valueKind, error) {
	text := v.ByteArray()
	if !utf8.Valid(text) || !json.Valid(text) {
		return b, isJSON, &valueError{"not JSON, as the file says it is"}
	}
	if strings.TrimSpace(string(text)) == "null" {
		return b, isNothing, nil
	}
	return append(b, text...), isJSON, nil
}

func uuid(b []byte, v pq.Value) ([]byte, valueKind, error) {
	h := hex.EncodeToString(v.ByteArray())
	if len(h) != 32 {
		return b, isJSON, &valueError{"a UUID is not 16 bytes long"}
	}
	return appendText(b, strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")), isJSON, nil
}

// number writes a floating-point number as encoding/json does. JSON has no infinity: that is a word.
func number(b []byte, f float64, bits int) ([]byte, valueKind, error) {
	switch {
	case math.IsNaN(f):
		return b, isNothing, nil
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...), isJSON, nil
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...), isJSON, nil
	}
	var digits []byte
	var err error
	if bits == 32 {
		digits, err = json.Marshal(float32(f))
	} else {
		digits, err = json.Marshal(f)
	}
	return append(b, digits...), isJSON, err
}

func unsigned(kind pq.Kind) toJSON {
	return func(b []byte, v pq.Value) ([]byte, valueKind, error) {
		if kind == pq.Int32 {
			return strconv.AppendUint(b, uint64(v.Uint32()), 10), isJSON, nil
		}
		return strconv.AppendUint(b, v.Uint64(), 10), isJSON, nil
	}
}

// decimal writes whole numbers with their point put where it belongs.
func decimal(kind pq.Kind, scale int) toJSON {
	return func(b []byte, v pq.Value) ([]byte, valueKind, error) {
		n := new(big.Int)
		switch kind {
		case pq.Int32:
			n.SetInt64(int64(v.Int32()))
		case pq.Int64:
			n.SetInt64(v.Int64())
		default: // two's complement, big-endian
			bytes := v.ByteArray()
			if n.SetBytes(bytes); len(bytes) > 0 && bytes[0]&0x80 != 0 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(bytes))))
			}
		}
		const most = 1000
		if scale < 0 || scale > most || n.BitLen() > 4*most {
			return b, isJSON, &valueError{fmt.Sprintf("a decimal of more than %d digits", most)}
		}
		if n.Sign() < 0 {
			b = append(b, '-')
		}
		digits := n.Abs(n).String()
		if scale == 0 {
			return append(b, digits...), isJSON, nil
		}
		if len(digits) <= scale {
			digits = strings.Repeat("0", scale+1-len(digits)) + digits
		}
		b = append(b, digits[:len(digits)-scale]...)
		return append(append(b, '.'), digits[len(digits)-scale:]...), isJSON, nil
	}
}

// perSecond is how many units of a time a second has.
func perSecond(u *format.TimeUnit) int64 {
	switch u.Value.(type) {
	case *format.MilliSeconds:
		return 1e3
	case *format.MicroSeconds:
		return 1e6
	}
	return 1e9
}

func timestamp(t *format.TimestampType) toJSON {
	per, layout := perSecond(&t.Unit), "2006-01-02T15:04:05.999999999"
	if t.IsAdjustedToUTC {
		layout += "Z"
	}
	return func(b []byte, v pq.Value) ([]byte, valueKind, error) {
		n := v.Int64()
		seconds, rest := n/per, n%per
		if rest < 0 {
			seconds, rest = seconds-1, rest+per
		}
		return appendText(b, time.Unix(seconds, rest*(1e9/per)).UTC().Format(layout)), isJSON, nil
	}
}

func timeOfDay(kind pq.Kind, u *format.TimeUnit) toJSON {
	per := perSecond(u)
	return func(b []byte, v pq.Value) ([]byte, valueKind, error) {
		n := v.Int64()
		if kind == pq.Int32 {
			n = int64(v.Int32())
		}
		if n < 0 || n >= 86400*per {
			return b, isJSON, &valueError{"a time of day that no day has"}
		}
		return appendText(b, time.Unix(n/per, n%per*(1e9/per)).UTC().Format("15:04:05.999999999")), isJSON, nil
	}
}

// int96 is how old writers keep a time: the nanoseconds of the day, and the Julian day.
func int96(b []byte, v pq.Value) ([]byte, valueKind, error) {
	const epoch = 2440588 // the Julian day of 1 January 1970
	i := v.Int96()
	nanos := int64(i[1])<<32 | int64(i[0])
	if nanos < 0 || nanos >= 86400*1e9 {
		return b, isJSON, &valueError{"a time of day that no day has"}
	}
	at := time.Unix((int64(i[2])-epoch)*86400, nanos).UTC()
	return appendText(b, at.Format("2006-01-02T15:04:05.999999999")), isJSON, nil
}

func float16(b []byte, v pq.Value) ([]byte, valueKind, error) {
	bytes := v.ByteArray()
	if len(bytes) != 2 {
		return b, isJSON, &valueError{"a half-precision number is not 2 bytes long"}
	}
	h := binary.LittleEndian.Uint16(bytes)
	sign, exponent, fraction := 1.0, int(h>>10&0x1f), float64(h&0x3ff)
	if h>>15 == 1 {
		sign = -1
	}
	switch {
	case exponent == 31 && fraction != 0:
		return b, isNothing, nil
	case exponent == 31:
		return number(b, sign*math.Inf(1), 64)
	case exponent == 0:
		return number(b, sign*math.Ldexp(fraction, -24), 32)
	}
	return number(b, sign*math.Ldexp(1+fraction/1024, exponent-15), 32)
}

// appendText appends text as JSON.
func appendText(b []byte, text string) []byte {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // unreachable: a string
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}
