package checkpoint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
)

// one is what a header says of a tensor of one byte.
const one = `"dtype":"U8","shape":[1],"data_offsets":[0,1]`

// refusedByAll are headers, of a file with one byte of data, that neither we nor the
// format's own reader (safetensors 0.8.0) read.
var refusedByAll = []string{
	// The text.
	`{"a":{` + one + `}}` + "\x00", `{"a":{` + one + `}}x`, "\ufeff" + `{"a":{` + one + `}}`, `{"a":{` + one + `,}}`, `{"a":{` + one + `},}`,
	`{'a':{` + one + `}}`, `[]`, `null`, ``, `{`, `{}`, `{"a":{` + one + `},"x":[` + strings.Repeat("[", 125) + strings.Repeat("]", 125) + `]}`,
	`{"a":{` + one + `,"x":` + strings.Repeat("[", 126) + strings.Repeat("]", 126) + `}}`,
	`{"a":{` + one + `,"x":NaN}}`, `{"a":{` + one + `,"x":1e999}}`, `{"a":{` + one + `,"x":-1e400}}`, `{"a":{` + one + `,"x":` + strings.Repeat("9", 400) + `}}`,
	`{"a":{` + one + `,"x":-}}`, `{"a":{` + one + `,"x":1.}}`, `{"a":{` + one + `,"x":.5}}`, `{"a":{` + one + `,"x":1e}}`, `{"a":{` + one + `,"x":01}}`, `{"a":{` + one + `,"x":+1}}`,
	`{"a":{` + one + `,"x":"\ud800"}}`, `{"a":{` + one + `,"\ud800":1}}`, `{"a":{` + one + `,"x":nul}}`,
	// Names.
	"{\"\xff\":{" + one + "}}", "{\"\xed\xa0\x80\":{" + one + "}}", "{\"\xc0\x80\":{" + one + "}}", "{\"\xff\\n\":{" + one + "}}", `{"\ud800":{` + one + `}}`, `{"\udc00":{` + one + `}}`,
	`{"\ud800\ud800":{` + one + `}}`, "{\"\x01\":{" + one + "}}", `{"\x":{` + one + `}}`, `{"\u12":{` + one + `}}`, `{"\u+123":{` + one + `}}`,
	// Metadata.
	"{\"__metadata__\":{\"k\":\"\xff\"},\"a\":{" + one + "}}", "{\"__metadata__\":{\"\xff\":\"\"},\"a\":{" + one + "}}", "{\"a\":{" + one + ",\"x\":\"\xff\"}}", "{\"a\":{" + one + ",\"\xff\":1}}",
	`{"__metadata__":{"a":1},"a":{` + one + `}}`, `{"__metadata__":{"a":null},"a":{` + one + `}}`, `{"__metadata__":{"a":{}},"a":{` + one + `}}`, `{"__metadata__":[],"a":{` + one + `}}`,
	`{"__metadata__":"","a":{` + one + `}}`, `{"__metadata__":{},"__metadata__":{},"a":{` + one + `}}`, `{"__metadata__":null,"__metadata__":null,"a":{` + one + `}}`,
	// What is said of a tensor.
	`{"a":null}`, `{"a":{` + one + `},"b":null}`, `{"a":1}`, `{"a":["U8",[1],[0,1],5]}`, `{"a":{` + one + `,"dtype":"U8"}}`, `{"a":{` + one + `,"shape":[1]}}`, `{"a":{` + one + `,"data_offsets":[0,1]}}`,
	`{"a":{"shape":[1],"data_offsets":[0,1]}}`, `{"a":{"dtype":"U8","data_offsets":[0,1]}}`, `{"a":{"dtype":"U8","shape":[1]}}`, `{"a":{"DTYPE":"U8","shape":[1],"data_offsets":[0,1]}}`,
	// Types.
	`{"a":{"dtype":"u8","shape":[1],"data_offsets":[0,1]}}`, `{"a":{"dtype":"E8M0","shape":[1],"data_offsets":[0,1]}}`, `{"a":{"dtype":"","shape":[1],"data_offsets":[0,1]}}`,
	`{"a":{"dtype":0,"shape":[1],"data_offsets":[0,1]}}`, `{"a":{"dtype":null,"shape":[1],"data_offsets":[0,1]}}`, `{"a":{"dtype":"F4","shape":[1],"data_offsets":[0,1]}}`, `{"a":{"dtype":"F6_E2M3","shape":[2],"data_offsets":[0,1]}}`,
	// Shapes.
	`{"a":{"dtype":"U8","shape":null,"data_offsets":[0,1]}}`, `{"a":{"dtype":"U8","shape":[null],"data_offsets":[0,0]}}`, `{"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}}`, `{"a":{"dtype":"U8","shape":[1e0],"data_offsets":[0,1]}}`,
	`{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}`, `{"a":{"dtype":"U8","shape":[01],"data_offsets":[0,1]}}`, `{"a":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}}`, `{"a":{"dtype":"U8","shape":[true],"data_offsets":[0,1]}}`,
	`{"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}}`, `{"a":{"dtype":"U8","shape":{"0":1},"data_offsets":[0,1]}}`, `{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,1]}}`,
	`{"a":{"dtype":"U8","shape":[-0],"data_offsets":[0,0]},"b":{` + one + `}}`, `{"a":{"dtype":"U8","shape":[9223372036854775807,9223372036854775807,0],"data_offsets":[0,0]},"b":{` + one + `}}`,
	`{"a":{"dtype":"U8","shape":[0,18446744073709551616],"data_offsets":[0,0]},"b":{` + one + `}}`,
	// Places.
	`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,1]}}`, `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}}`, `{"a":{"dtype":"U8","shape":[1],"data_offsets":{"0":0,"1":1}}}`, `{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}}`,
	`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1.0]}}`, `{"a":{"dtype":"U8","shape":[1],"data_offsets":[-0,1]}}`, `{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, `{"a":{"dtype":"U8","shape":[0],"data_offsets":[2,2]},"b":{` + one + `}}`,
	`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,18446744073709551616]}}`,
	`{"a":{` + one + `},"b":{` + one + `}}`,
}

// readByAll are headers that both read.
var readByAll = []string{
	`{"a":{` + one + `}}`, " \t\n\r" + `{"a":{` + one + `}}` + " \t\n\r", `{"a" : { "data_offsets" : [ 0 , 1 ] , "dtype" : "U8" , "shape" : [ 1 ] } }`,
	`{"__metadata__":null,"a":{` + one + `}}`, `{"__metadata__":{},"a":{` + one + `}}`, `{"a":{` + one + `},"__metadata__":{"k":"v","":"\u00e9\ud83d\ude00"}}`, `{"\u005f_metadata__":{"k":"v"},"a":{` + one + `}}`,
	`{"a":{` + one + `,"x":[1,{}],"x":[-0.5e-7,true,null,1e-999,0e99999,99999999999999999999]}}`, `{"a":{` + one + `,"x":` + strings.Repeat("[", 125) + strings.Repeat("]", 125) + `}}`,
	`{"a":{"dtype":"\u0055\u0038","shape":[1],"data_offsets":[0,1]}}`, `{"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}}`, `{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}`,
	`{"a":{"dtype":"F64","shape":[0,9223372036854775807],"data_offsets":[0,0]},"b":{` + one + `}}`, `{"a":{"dtype":"U8","shape":[0],"data_offsets":[1,1]},"b":{` + one + `}}`,
	`{"":{` + one + `}}`, `{"\u0000":{` + one + `}}`, `{"\/":{` + one + `}}`, "{\"\x7f\":{" + one + "}}", "{\"\xf4\x8f\xbf\xbf\":{" + one + "}}",
}

