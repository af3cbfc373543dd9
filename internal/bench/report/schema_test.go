package report

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// schema compiles report.schema.json.
func schema(t *testing.T) *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile("../../../bench/report.schema.json")
	require.NoError(t, err)
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	return s.Validate(value)
}

// Written reports conform to the schema, and it refuses others.
func TestSchema(t *testing.T) {
	s := schema(t)
	report := example(t)
	report.Devices[0].Peers = []*Peer{{Name: "Other", Cases: []*PeerCase{{Name: "x", Error: "no", Verified: "all"}}}}
	report.Devices[0].Cases[0].Time, report.Devices[0].Cases[0].Error = nil, "it failed"
	text, err := json.Marshal(report)
	require.NoError(t, err)
	require.NoError(t, validate(t, s, text))
	for old, new := range map[string]string{
		`"format":2`: `"format":1`, `"kind":"cpu"`: `"kind":"tpu"`, `"driver_copy":null,`: ``, `"median_ns":`: `"median_ns":-`,
		`"date":"`: `"date":"x`, `"clock":"host"`: `"clock":null`,
	} {
		broken := bytes.Replace(text, []byte(old), []byte(new), 1)
		require.NotEqual(t, text, broken, old)
		assert.Error(t, validate(t, s, broken), new)
	}
}

// The schema has the fields of the Go types, and requires those that are always present.
func TestSchemaFields(t *testing.T) {
	text, err := os.ReadFile("../../../bench/report.schema.json")
	require.NoError(t, err)
	type definition struct {
		Properties map[string]any
		Required   []string
		AllOf      []struct {
			Ref string `json:"$ref"`
		}
	}
	var file struct {
		Defs map[string]definition `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(text, &file))
	all := []any{Report{}, Host{}, Result{}, Facts{}, Reading{}, Timing{}, Rate{}, Roofline{}, CaseResult{}, Peer{}, PeerCase{}}
	for _, x := range all {
		of := reflect.TypeOf(x)
		def, ok := file.Defs[of.Name()]
		require.True(t, ok, of)
		listed, required := slices.Collect(maps.Keys(def.Properties)), def.Required
		for _, more := range def.AllOf {
			base := file.Defs[strings.TrimPrefix(more.Ref, "#/$defs/")]
			listed = append(listed, slices.Collect(maps.Keys(base.Properties))...)
			required = append(required, base.Required...)
		}
		var fields, always []string
		for _, f := range reflect.VisibleFields(of) {
			name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous {
				continue
			}
			require.NotEmpty(t, name, "%v.%s", of, f.Name)
			fields = append(fields, name)
			if option == "" {
				always = append(always, name)
			}
		}
		assert.ElementsMatch(t, fields, listed, of)
		assert.ElementsMatch(t, always, required, of)
	}
	assert.Len(t, file.Defs, len(all)+2, "the optional ones")
}