// refusedByUs are headers that the format's own reader reads, and what we say of them: it
// drops the first of two names, and takes Rust's other notations of a struct.
var refusedByUs = map[string]string{
	`{"a":{` + one + `},"a":{` + one + `}}`:                                                                            "two tensors",
	`{"a":{"dtype":"U8","shape":[],"data_offsets":[1,1]},"a":{` + one + `}}`:                                           "two tensors",
	`{"__metadata__":{"a":"b","a":"c"},"a":{` + one + `}}`:                                                             "twice",
	`{"a":["U8",[1],[0,1]]}`:                                                                                           "an object is wanted",
	`{"a":{"dtype":{"U8":null},"shape":[1],"data_offsets":[0,1]}}`:                                                     "a text is wanted",
	`{"a":{"dtype":"U8","shape":[1` + strings.Repeat(",1", layout.MaxRank) + `],"data_offsets":[0,1]}}`:                fmt.Sprintf("more than %d axes", layout.MaxRank),
	`{"a":{"dtype":"U8","shape":[0,18446744073709551615],"data_offsets":[0,0]},"b":{` + one + `}}`:                     "not an integer from 0 to",
	`{"a":{"dtype":"F64","shape":[9223372036854775807,9223372036854775807,0],"data_offsets":[0,0]},"a":{` + one + `}}`: "two tensors",
}

// TestBugSafetensorsThatOthersRefuse: types in lower case, keys in upper case, fields that
// are there twice, extents of null, names that are not UTF-8, NUL behind the header and
// others were read; __metadata__ of null was refused.
func TestBugSafetensorsThatOthersRefuse(t *testing.T) {
	for _, header := range refusedByAll {
		_, err := parse(safetensors(header, 7))
		require.ErrorIs(t, err, layout.ErrInvalid, "%.200q", header)
		assert.Less(t, len(err.Error()), 700)
	}
	for _, header := range readByAll {
		_, err := parse(safetensors(header, 7))
		require.NoError(t, err, "%.200q", header)
	}
	for header, rule := range refusedByUs {
		_, err := parse(safetensors(header, 7))
		require.ErrorIs(t, err, layout.ErrInvalid, "%.200q", header)
		require.ErrorContains(t, err, rule, "%.200q", header)
	}
	h, err := parse(safetensors(`{"__metadata__":{"é":"\u00e9\ud83d\ude00\\\""},"a":{`+one+`}}`, 7))
	require.NoError(t, err)
	assert.Equal(t, []Entry{{"é", ValueOf("é😀\\\"")}}, h.Metadata)
}
